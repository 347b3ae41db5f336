package validate

import (
	"cmp"
	"io"
	"net/url"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// sarifLog is a file in the Static Analysis Results Interchange Format 2.1.0,
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
	// ColumnKind is utf16CodeUnits or unicodeCodePoints.
	ColumnKind string `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string `json:"id"`
	HelpURI string `json:"helpUri"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
	Related   []sarifLocation `json:"relatedLocations,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
	Message  *sarifMessage `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

// writeSARIF writes diagnostics as SARIF. Paths in the repository own are relative to its root, others are URLs.
func writeSARIF(w io.Writer, diags diag.List, own string) error {
	run := sarifRun{
		Tool:    sarifTool{sarifDriver{Name: "kalypso", InformationURI: "https://github.com/kalypso-gitops/kalypso", Rules: []sarifRule{}}},
		Results: []sarifResult{}, ColumnKind: "unicodeCodePoints",
	}
	known := map[string]bool{}
	for _, d := range diags {
		if !known[d.Rule] {
			known[d.Rule] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{d.Rule, results.RuleURL(d.Rule)})
		}
		result := sarifResult{RuleID: d.Rule, Level: d.Severity.String(), Message: sarifMessage{d.Message}, Locations: []sarifLocation{newSARIFLocation(d.At, own)}}
		if d.Severity == diag.Notice {
			result.Level = "note"
		}
		if d.Hint != "" {
			result.Message.Text += "\nhint: " + d.Hint
		}
		for _, related := range d.Related {
			location := newSARIFLocation(related.At, own)
			location.Message = &sarifMessage{related.Message}
			result.Related = append(result.Related, location)
		}
		run.Results = append(run.Results, result)
	}
	return results.Print(w, results.JSON, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// newSARIFLocation returns a place. GitHub refuses a result without a file and a line, so what concerns the whole run is
// at the first line of .environments.
func newSARIFLocation(at diag.Place, own string) sarifLocation {
	l := sarifLocation{Physical: sarifPhysical{Region: sarifRegion{StartLine: max(at.Line, 1), StartColumn: at.Column}}}
	switch {
	case at.IsZero():
		l.Physical.Artifact.URI = ".environments"
	case at.File.Repo == own:
		l.Physical.Artifact.URI = (&url.URL{Path: cmp.Or(at.File.Path, ".environments")}).String()
	default:
		l.Physical.Artifact.URI = at.File.Repo + (&url.URL{Path: "/blob/" + cmp.Or(at.File.Branch, "HEAD") + "/" + at.File.Path}).String()
	}
	return l
}
