package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	strictjson "sigs.k8s.io/json"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/told"
)

// errCutAnswer is an answer that ends before it should.
var errCutAnswer = errors.New("what it prints is empty, or ends in the middle of the JSON")

func answerHint(cut bool) string {
	if cut {
		return `a script says by its exit code that it failed: "set -eo pipefail" in bash`
	}
	return `it prints {"clusters":[{"name":"edge-1","commit":"<40 hex digits>","state":"compliant|pending|failed","message":"why"}]}`
}

// readAnswer reads what a program prints: one JSON object, with a list "clusters" of objects with
//
//	name         which cluster; not empty
//	commit       what state is about: 40 hex digits; empty or missing if there is none yet
//	state        compliant, pending or failed
//	message      why it is not compliant (optional)
//	clusterType  the folder of the GitOps branch that it pulls (optional)
//	reconciler   tells several on one cluster apart (optional)
//
// and nothing else: a field that is misspelt would otherwise look like a commit that nobody has, until time is up.
// A null is as if the field were missing.
func readAnswer(printed []byte) ([]promote.Sighting, error) {
	var answer map[string]json.RawMessage
	if err := decodeOnce(printed, &answer); err != nil {
		return nil, err
	}
	if err := knownFields(answer, "clusters"); err != nil {
		return nil, err
	}
	var clusters []map[string]json.RawMessage
	if err := json.Unmarshal(orNull(answer["clusters"]), &clusters); err != nil {
		return nil, fmt.Errorf("clusters: %w", wrongType(err))
	}
	if clusters == nil {
		return nil, errors.New(`there is no list "clusters"; one without clusters is empty: []`)
	}
	return sightingsOf(clusters)
}

// decodeOnce reads one JSON value and makes sure that nothing follows it.
func decodeOnce(printed []byte, into *map[string]json.RawMessage) error {
	if len(bytes.TrimSpace(printed)) == 0 {
		return errCutAnswer
	}
	d := json.NewDecoder(bytes.NewReader(printed))
	err := d.Decode(into)
	var syntax *json.SyntaxError
	switch {
	case cutOff(err):
		return errCutAnswer
	case errors.As(err, &syntax):
		return fmt.Errorf("what it prints is not JSON: %w at byte %d", err, syntax.Offset)
	case err != nil:
		return wrongType(err)
	case *into == nil:
		return errors.New("what it prints is null, not an object")
	case len(bytes.TrimSpace(printed[d.InputOffset():])) > 0:
		return errors.New("something follows the JSON that it prints")
	}
	return eachOnce(printed)
}

// eachOnce makes sure that no object has a field twice: which of them would count is for nobody to guess.
func eachOnce(printed []byte) error {
	var whole any
	twice, err := strictjson.UnmarshalStrict(printed, &whole)
	if err != nil {
		return fmt.Errorf("what it prints is not JSON: %w", err)
	}
	if len(twice) > 0 {
		return twice[0]
	}
	return nil
}

// cutOff tells whether a decoder came to the end of its input too early.
func cutOff(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func sightingsOf(clusters []map[string]json.RawMessage) ([]promote.Sighting, error) {
	type key struct{ cluster, reconciler string }
	seen := make([]promote.Sighting, 0, len(clusters))
	first := map[key]int{}
	for i, cluster := range clusters {
		sighting, err := sightingOf(cluster)
		if err != nil {
			return nil, fmt.Errorf("clusters[%d]: %w", i, err)
		}
		k := key{sighting.Cluster, sighting.Reconciler}
		if earlier, twice := first[k]; twice {
			return nil, fmt.Errorf("clusters[%d]: %q was in clusters[%d] already; several on one cluster differ in \"reconciler\"",
				i, sighting.Cluster, earlier)
		}
		first[k] = i
		seen = append(seen, sighting)
	}
	return seen, nil
}

func sightingOf(cluster map[string]json.RawMessage) (promote.Sighting, error) {
	var s promote.Sighting
	if cluster == nil {
		return s, errors.New("it is null, not an object")
	}
	var state string
	fields := map[string]*string{
		"name": &s.Cluster, "commit": &s.Commit, "state": &state, "message": &s.Message,
		"clusterType": &s.ClusterType, "reconciler": &s.Reconciler,
	}
	names := slices.Sorted(maps.Keys(fields))
	if err := knownFields(cluster, names...); err != nil {
		return s, err
	}
	for _, name := range names {
		if err := json.Unmarshal(orNull(cluster[name]), fields[name]); err != nil {
			return s, fmt.Errorf("%s: %w", name, wrongType(err))
		}
	}
	if s.Cluster == "" {
		return s, errors.New("the name is empty or missing")
	}
	var err error
	if s.State, err = stateOf(state); err != nil {
		return s, fmt.Errorf("%q: %w", s.Cluster, err)
	}
	if s.Commit, err = told.CommitID(s.Commit); err != nil {
		return s, fmt.Errorf("%q: %w", s.Cluster, err)
	}
	return s, nil
}

func stateOf(text string) (promote.State, error) {
	states := []string{string(promote.Compliant), string(promote.Pending), string(promote.Failed)}
	if slices.Contains(states, text) {
		return promote.State(text), nil
	}
	if text == "" {
		return "", errors.New("the state is empty or missing: one of " + strings.Join(states, ", "))
	}
	return "", fmt.Errorf("there is no state %q (%s)", text, diag.DidYouMean(text, states))
}

// knownFields says which field of an object is not one of names; the first, in order.
func knownFields(object map[string]json.RawMessage, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no field %q (%s)", name, diag.DidYouMean(name, names))
		}
	}
	return nil
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// wrongType says for people what encoding/json says of Go types.
func wrongType(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	want := map[string]string{"string": "a string", "slice": "a list", "map": "an object"}[wrong.Type.Kind().String()]
	return fmt.Errorf("it is a JSON %s, not %s", told.Line(wrong.Value), want)
}
