// Package results writes what a command has found, as JSON or YAML, and holds the shapes that several commands share.
package results

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// The formats of -o.
const (
	Text = "text"
	JSON = "json"
	YAML = "yaml"
)

// Formats are those of -o.
func Formats() []string { return []string{Text, JSON, YAML} }

// CheckFormat reports whether there is a format of that name, or among more.
func CheckFormat(format string, more ...string) error {
	if formats := append(Formats(), more...); !slices.Contains(formats, format) {
		return fmt.Errorf("invalid value %q for --output: must be %s", format, diag.Alternatives(formats))
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
	document = append(term.SanitizeJSON(yamltext.EscapeControls(document)), '\n')
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

// Diagnostic is a diagnostic with the page that describes its rule.
type Diagnostic struct {
	diag.Diagnostic
	URL string `json:"url"`
}

// Diagnostics returns diagnostics for JSON; none is an empty list.
func Diagnostics(diags diag.List) []Diagnostic {
	all := make([]Diagnostic, len(diags))
	for i, d := range diags {
		all[i] = Diagnostic{d, RuleURL(d.Rule)}
	}
	return all
}

// RuleURL is the page that describes a rule.
func RuleURL(rule string) string {
	return "https://github.com/kalypso-gitops/kalypso/blob/main/docs/reference/errors.md#" + rule
}

// PullRequest is a pull request.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	// Action is created, updated, unchanged or declined; empty for one that was closed.
	Action pullrequest.Action `json:"action,omitempty"`
	// State is open, merged or closed.
	State pullrequest.State `json:"state"`
}

// NewPullRequest returns what was done to a pull request.
func NewPullRequest(p pullrequest.Request, action pullrequest.Action) *PullRequest {
	return &PullRequest{p.Number, p.URL, action, p.State}
}

// Plan counts deployment targets. Its summary is empty if they were not counted.
type Plan struct {
	Summary string `json:"summary"`
	change.Plan
}

// NewPlan returns a plan with its summary.
func NewPlan(p change.Plan) Plan { return Plan{p.String(), p} }

// ChangedTargets are the targets of a change to which something happens; none is an empty list.
func ChangedTargets(diff *change.Change) []change.TargetChange {
	targets := []change.TargetChange{}
	for _, t := range diff.Targets {
		if t.Action != change.Unchanged {
			targets = append(targets, t)
		}
	}
	return targets
}
