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

// applicationList has the fields of v1alpha1ApplicationList that are used.
type applicationList struct {
	Metadata *struct {
		Continue           string      `json:"continue"`
		RemainingItemCount json.Number `json:"remainingItemCount"`
	} `json:"metadata"`
	// Items is null if there are none.
	Items []application `json:"items"`
}

// application has the fields of v1alpha1Application that are used.
type application struct {
	Metadata struct {
		objectName
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp *string           `json:"deletionTimestamp"`
	} `json:"metadata"`
	// Operation is a requested operation that has not started.
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

// comparison are the sources that Argo CD compares with the cluster.
type comparison struct {
	Source source `json:"source"`
	// Sources replace Source if there are any.
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

// revisions are the resolved revisions of the sources: one, or one for each of several sources.
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

// operation is v1alpha1OperationState, the result of the last sync.
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

// synced is v1alpha1ResourceResult, the result of a sync for an object or a hook.
type synced struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	HookPhase string `json:"hookPhase"`
	Message   string `json:"message"`
}

// sourceStatus is the status of one source of an Application.
type sourceStatus struct {
	promote.ReconcilerStatus
	// directory is the path of the source.
	directory string
}

// statuses returns the status of each source of an Application that pulls the deployment.
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

// The name and the address of the cluster that Argo CD runs on.
const inCluster, inClusterServer = "in-cluster", "https://kubernetes.default.svc"

// cluster returns the name of the destination cluster in Argo CD, else its address.
func (a *application) cluster() string {
	to := a.Spec.Destination
	switch {
	case to.Name != "":
		return to.Name
	case to.Server == inClusterServer:
		return inCluster
	case to.Server == "":
		return "?" // the Application is invalid, which its conditions report
	}
	return to.Server
}

func (c comparison) all() []source {
	if len(c.Sources) == 0 && c.Source != (source{}) {
		return []source{c.Source}
	}
	return c.Sources
}

// pulls reports whether a source is in the branch of a deployment, at or below its path, and returns the cluster type of its
// directory; empty if it pulls all cluster types.
func (s source) pulls(wanted promote.Deployment) (clusterType string, ours bool) {
	if s.Chart != "" || s.Ref != "" && s.Path == "" { // a chart, or a source that only provides value files to other sources
		return "", false
	}
	if strings.TrimPrefix(s.TargetRevision, "refs/heads/") != wanted.Branch {
		return "", false
	}
	repo, err := giturl.NormalURL(strings.TrimSpace(s.RepoURL))
	if err != nil || repo != wanted.Repo {
		return "", false
	}
	return statustext.DirectoryBelow(s.Path, wanted.Path)
}

// allSources selects all sources of an Application.
const allSources = -1

// of returns the commit that a source was resolved to, in lower case; empty if it is not a Git commit, for example if a
// branch could not be resolved. For allSources it joins the resolved revisions, including versions of charts.
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
