package main

import (
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
)

// stepOutput is a value that later steps of the workflow can use.
type stepOutput struct{ name, value string }

// stepOutputs returns the outputs of a run. Numbers are sums over all results. What each result has one
// of is a line for each, in the order of the results; none if no result has one. "results" is JSON.
func stepOutputs(results []actionsResult) ([]stepOutput, error) {
	if results == nil {
		results = []actionsResult{}
	}
	all, err := json.Marshal(results)
	if err != nil {
		return nil, err
	}
	outputs := []stepOutput{{"changed", strconv.FormatBool(anyChanged(results))}}
	for _, o := range []struct {
		name  string
		value func(actionsResult) string
	}{
		{"pull-request-number", func(r actionsResult) string { return r.pullRequest().number() }},
		{"pull-request-url", func(r actionsResult) string { return r.pullRequest().URL }},
		{"pull-request-operation", func(r actionsResult) string { return r.pullRequest().Operation }},
		{"commit", func(r actionsResult) string { return r.Commit }},
		{"branch", func(r actionsResult) string { return r.Branch }},
	} {
		outputs = append(outputs, stepOutput{o.name, aligned(results, o.value)})
	}
	for _, o := range []struct {
		name  string
		value func(planResult) int
	}{
		{"targets", func(p planResult) int { return p.Targets }},
		{"cluster-types", func(p planResult) int { return p.ClusterTypes }},
		{"added", func(p planResult) int { return p.Added }},
		{"changed-targets", func(p planResult) int { return p.Changed }},
		{"removed", func(p planResult) int { return p.Removed }},
		{"unchanged", func(p planResult) int { return p.Unchanged }},
	} {
		outputs = append(outputs, stepOutput{o.name, strconv.Itoa(sum(results, o.value))})
	}
	return append(outputs, stepOutput{"results", string(all)}), nil
}

func anyChanged(results []actionsResult) bool {
	for _, r := range results {
		if r.Changed {
			return true
		}
	}
	return false
}

// pullRequest is the zero value if there is none.
func (r actionsResult) pullRequest() actionsPullRequest {
	if r.PullRequest == nil {
		return actionsPullRequest{}
	}
	return *r.PullRequest
}

func (p actionsPullRequest) number() string {
	if p.Number == 0 {
		return ""
	}
	return strconv.Itoa(p.Number)
}

// aligned returns a line for each result, so that the lines of two outputs belong together.
func aligned(results []actionsResult, value func(actionsResult) string) string {
	lines := make([]string, len(results))
	some := false
	for i, r := range results {
		lines[i] = value(r)
		some = some || lines[i] != ""
	}
	if !some {
		return ""
	}
	return strings.Join(lines, "\n")
}

func sum(results []actionsResult, value func(planResult) int) int {
	n := 0
	for _, r := range results {
		n += value(r.Plan)
	}
	return n
}

// formatOutputs writes outputs as the runner reads them. The delimiter ends a value, so it must be one
// that no value can hold.
func formatOutputs(outputs []stepOutput, delimiter string) string {
	var b strings.Builder
	for _, o := range outputs {
		b.WriteString(o.name + "<<" + delimiter + "\n" + o.value + "\n" + delimiter + "\n")
	}
	return b.String()
}

// writeOutputs appends the outputs of a run to the file of the runner. The delimiter cannot be guessed:
// a value that held it could set other outputs (CVE-2022-35954).
func writeOutputs(path string, r actionsReport) error {
	outputs := r.outputs
	if outputs == nil {
		var err error
		if outputs, err = stepOutputs(r.results); err != nil {
			return err
		}
	}
	return appendTo(path, formatOutputs(outputs, "kalypso-"+rand.Text()))
}
