package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// The formats of -o.
const (
	formatText = "text"
	formatJSON = "json"
	formatYAML = "yaml"
)

func formats() []string { return []string{formatText, formatJSON, formatYAML} }

func checkFormat(format string) error {
	if !slices.Contains(formats(), format) {
		return usageError("--output %s: write one of %s", format, strings.Join(formats(), ", "))
	}
	return nil
}

// printStructured writes a result as JSON or YAML, in which nothing gives orders to a runner of workflows.
func printStructured(w io.Writer, format string, result any) error {
	if err := checkFormat(format); err != nil {
		return err
	}
	out, err := json.MarshalIndent(result, "", "  ")
	out = escapeControls(out)
	if format == formatYAML && err == nil {
		if out, err = yaml.JSONToYAML(out); err == nil {
			out, err = inertYAML(out, result)
		}
	} else {
		out = append(inertJSON(out), '\n')
	}
	if err != nil {
		return err
	}
	_, err = w.Write(out)
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

// diagnosticResult is a diagnostic in JSON.
type diagnosticResult struct {
	Severity diag.Severity   `json:"severity"`
	Rule     string          `json:"rule"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"`
	At       *placeResult    `json:"at,omitempty"`
	Related  []relatedResult `json:"related,omitempty"`
}

type placeResult struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Path   string `json:"path,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

type relatedResult struct {
	At      *placeResult `json:"at,omitempty"`
	Message string       `json:"message"`
}

func diagnosticResults(list diag.List) []diagnosticResult {
	results := make([]diagnosticResult, 0, len(list))
	for _, d := range list {
		result := diagnosticResult{Severity: d.Severity, Rule: d.Rule, Message: d.Message, Hint: d.Hint, At: newPlaceResult(d.At)}
		for _, related := range d.Related {
			result.Related = append(result.Related, relatedResult{newPlaceResult(related.At), related.Message})
		}
		results = append(results, result)
	}
	return results
}

func newPlaceResult(p diag.Place) *placeResult {
	if p.IsZero() {
		return nil
	}
	return &placeResult{p.File.Repo, p.File.Branch, p.File.Path, p.Line, p.Column}
}

// printDiagnostics writes diagnostics for people.
func printDiagnostics(w io.Writer, list diag.List, style diag.Style) {
	for _, d := range list {
		fmt.Fprint(w, diag.Format(d, style))
	}
}

// onlyErrors leaves out what is no error.
func onlyErrors(diags diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(diags), func(d diag.Diagnostic) bool { return d.Severity != diag.Error })
}
