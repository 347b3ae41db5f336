package actions

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// GitHub keeps 10 annotations of each severity from a step, drops the others without a word, and the
// runner adds an error of its own to a step that fails.
const (
	maxAnnotations     = 9
	maxAnnotationBytes = 4000
)

// annotations returns the commands that show diagnostics at their lines in the checkout, where they are
// of the checkout, and else on the page of the run. They are in the order of the list.
func annotations(list diag.List, here checkout, commits Commits) []string {
	var lines []string
	for _, severity := range []diag.Severity{diag.Error, diag.Warning, diag.Notice} {
		lines = append(lines, annotationsOf(severity, list, here, commits)...)
	}
	return lines
}

func annotationsOf(severity diag.Severity, list diag.List, here checkout, commits Commits) []string {
	total := list.Count(severity)
	room := total
	if total > maxAnnotations {
		room = maxAnnotations - 1 // the last one counts the others
	}
	lines := make([]string, 0, maxAnnotations)
	for _, d := range list {
		if d.Severity == severity && len(lines) < room {
			lines = append(lines, annotation(d, here, commits))
		}
	}
	if rest := total - room; rest > 0 {
		lines = append(lines, fmt.Sprintf("::%s::%s in the log", severity, diag.Plural(rest, "more "+severity.String())))
	}
	return lines
}

// annotation is a diagnostic as a command of the runner.
func annotation(d diag.Diagnostic, here checkout, commits Commits) string {
	properties := "title=" + escapeProperty(diag.Safe(d.Rule))
	text := annotationText(d)
	if path, ok := annotatedFile(d.At, here, commits); ok {
		properties = annotatedPlace(path, d.At) + "," + properties
	} else if !d.At.IsZero() {
		text = diag.Safe(d.At.String()) + ": " + text
	}
	return fmt.Sprintf("::%s %s::%s", d.Severity, properties, escapeData(diag.Shorten(text, maxAnnotationBytes)))
}

// annotatedFile returns the path that an annotation points to, if it can point to the place.
func annotatedFile(at diag.Place, here checkout, commits Commits) (path string, ok bool) {
	if at.IsZero() || !here.holds(at.File, commits.of(at.File)) || diag.Safe(at.File.Path) != at.File.Path {
		return "", false
	}
	return at.File.Path, true
}

func annotatedPlace(path string, at diag.Place) string {
	properties := "file=" + escapeProperty(path)
	if at.Line > 0 {
		properties += ",line=" + strconv.Itoa(at.Line)
		if at.Column > 0 {
			properties += ",col=" + strconv.Itoa(at.Column)
		}
	}
	return properties
}

// annotationText is the message, and what belongs to it in lines of their own.
func annotationText(d diag.Diagnostic) string {
	lines := []string{diag.Safe(d.Message)}
	for _, related := range d.Related {
		line := diag.Safe(related.Message)
		if !related.At.IsZero() {
			line = diag.Safe(related.At.String()) + ": " + line
		}
		lines = append(lines, line)
	}
	if d.Hint != "" {
		lines = append(lines, "hint: "+diag.Safe(d.Hint))
	}
	return strings.Join(lines, "\n")
}

// escapeData writes text so that the runner reads all of it as the message of a command.
func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// escapeProperty writes text so that the runner reads all of it as the value of one property.
func escapeProperty(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
