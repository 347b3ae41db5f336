package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

// errCutAnswer is an answer that ends before it should.
var errCutAnswer = errors.New("its output is empty or truncated")

const answerHint = `it must print {"clusters":[{"name":"edge-1","commit":"<40 hex digits>","state":"compliant|pending|failed","message":"why"}]}`

// reported is one reconciler as a program prints it.
type reported struct {
	// Name is the cluster; not empty.
	Name string `json:"name"`
	// Commit is what State is about: 40 hex digits; empty or missing if there is none yet.
	Commit string `json:"commit"`
	// State is compliant, pending or failed.
	State string `json:"state"`
	// Message is why it is not compliant (optional).
	Message string `json:"message"`
	// ClusterType is the directory of the GitOps branch that it pulls (optional).
	ClusterType string `json:"clusterType"`
	// Reconciler distinguishes several on one cluster (optional).
	Reconciler string `json:"reconciler"`
}

// readAnswer reads what a program prints: one JSON object with a list "clusters", and nothing else. A field that is
// misspelt would otherwise look like a commit that nobody has, until time is up. A null is as if the field were missing.
func readAnswer(printed []byte) ([]promote.ReconcilerStatus, error) {
	err := json.NewDecoder(bytes.NewReader(printed)).Decode(new(json.RawMessage))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errCutAnswer
	}
	var answer struct {
		Clusters []*reported `json:"clusters"`
	}
	strict, err := strictjson.UnmarshalStrict(printed, &answer)
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, fmt.Errorf("%s must not be a JSON %s", cmp.Or(typed.Field, "the output"), typed.Value)
	}
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, errors.New("invalid output: " + statustext.Line(err.Error()))
	}
	if answer.Clusters == nil {
		return nil, errors.New(`the list "clusters" is missing; without clusters it is []`)
	}
	type key struct{ cluster, reconciler string }
	first := map[key]int{}
	seen := make([]promote.ReconcilerStatus, len(answer.Clusters))
	for i, cluster := range answer.Clusters {
		if seen[i], err = cluster.status(); err != nil {
			return nil, fmt.Errorf("clusters[%d]: %w", i, err)
		}
		k := key{cluster.Name, cluster.Reconciler}
		if earlier, twice := first[k]; twice {
			return nil, fmt.Errorf("clusters[%d]: %q is a duplicate of clusters[%d]; several on one cluster differ in \"reconciler\"",
				i, cluster.Name, earlier)
		}
		first[k] = i
	}
	return seen, nil
}

func (r *reported) status() (s promote.ReconcilerStatus, err error) {
	if r == nil || r.Name == "" {
		return s, errors.New("the name is empty or missing")
	}
	states := []string{string(promote.Compliant), string(promote.Pending), string(promote.Failed)}
	if r.State == "" {
		return s, fmt.Errorf("%q: the state is empty or missing: one of %s", r.Name, strings.Join(states, ", "))
	}
	if !slices.Contains(states, r.State) {
		return s, fmt.Errorf("%q: unknown state %q (%s)", r.Name, r.State, diag.DidYouMean(r.State, states))
	}
	commit, err := statustext.CommitID(r.Commit)
	if err != nil {
		return s, fmt.Errorf("%q: %w", r.Name, err)
	}
	return promote.ReconcilerStatus{
		Cluster: r.Name, Reconciler: r.Reconciler, ClusterType: r.ClusterType,
		Commit: commit, State: promote.State(r.State), Message: r.Message,
	}, nil
}
