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

// StepOutputs returns the outputs of a run. Numbers are sums over all results. What each result has one
// of is a line for each, in the order of the results; none if no result has one. "results" is JSON.
func StepOutputs(all []Result) ([]Output, error) {
	asJSON, err := json.Marshal(append([]Result{}, all...))
	if err != nil {
		return nil, err
	}
	changed, total := false, change.Plan{}
	var numbers, urls, operations, commits, branches []string
	for _, r := range all {
		changed = changed || r.Changed
		total.Targets += r.Plan.Targets
		total.ClusterTypes += r.Plan.ClusterTypes
		total.Added += r.Plan.Added
		total.Changed += r.Plan.Changed
		total.Removed += r.Plan.Removed
		total.Unchanged += r.Plan.Unchanged
		var request PullRequest
		if r.PullRequest != nil {
			request = *r.PullRequest
		}
		numbers = append(numbers, strings.TrimPrefix(strconv.Itoa(request.Number), "0")) // none has the number 0
		urls, operations = append(urls, request.URL), append(operations, request.Operation)
		commits, branches = append(commits, r.Commit), append(branches, r.Branch)
	}
	return []Output{
		{"changed", strconv.FormatBool(changed)},
		{"pull-request-number", aligned(numbers)},
		{"pull-request-url", aligned(urls)},
		{"pull-request-operation", aligned(operations)},
		{"commit", aligned(commits)},
		{"branch", aligned(branches)},
		{"targets", strconv.Itoa(total.Targets)},
		{"cluster-types", strconv.Itoa(total.ClusterTypes)},
		{"added", strconv.Itoa(total.Added)},
		{"changed-targets", strconv.Itoa(total.Changed)},
		{"removed", strconv.Itoa(total.Removed)},
		{"unchanged", strconv.Itoa(total.Unchanged)},
		{"results", string(asJSON)},
	}, nil
}

// aligned returns a line for each result, so that the lines of two outputs belong together.
func aligned(lines []string) string {
	if strings.Join(lines, "") == "" {
		return ""
	}
	return strings.Join(lines, "\n")
}

// formatOutputs writes outputs as the runner reads them. The delimiter ends a value, so it must be one
// that no value can hold.
func formatOutputs(outputs []Output, delimiter string) string {
	var b strings.Builder
	for _, o := range outputs {
		b.WriteString(o.Name + "<<" + delimiter + "\n" + o.Value + "\n" + delimiter + "\n")
	}
	return b.String()
}

// writeOutputs appends the outputs of a run to the file of the runner. The delimiter cannot be guessed:
// a value that held it could set other outputs (CVE-2022-35954).
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
