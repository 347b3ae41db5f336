package flux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

const (
	// maxConcurrent is how many clusters are queried concurrently.
	maxConcurrent = 32
	// clusterTime limits all requests to a cluster together.
	clusterTime = time.Minute
)

// fleet queries clusters that run Flux, each through a context of the kubeconfig. A context is one cluster, and its
// reconcilers are the Kustomizations in it, in any namespace, whose source is a GitRepository of the deployment's
// repository and branch, and the objects of the published tree that these have applied. HelmReleases, ResourceSets and
// ArtifactGenerators that read the branch directly are out of scope.
//
// A context in the argument is expected to run the deployment: while it cannot be queried, has no Flux, or has nothing
// that pulls the branch, it has one pending status with the reason, so that an unreachable cluster neither hides the
// others nor is skipped. The current context, which is the default, is not expected to run it, and may have no status.
type fleet struct {
	// contexts are those in the argument; none means the current one.
	contexts []string
	options  api.Options
	// account is the directory with the credentials that Kubernetes gives a pod.
	account string
}

// New makes a fleet of the contexts in a list with commas; none is the current context.
func New(argument string, o api.Options) (promote.Fleet, error) {
	contexts, err := contextNames(argument)
	if err != nil {
		return nil, err
	}
	return &fleet{contexts: contexts, options: o, account: "/var/run/secrets/kubernetes.io/serviceaccount"}, nil
}

func contextNames(argument string) ([]string, error) {
	if strings.TrimSpace(argument) == "" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(argument, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, fmt.Errorf("flux:%s has an empty context name (write flux:context1,context2)", argument)
		case slices.Contains(names, name):
			return nil, fmt.Errorf("flux:%s names the context %q twice", argument, name)
		}
		names = append(names, name)
	}
	return names, nil
}

// String names the fleet as --fleet does.
func (f *fleet) String() string {
	if len(f.contexts) == 0 {
		return "flux"
	}
	return "flux:" + strings.Join(f.contexts, ",")
}

// Query queries all clusters concurrently. It reads the kubeconfig each time, because credentials in it may be renewed
// during a wait. It fails if the kubeconfig is wrong or no cluster can be queried.
func (f *fleet) Query(ctx context.Context, wanted promote.Deployment) ([]promote.ReconcilerStatus, error) {
	clusters, err := f.clusters()
	if err != nil {
		return nil, err
	}
	answers := make([]outcome, len(clusters))
	var all errgroup.Group
	all.SetLimit(maxConcurrent)
	for i, cluster := range clusters {
		all.Go(func() error {
			answers[i] = cluster.query(ctx, wanted)
			return nil
		})
	}
	_ = all.Wait() // no function returns an error
	if err := ctx.Err(); err != nil {
		return nil, &promote.FleetError{Temporary: true, Message: "querying the clusters was interrupted", Err: err}
	}
	if err := noCluster(answers); err != nil {
		return nil, err
	}
	var statuses []promote.ReconcilerStatus
	for _, a := range answers {
		statuses = append(statuses, f.statuses(a)...)
	}
	return statuses, nil
}

// outcome is the result of querying a cluster.
type outcome struct {
	cluster  string
	statuses []promote.ReconcilerStatus
	err      *promote.FleetError
}

// statuses returns the statuses of a cluster, at least one if it is expected to run the deployment.
func (f *fleet) statuses(a outcome) []promote.ReconcilerStatus {
	expected := len(f.contexts) > 0
	if len(a.statuses) > 0 || !expected && (a.err == nil || errors.Is(a.err, errNoFlux)) {
		return a.statuses
	}
	message := "no GitRepository there follows this repository and branch"
	if a.err != nil {
		message = strings.TrimSuffix(a.err.Message+"; "+a.err.Hint, "; ")
	}
	return []promote.ReconcilerStatus{{Cluster: a.cluster, State: promote.Pending, Message: message}}
}

// noCluster returns an error if no cluster could be queried: that of the first one, temporary if that of any is.
func noCluster(answers []outcome) error {
	all := promote.FleetError{}
	for _, a := range answers {
		if a.err == nil || errors.Is(a.err, errNoFlux) {
			return nil
		}
		all.Temporary, all.Wait = all.Temporary || a.err.Temporary, max(all.Wait, a.err.Wait)
	}
	first := answers[0]
	all.Err, all.Hint = first.err, first.err.Hint
	all.Message = fmt.Sprintf("the cluster of context %q %s", first.cluster, first.err.Message)
	if len(answers) > 1 {
		all.Message = fmt.Sprintf("none of the %d clusters can be queried: that of context %q %s", len(answers), first.cluster, first.err.Message)
	}
	return &all
}

// query queries a cluster for at most clusterTime. It returns then even if client-go still waits for a credential plugin,
// which ignores the end of the context.
func (c cluster) query(ctx context.Context, wanted promote.Deployment) outcome {
	ctx, cancel := context.WithTimeout(ctx, clusterTime)
	defer cancel()
	answer := make(chan outcome, 1)
	go func() {
		statuses, err := c.read(ctx, wanted)
		answer <- outcome{c.name, statuses, err}
	}()
	select {
	case a := <-answer:
		return a
	case <-ctx.Done():
		return outcome{cluster: c.name, err: &promote.FleetError{Temporary: true, Message: "has not answered in time", Err: ctx.Err()}}
	}
}
