// Package diag defines diagnostics: errors, warnings and notices with a rule, a place and a hint. Stages collect them in a
// List and continue. The list is sorted, and duplicates are removed, when it is shown.
package diag

import (
	"cmp"
	"slices"
)

// Severity is the effect of a Diagnostic on the run.
type Severity int

const (
	// Notice is information; nothing is wrong.
	Notice Severity = iota
	// Warning is probably a mistake; the run continues and succeeds.
	Warning
	// Error stops the run before anything is published.
	Error
)

// String returns "error", "warning" or "notice".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	default:
		return "notice"
	}
}

// MarshalText returns the severity as String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is one problem found in the input. Its fields are those of the JSON output.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	// Rule is a stable identifier such as "unknown-field"; tools may match on it.
	Rule string `json:"rule"`
	// Message says what is wrong: one line, lower case, no full stop, quoting what was written.
	Message string `json:"message"`
	// Hint is what to do about it; empty if the message alone is enough.
	Hint string `json:"hint,omitempty"`
	// At is the place to change. The zero Place means the run as a whole.
	At Place `json:"at,omitzero"`
	// Related are further places, such as the first of two duplicates.
	Related []Related `json:"related,omitempty"`
	// Concerns are the objects that a problem elsewhere, such as in a template, was found with. They are not
	// shown and do not affect the order.
	Concerns []Place `json:"-"`
}

// Related is a further place of a Diagnostic.
type Related struct {
	At Place `json:"at,omitzero"`
	// Message describes the place, for example "first defined here".
	Message string `json:"message"`
}

// Option adds a detail to a Diagnostic that Error, Warning or Notice adds.
type Option func(*Diagnostic)

// Hint sets what to do about the problem.
func Hint(hint string) Option { return func(d *Diagnostic) { d.Hint = hint } }

// See adds a related place.
func See(at Place, message string) Option {
	return func(d *Diagnostic) { d.Related = append(d.Related, Related{At: at, Message: message}) }
}

// List collects diagnostics. The zero List is empty and ready to use.
type List []Diagnostic

// Error adds an error.
func (l *List) Error(rule string, at Place, message string, options ...Option) {
	l.add(Error, rule, at, message, options)
}

// Warning adds a warning.
func (l *List) Warning(rule string, at Place, message string, options ...Option) {
	l.add(Warning, rule, at, message, options)
}

// Notice adds a notice.
func (l *List) Notice(rule string, at Place, message string, options ...Option) {
	l.add(Notice, rule, at, message, options)
}

func (l *List) add(severity Severity, rule string, at Place, message string, options []Option) {
	d := Diagnostic{Severity: severity, Rule: rule, At: at, Message: message}
	for _, option := range options {
		option(&d)
	}
	*l = append(*l, d)
}

// Add appends the diagnostics of another list.
func (l *List) Add(more List) { *l = append(*l, more...) }

// HasErrors reports whether one of the diagnostics is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Only returns the diagnostics with a severity.
func (l List) Only(severity Severity) List {
	return slices.DeleteFunc(slices.Clone(l), func(d Diagnostic) bool { return d.Severity != severity })
}

// Count returns how many diagnostics have the severity.
func (l List) Count(severity Severity) int {
	return len(l.Only(severity))
}

// Sorted returns the diagnostics in the order in which they are shown, each once: by place, then
// severity (errors first), rule and message.
func (l List) Sorted() List {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, compare)
	return slices.CompactFunc(sorted, func(a, b Diagnostic) bool { return compare(a, b) == 0 })
}

func compare(a, b Diagnostic) int {
	return cmp.Or(
		a.At.Compare(b.At),
		cmp.Compare(b.Severity, a.Severity),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Message, b.Message),
		cmp.Compare(a.Hint, b.Hint),
		slices.CompareFunc(a.Related, b.Related, func(x, y Related) int {
			return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Message, y.Message))
		}),
	)
}
