package template

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Rules of the templates.
const (
	ruleSyntax            = "template-syntax"
	ruleForbiddenFunction = "forbidden-function"
	ruleUnknownFunction   = "unknown-function"
	ruleUnknownTemplate   = "unknown-template"
	ruleUnknownField      = "unknown-field"
	ruleNoValue           = "no-value"
	ruleFailed            = "template-failed"
	ruleCycle             = "template-cycle"
)

// Error is what is wrong with a template, or with what it was rendered with.
type Error struct {
	// Rule, Message and Hint are those of a diag.Diagnostic.
	Rule, Message, Hint string
	// Line and Column count from 1 in the text of the template; 0 if not known.
	Line, Column int
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func (e *Error) compare(other *Error) int {
	return cmp.Or(
		cmp.Compare(e.Line, other.Line), cmp.Compare(e.Column, other.Column),
		cmp.Compare(e.Rule, other.Rule), cmp.Compare(e.Message, other.Message),
		cmp.Compare(e.Hint, other.Hint),
	)
}

// asError returns err as an *Error, whatever it is.
func asError(err error) *Error {
	var problem *Error
	if errors.As(err, &problem) {
		return problem
	}
	return &Error{Rule: ruleFailed, Message: excerpt(err.Error())}
}

// inRendered says that the problem is in a text that was itself rendered. The template's own lines
// say nothing about that text, so the message shows the line.
func (e *Error) inRendered(text string) *Error {
	copied := *e
	copied.Line, copied.Column = 0, 0
	where := ""
	if lines := strings.Split(text, "\n"); e.Line > 0 && e.Line <= len(lines) {
		where = fmt.Sprintf(" in its line %d, %s:", e.Line, excerpt(strconv.Quote(strings.TrimSpace(lines[e.Line-1]))))
	}
	copied.Message = fmt.Sprintf(`the rendered text contains "{{" and was rendered again:%s %s`, where, e.Message)
	return &copied
}

// maxExcerpt is how many bytes of a foreign text a message shows.
const maxExcerpt = 300

// excerpt makes one short line of a text.
func excerpt(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, diag.Shorten(text, maxExcerpt+len("…")))
}
