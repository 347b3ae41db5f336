package argocd

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// applicationList is v1alpha1ApplicationList of the API's description, as far as it is read.
type applicationList struct {
	Metadata *struct {
		Continue           string      `json:"continue"`
		RemainingItemCount json.Number `json:"remainingItemCount"`
	} `json:"metadata"`
	// Items is null if there are none.
	Items []application `json:"items"`
}

// application is v1alpha1Application of the API's description, as far as it is read.
type application struct {
	Metadata struct {
		objectName
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp *string           `json:"deletionTimestamp"`
	} `json:"metadata"`
	// Operation is one that was asked for and has not begun.
	Operation *struct{} `json:"operation"`
	Spec      struct {
		comparison
		Destination struct {
			Name      string `json:"name"`
			Server    string `json:"server"`
			Namespace string `json:"namespace"`
		} `json:"destination"`
		SourceHydrator *struct{} `json:"sourceHydrator"`
	} `json:"spec"`
	Status status `json:"status"`
}

// objectName identifies an Application.
type objectName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (n objectName) String() string { return strings.TrimPrefix(n.Namespace+"/"+n.Name, "/") }

// comparison is what was, or is to be, compared with the cluster.
type comparison struct {
	Source source `json:"source"`
	// Sources take the place of Source if there are any.
	Sources []source `json:"sources"`
}

// source is v1alpha1ApplicationSource.
type source struct {
	RepoURL        string `json:"repoURL"`
	TargetRevision string `json:"targetRevision"`
	Path           string `json:"path"`
	Chart          string `json:"chart"`
	Ref            string `json:"ref"`
}

// revisions are what the sources were resolved to: one, or one for each of several sources.
type revisions struct {
	Revision  string   `json:"revision"`
	Revisions []string `json:"revisions"`
}

// status is v1alpha1ApplicationStatus.
type status struct {
	Sync struct {
		revisions
		Status     string     `json:"status"`
		ComparedTo comparison `json:"comparedTo"`
	} `json:"sync"`
	Health struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"health"`
	ReconciledAt   time.Time   `json:"reconciledAt"`
	OperationState operation   `json:"operationState"`
	Conditions     []condition `json:"conditions"`
	Resources      []resource  `json:"resources"`
}

// operation is v1alpha1OperationState: what the last sync came to.
type operation struct {
	Phase   string `json:"phase"`
	Message string `json:"message"`
	// RetryCount is the number of retries after a failure.
	RetryCount int       `json:"retryCount"`
	FinishedAt time.Time `json:"finishedAt"`
	Operation  struct {
		Sync struct {
			revisions
			DryRun bool `json:"dryRun"`
		} `json:"sync"`
	} `json:"operation"`
	SyncResult struct {
		revisions
		Resources []synced `json:"resources"`
	} `json:"syncResult"`
}

type condition struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// resource is v1alpha1ResourceStatus: an object on the cluster.
type resource struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Health *struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"health"`
}

// synced is v1alpha1ResourceResult: what a sync made of an object, or a hook.
type synced struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	HookPhase string `json:"hookPhase"`
	Message   string `json:"message"`
}

// sourceStatus is what an Application says of one of its sources.
type sourceStatus struct {
	promote.ReconcilerStatus
	// folder is what the source pulls.
	folder string
}

// statuses returns what an Application says of a deployment: one for each of its sources that is ours, mostly none.
func (a *application) statuses(wanted promote.Deployment) []sourceStatus {
	if a.Spec.SourceHydrator != nil {
		return nil
	}
	var seen []sourceStatus
	for i, source := range a.Spec.all() {
		clusterType, ours := source.pulls(wanted)
		if !ours {
			continue
		}
		s := a.status(i)
		s.Cluster, s.Reconciler, s.ClusterType = a.cluster(), a.Metadata.String(), clusterType
		if len(seen) > 0 {
			s.Reconciler += fmt.Sprintf(" (source %d)", i+1)
		}
		seen = append(seen, sourceStatus{s, source.Path})
	}
	return seen
}

// The name and the server of the cluster that Argo CD runs on.
const itself, server = "in-cluster", "https://kubernetes.default.svc"

// cluster names what is deployed to: as Argo CD names the cluster, else by its address.
func (a *application) cluster() string {
	to := a.Spec.Destination
	switch {
	case to.Name != "":
		return to.Name
	case to.Server == server:
		return itself
	case to.Server == "":
		return "?" // an Application that is not valid: it says so, and is not lost
	}
	return to.Server
}

func (c comparison) all() []source {
	if len(c.Sources) == 0 && c.Source != (source{}) {
		return []source{c.Source}
	}
	return c.Sources
}

// pulls reports whether a source is in the branch of a deployment, at or below its path, and which cluster type's folder
// it is in; none if it is all of them.
func (s source) pulls(wanted promote.Deployment) (clusterType string, ours bool) {
	if s.Chart != "" || s.Ref != "" && s.Path == "" { // a chart's registry; a source that only lends its files to others
		return "", false
	}
	if strings.TrimPrefix(s.TargetRevision, "refs/heads/") != wanted.Branch {
		return "", false
	}
	repo, err := giturl.NormalURL(strings.TrimSpace(s.RepoURL))
	if err != nil || repo != wanted.Repo {
		return "", false
	}
	return statustext.FolderBelow(s.Path, wanted.Path)
}

// allSources stands for all sources of an Application together.
const allSources = -1

// of returns the commit that one of so many sources was resolved to, in lower case; none if it is no commit of git, as
// when a branch could not be resolved. For allSources it joins the resolved revisions, including versions of
// charts.
func (r revisions) of(source int) string {
	all := r.Revisions
	if len(all) == 0 {
		all = []string{r.Revision}
	}
	if source == allSources {
		return strings.Join(all, " ")
	}
	if source >= len(all) {
		return ""
	}
	return statustext.Commit(all[source])
}
