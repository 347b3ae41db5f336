// Package results writes what a command has found, as JSON or YAML, and holds the shapes that several commands share.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// The formats of -o.
const (
	Text = "text"
	JSON = "json"
	YAML = "yaml"
)

// Formats are those of -o.
func Formats() []string { return []string{Text, JSON, YAML} }

// CheckFormat reports whether there is a format of that name.
func CheckFormat(format string) error {
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("--output %s: write one of %s", format, strings.Join(Formats(), ", "))
	}
	return nil
}

// Print writes a result as JSON or YAML, in which nothing gives commands to a runner of workflows.
func Print(w io.Writer, format string, result any) error {
	if err := CheckFormat(format); err != nil {
		return err
	}
	document, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	document = append(term.InertJSON(escapeControls(document)), '\n')
	if format == YAML {
		text, err := yaml.JSONToYAML(document)
		if err != nil {
			return err
		}
		if !term.HoldsCommand(text) { // JSON is YAML too
			document = text
		}
	}
	_, err = w.Write(document)
	return err
}

// escapeControls writes the control characters that JSON may hold as they are, which terminals obey and YAML refuses,
// as JSON's escapes.
func escapeControls(document []byte) []byte {
	control := func(r rune) bool { return r >= 0x7f && r <= 0x9f || r == 0xfffe || r == 0xffff }
	if !bytes.ContainsFunc(document, control) {
		return document
	}
	var b bytes.Buffer
	for _, r := range string(document) { // outside of strings there are none
		if control(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.Bytes()
}

// Diagnostic is a diagnostic in JSON.
type Diagnostic struct {
	Severity diag.Severity   `json:"severity"`
	Rule     string          `json:"rule"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"`
	At       Place           `json:"at,omitzero"`
	Related  []relatedResult `json:"related,omitempty"`
}

type relatedResult struct {
	At      Place  `json:"at,omitzero"`
	Message string `json:"message"`
}

// Diagnostics returns diagnostics for JSON; none is an empty list.
func Diagnostics(list diag.List) []Diagnostic {
	results := make([]Diagnostic, 0, len(list))
	for _, d := range list {
		result := Diagnostic{Severity: d.Severity, Rule: d.Rule, Message: d.Message, Hint: d.Hint, At: Place{d.At}}
		for _, related := range d.Related {
			result.Related = append(result.Related, relatedResult{Place{related.At}, related.Message})
		}
		results = append(results, result)
	}
	return results
}

// Place is a place of a file; null if it is zero.
type Place struct{ diag.Place }

// At returns a place for JSON.
func At(p diag.Place) Place { return Place{p} }

// MarshalJSON writes the parts of a place.
func (p Place) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(PlaceFields{p.File.Repo, p.File.Branch, p.File.Path, p.Line, p.Column})
}

// PlaceFields are what a Place has in JSON.
type PlaceFields struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Path   string `json:"path,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Version is that of the JSON shape. Fields are added without a change of it.
const Version = "1"

// Report is the result of a command on environments.
type Report[T any] struct {
	FormatVersion string       `json:"formatVersion"`
	Environments  []T          `json:"environments"`
	Diagnostics   []Diagnostic `json:"diagnostics"`
}

// NewReport returns a report, which has lists also where they are empty.
func NewReport[T any](environments []T, diags diag.List) Report[T] {
	return Report[T]{Version, append([]T{}, environments...), Diagnostics(diags)}
}

// PullRequest is a pull request.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	// Action is created, updated, unchanged or declined; empty for one that was closed.
	Action gitops.SubmissionAction `json:"action,omitempty"`
	// State is open, merged or closed.
	State gitops.PullRequestState `json:"state"`
}

// NewPullRequest returns what was done to a pull request.
func NewPullRequest(p gitops.PullRequest, action gitops.SubmissionAction) *PullRequest {
	return &PullRequest{p.Number, p.URL, action, p.State}
}

// Plan counts deployment targets.
type Plan struct {
	Summary      string `json:"summary"`
	Targets      int    `json:"targets"`
	ClusterTypes int    `json:"clusterTypes"`
	Added        int    `json:"added"`
	Changed      int    `json:"changed"`
	Removed      int    `json:"removed"`
	Unchanged    int    `json:"unchanged"`
}

// Plus returns the sum of two plans.
func (p Plan) Plus(q Plan) Plan {
	return Plan{
		Targets: p.Targets + q.Targets, ClusterTypes: p.ClusterTypes + q.ClusterTypes, Added: p.Added + q.Added,
		Changed: p.Changed + q.Changed, Removed: p.Removed + q.Removed, Unchanged: p.Unchanged + q.Unchanged,
	}
}

// Target is what happens to a deployment target on a cluster type.
type Target struct {
	ClusterType string        `json:"clusterType"`
	Target      string        `json:"deploymentTarget"`
	Action      gitops.Action `json:"action"`
	Files       []string      `json:"files,omitempty"`
}

// File is what happens to a file.
type File struct {
	Path   string        `json:"path"`
	Action gitops.Action `json:"action"`
}

// NewPlan returns a plan with its summary.
func NewPlan(p gitops.Plan) Plan {
	return Plan{p.String(), p.Targets, p.ClusterTypes, p.Added, p.Changed, p.Removed, p.Unchanged}
}

// ChangedTargets are the targets of a change to which something happens; none is an empty list.
func ChangedTargets(change *gitops.Change) []Target {
	targets := []Target{}
	for _, t := range change.Targets {
		if t.Action != gitops.Unchanged {
			targets = append(targets, Target{t.ClusterType, t.Target, t.Action, t.Files})
		}
	}
	return targets
}

// ChangedFiles are the files of a change; none is an empty list.
func ChangedFiles(change *gitops.Change) []File {
	files := []File{}
	for _, f := range change.Files {
		files = append(files, File{f.Path, f.Action})
	}
	return files
}

// Miss is a condition that does not hold.
type Miss struct {
	At Place `json:"at"`
	// Side is what the condition is about: deploymentTarget or clusterType.
	Side string `json:"side"`
	// Label is missing where the condition is about the workspace.
	Label string `json:"label,omitempty"`
	Wants string `json:"wants"`
	// Found is missing where the object has no such label.
	Found   *string `json:"found,omitempty"`
	Message string  `json:"message"`
}

// NewMisses returns conditions that do not hold.
func NewMisses(misses []schedule.Miss) []Miss {
	var all []Miss
	for _, m := range misses {
		miss := Miss{At: At(m.At), Side: sideName(m.Side), Label: m.Label, Wants: m.Wants(), Message: m.Message()}
		if m.Has {
			miss.Found = &m.Found
		}
		all = append(all, miss)
	}
	return all
}

func sideName(side schedule.Side) string {
	if side == schedule.OfClusterType {
		return "clusterType"
	}
	return "deploymentTarget"
}
