package actions

import (
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
)

// Output is a value that later steps of the workflow can use.
type Output struct{ Name, Value string }

// StepOutputs returns the outputs of a run. Numbers are sums over all results. Other values have a line for each result,
// in order; they are empty if no result has one. "results" is JSON.
func StepOutputs(all []Result) ([]Output, error) {
	asJSON, err := json.Marshal(append([]Result{}, all...))
	if err != nil {
		return nil, err
	}
	changed, total := false, change.Plan{}
	for _, r := range all {
		changed = changed || r.Changed
		total.Assignments += r.Plan.Assignments
		total.ClusterTypes += r.Plan.ClusterTypes
		total.Added += r.Plan.Added
		total.Changed += r.Plan.Changed
		total.Removed += r.Plan.Removed
		total.Unchanged += r.Plan.Unchanged
	}
	// A line for each result, so that the lines of two outputs correspond.
	lines := func(of func(Result, PullRequest) string) string {
		var texts []string
		for _, r := range all {
			var request PullRequest
			if r.PullRequest != nil {
				request = *r.PullRequest
			}
			texts = append(texts, of(r, request))
		}
		if strings.Join(texts, "") == "" {
			return ""
		}
		return strings.Join(texts, "\n")
	}
	number := func(_ Result, p PullRequest) string { return strings.TrimPrefix(strconv.Itoa(p.Number), "0") } // no pull request has the number 0
	return []Output{
		{"changed", strconv.FormatBool(changed)},
		{"pull-request-number", lines(number)},
		{"pull-request-url", lines(func(_ Result, p PullRequest) string { return p.URL })},
		{"pull-request-operation", lines(func(_ Result, p PullRequest) string { return p.Operation })},
		{"commit", lines(func(r Result, _ PullRequest) string { return r.Commit })},
		{"branch", lines(func(r Result, _ PullRequest) string { return r.Branch })},
		{"targets", strconv.Itoa(total.Assignments)},
		{"cluster-types", strconv.Itoa(total.ClusterTypes)},
		{"added", strconv.Itoa(total.Added)},
		{"changed-targets", strconv.Itoa(total.Changed)},
		{"removed", strconv.Itoa(total.Removed)},
		{"unchanged", strconv.Itoa(total.Unchanged)},
		{"results", string(asJSON)},
	}, nil
}

// formatOutputs formats outputs for the runner. No value may contain the delimiter, which ends a value.
func formatOutputs(outputs []Output, delimiter string) string {
	var b strings.Builder
	for _, o := range outputs {
		b.WriteString(o.Name + "<<" + delimiter + "\n" + o.Value + "\n" + delimiter + "\n")
	}
	return b.String()
}

// writeOutputs appends the outputs of a run to the file of the runner. The delimiter is random: a value that contains it
// could set other outputs (CVE-2022-35954).
func writeOutputs(path string, r Report) error {
	outputs := r.Outputs
	if outputs == nil {
		var err error
		if outputs, err = StepOutputs(r.Results); err != nil {
			return err
		}
	}
	return appendTo(path, formatOutputs(outputs, "kalypso-"+rand.Text()))
}
