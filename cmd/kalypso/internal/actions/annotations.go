package actions

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// GitHub keeps 10 annotations of each severity for a step and silently drops the others. The runner adds an error to a
// step that fails.
const (
	maxAnnotations     = 9
	maxAnnotationBytes = 4000
)

// annotations returns the commands that show diagnostics, in the order of the list: at their lines if they are in the
// checkout, else on the page of the run.
func annotations(list diag.List, here checkout, commits Commits) []string {
	var lines []string
	for _, severity := range []diag.Severity{diag.Error, diag.Warning, diag.Notice} {
		shown := list.Only(severity)
		rest := 0
		if total := len(shown); total > maxAnnotations {
			shown = shown[:maxAnnotations-1]
			rest = total - len(shown) // the last one counts them
		}
		for _, d := range shown {
			lines = append(lines, annotation(d, here, commits))
		}
		if rest > 0 {
			lines = append(lines, fmt.Sprintf("::%s::%s in the log", severity, diag.Plural(rest, "more "+severity.String())))
		}
	}
	return lines
}

// annotation is a diagnostic as a command of the runner.
func annotation(d diag.Diagnostic, here checkout, commits Commits) string {
	properties := "title=" + escapeProperty(diag.Safe(d.Rule))
	text := annotationText(d)
	switch {
	case d.At.IsZero():
	case here.holds(d.At.File, commits.of(d.At.File)) && diag.Safe(d.At.File.Path) == d.At.File.Path:
		properties = annotatedPlace(d.At) + "," + properties
	default:
		text = diag.Safe(d.At.String()) + ": " + text
	}
	return fmt.Sprintf("::%s %s::%s", d.Severity, properties, escapeData(diag.Shorten(text, maxAnnotationBytes)))
}

func annotatedPlace(at diag.Place) string {
	properties := "file=" + escapeProperty(at.File.Path)
	if at.Line > 0 {
		properties += ",line=" + strconv.Itoa(at.Line)
		if at.Column > 0 {
			properties += ",col=" + strconv.Itoa(at.Column)
		}
	}
	return properties
}

// annotationText returns the message, with related places and hints on further lines.
func annotationText(d diag.Diagnostic) string {
	text := diag.Safe(d.Message)
	for _, related := range d.Related {
		text += "\n" + strings.TrimPrefix(diag.Safe(related.At.String())+": ", ": ") + diag.Safe(related.Message)
	}
	if d.Hint != "" {
		text += "\nhint: " + diag.Safe(d.Hint)
	}
	return text
}

// escapeData escapes text for the message of a command of the runner.
func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// escapeProperty escapes text for a property of a command of the runner.
func escapeProperty(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
