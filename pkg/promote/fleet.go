package promote

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
)

// Fleet can tell what the clusters run. Package fleet has the implementations.
type Fleet interface {
	// String names it as --fleet does, for messages: "flux:edge-1,edge-2". No secret is in it.
	String() string
	// Look asks once, for every reconciler that is registered for the deployment's repository and branch, whatever
	// commit it is at, and for those of Deployment.Reconcilers on its cluster, if single objects can be seen. An answer that is known to be incomplete is an error, which is a *FleetError.
	Look(ctx context.Context, wanted Deployment) ([]ReconcilerStatus, error)
}

// Deployment is what clusters are asked about: a commit of a GitOps branch.
type Deployment struct {
	// Repo is the URL of the GitOps repository in normal form; compare it with giturl.NormalURL of what a cluster says.
	Repo   string
	Branch string
	// Path is the folder of the output, slash-separated; "." is the root. Cluster types are the folders in it.
	Path string
	// Commit is the full id, in lower case.
	Commit string
	// Environment is its name.
	Environment string
	// Reconcilers are the reconcilers in the published tree at Commit, ordered by path. A Fleet that can read single
	// objects reports each of them, besides those that pull the branch; other fleets ignore them.
	Reconcilers []gitops.Reconciler
}

// Below returns the reconcilers in a folder of the repository and its subfolders.
func (d Deployment) Below(folder string) []gitops.Reconciler {
	folder, root := strings.TrimSuffix(path.Join("/", folder), "/")+"/", strings.TrimSuffix(path.Join("/", d.Path), "/")+"/"
	if strings.HasPrefix(root, folder) {
		return d.Reconcilers
	}
	prefix, below := strings.CutPrefix(folder, root)
	if !below {
		return nil
	}
	first := func(path string) int {
		i, _ := slices.BinarySearchFunc(d.Reconcilers, path, func(r gitops.Reconciler, path string) int { return cmp.Compare(r.Path, path) })
		return i
	}
	return d.Reconcilers[first(prefix):first(prefix+"\xff")]
}

// ReconcilerStatus is what one reconciler on one cluster says of itself.
type ReconcilerStatus struct {
	// Cluster tells the cluster from all others of this Fleet.
	Cluster string
	// Reconciler tells it from others on the same cluster; empty if there can be only one.
	Reconciler string
	// ClusterType is the folder that is pulled, below Deployment.Path; empty if that is not one cluster type.
	ClusterType string
	// Commit is what State is about, as full id in lower case: the commit that was applied, or the one that could
	// not be. It is empty if there is none yet, or it is no commit. That of a reconciler in the tree is the commit that
	// brought it.
	Commit string
	State  State
	// Again says that a pending reconciler only reconciles the same revision and spec again: if it was compliant
	// before, it still is.
	Again bool
	// Warning says that the report of the reconciler is incomplete; zero if it is complete.
	Warning Warning
	// Message is why it is not compliant, as the cluster reports it: untrusted text of any length.
	Message string
}

// Compare orders statuses by cluster and reconciler. Those that are alike have an order too: fleets answer in any.
func (s ReconcilerStatus) Compare(other ReconcilerStatus) int {
	return cmp.Or(cmp.Compare(s.Cluster, other.Cluster), cmp.Compare(s.Reconciler, other.Reconciler),
		cmp.Compare(s.Commit, other.Commit), cmp.Compare(s.Message, other.Message))
}

// Warning says that a reconciler does not report the health of all objects that it applies. The zero value is no
// warning.
type Warning struct {
	// Message names the reconciler, Hint says how to fix it.
	Message, Hint string
}

// State is what a reconciler has made of a commit.
type State string

// The states.
const (
	// Compliant: what the commit says is applied, and healthy.
	Compliant State = "compliant"
	// Pending: not yet, or not known.
	Pending State = "pending"
	// Failed: it could not be applied, or is not healthy.
	Failed State = "failed"
)

// FleetError is why a Fleet could not be asked.
type FleetError struct {
	// Temporary says that asking again may help: the network, a server's fault, a rate limit.
	Temporary bool
	// Wait is how long the server asks to be left alone; zero if it does not say.
	Wait time.Duration
	// Message is one line without secrets; Hint says what to do, and may be empty.
	Message, Hint string
	// Err is what was behind it; it may be nil.
	Err error
}

func (e *FleetError) Error() string { return e.Message }

// Unwrap returns what was behind it.
func (e *FleetError) Unwrap() error { return e.Err }
