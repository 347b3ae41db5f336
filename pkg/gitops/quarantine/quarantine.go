// Package quarantine decides which broken registrations of tenants are compiled at an older commit, and which stay as
// they are published, so that everything else can be published.
package quarantine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// RuleQuarantined is the warning that a registration is not compiled as it is now.
const RuleQuarantined = "held-back"

// Set has the workload registrations of an environment that are broken. Each is compiled at its last published
// commit instead of the tip of its branch. If that commit is unknown or broken too, the registration is left out, and
// its published directories must stay as they are.
//
// The commit is read from the repository and branch that the registration names, with the limits of a tenant; the
// GitOps branch, to which only the platform team writes, says only which commit. The commit need not be on the branch
// any more: a force-push must not take away what works.
type Set struct {
	last    lastCommits
	entries map[source.Place]*quarantined
	// errors are those of the registrations as they are now.
	errors diag.List
}

// quarantined is a registration in quarantine.
type quarantined struct {
	registration *model.WorkloadRegistration
	// commit is compiled instead of the tip; empty if the registration is left out.
	commit string
	// errors are those of the tip, lastError is that of the last published commit.
	errors    diag.List
	lastError string
	// rivals are the other causes of its errors; certain says that it is the only cause of one of them.
	rivals  []source.Place
	certain bool
}

// lastCommits has the last published commits of registrations.
type lastCommits struct {
	// of is empty for a plain directory, and for a registration that was left out while its commit was unknown.
	of map[source.Place]string
	// complete says that all published registrations are in it.
	complete bool
}

// lastCommitsOf returns the commits in the provenance of each GitOps repository; nil stands for an unknown one. If they
// disagree about a registration, the first that knows a commit counts.
func lastCommitsOf(published ...*message.Provenance) lastCommits {
	last := lastCommits{map[source.Place]string{}, len(published) > 0}
	for _, provenance := range published {
		if provenance == nil {
			last.complete = false
			continue
		}
		last.complete = last.complete && provenance.Current
		for _, o := range provenance.Origins {
			at := source.Place{Repo: o.Repo, Branch: o.Branch, Path: o.Path}
			if o.Role == model.Tenant && last.of[at] == "" {
				last.of[at] = o.Commit
			}
		}
	}
	return last
}

// isNew reports whether nothing is published of a registration; false if that is unknown.
func (l lastCommits) isNew(at source.Place) bool {
	_, published := l.of[at]
	return l.complete && !published
}

// pins reads all registrations as they were published. Those without a commit are left out.
func (l lastCommits) pins() source.Pins {
	return source.Pins{Commit: func(at source.Place) (string, bool) { return l.of[at], l.of[at] == "" }}
}

// New returns an empty Set. published has the provenance of the last publication for each GitOps
// repository; nil where it is unknown.
func New(published ...*message.Provenance) *Set {
	return &Set{last: lastCommitsOf(published...), entries: map[source.Place]*quarantined{}}
}

// Pins returns the commits at which registrations are read.
func (q *Set) Pins() source.Pins {
	return source.Pins{Commit: func(at source.Place) (string, bool) {
		if entry := q.entries[at]; entry != nil {
			return entry.commit, entry.commit == ""
		}
		return "", false
	}}
}

// Complete reports whether the sources of all published targets are known.
func (q *Set) Complete() bool { return q.last.complete }

// LeavesOut reports whether a registration is left out that may have published targets, so that none may be removed.
// A nil Set leaves none out.
func (q *Set) LeavesOut() bool { return q != nil && len(q.leftOut()) > 0 }

// leftOut returns the registrations that are left out and may have published targets.
func (q *Set) leftOut() (places []source.Place) {
	for at, entry := range q.entries {
		if entry.commit == "" && !q.last.isNew(at) {
			places = append(places, at)
		}
	}
	return places
}

// Add puts the registrations that cause the errors among diags into quarantine. The errors are those of compiling a
// fleet with the present quarantine. A registration that is in quarantine already is left out. Add returns false and
// changes nothing if no registration causes one of the errors, or if there are none.
//
// A registration causes an error that is at the place that the registration names, or in a file below it. If there are
// several, as in a collision, only those are causes that have changed since their last publication, or all if none or
// all have changed; see Release. An error in the platform's files that came up with targets of registrations only is
// caused by these if each has changed, as long as other targets suggest that the platform's files are correct.
func (q *Set) Add(fleet *model.Fleet, assignments []schedule.Assignment, diags diag.List) bool {
	if fleet == nil {
		return false
	}
	all := newPossibleCauses(q, fleet, assignments)
	found := map[*possibleCause]*quarantined{}
	for _, d := range diags.Sorted() {
		if d.Severity != diag.Error {
			continue
		}
		causes := all.causes(d)
		if len(causes) == 0 {
			return false
		}
		for _, c := range causes {
			if found[c] == nil {
				found[c] = &quarantined{registration: c.registration, commit: c.next()}
			}
			found[c].add(d, c, causes)
		}
	}
	for c, entry := range found {
		q.enter(c, entry)
	}
	return len(found) > 0
}

func (e *quarantined) add(d diag.Diagnostic, own *possibleCause, causes []*possibleCause) {
	e.errors = append(e.errors, d)
	e.certain = e.certain || len(causes) == 1
	for _, other := range causes {
		if other != own {
			e.rivals = append(e.rivals, other.Place)
		}
	}
}

// enter takes the next step with a registration: back to the last published commit, then out.
func (q *Set) enter(c *possibleCause, entry *quarantined) {
	if c.entry != nil {
		c.entry.commit, c.entry.lastError = "", entry.errors[0].Message
		c.entry.rivals, c.entry.certain = append(c.entry.rivals, entry.rivals...), c.entry.certain || entry.certain
		return
	}
	if entry.commit == "" && c.last != "" {
		entry.lastError = "same commit"
	}
	q.entries[c.Place] = entry
	q.errors.Add(entry.errors)
}

func (q *Set) inOrder() []*quarantined {
	return slices.SortedFunc(maps.Values(q.entries), func(a, b *quarantined) int {
		return cmp.Or(cmp.Compare(a.registration.Name.Value, b.registration.Name.Value), a.registration.At.Compare(b.registration.At))
	})
}

// Registrations returns the registrations in quarantine, in order of name.
func (q *Set) Registrations() []message.QuarantinedRegistration {
	all := []message.QuarantinedRegistration{}
	for _, entry := range q.inOrder() {
		all = append(all, message.QuarantinedRegistration{Name: entry.registration.Name.Value, Commit: entry.commit, Why: entry.reason()})
	}
	return all
}

// Diagnostics returns the errors of the registrations as they are now, and a warning for each that says what is done
// about it.
func (q *Set) Diagnostics() diag.List {
	diags := slices.Clone(q.errors)
	for _, entry := range q.inOrder() {
		at := source.PlaceOf(entry.registration)
		diags.Warning(RuleQuarantined, entry.registration.Workload.Repo.At,
			fmt.Sprintf("%s%q is quarantined: ", source.RegistrationSubject, entry.registration.Name.Value)+entry.consequence(q.last.of[at], q.last.isNew(at)),
			diag.See(entry.errors[0].At, "broken here"), diag.Hint(entry.advice(q.last.isNew(at))))
	}
	return diags
}

// Origins returns the origins of the registrations that may own a kept directory and are not compiled in the fleet: those
// that are left out, with an empty commit if it is unknown, and those that were removed. It is empty if no directory is
// kept.
func (q *Set) Origins(fleet *model.Fleet) []source.Origin {
	leftOut := q.leftOut()
	if len(leftOut) == 0 {
		return nil
	}
	kept := maps.Clone(q.last.of)
	for at := range source.CompiledAt(fleet) {
		delete(kept, at)
	}
	for _, at := range leftOut {
		kept[at] = q.last.of[at]
	}
	var origins []source.Origin
	for at, commit := range kept {
		origins = append(origins, source.Origin{Role: model.Tenant, Repo: at.Repo, Branch: at.Branch, Path: at.Path, Commit: commit})
	}
	return source.SortedOrigins(origins)
}

func (e *quarantined) reason() string {
	first := e.errors[0]
	text := strings.TrimPrefix(first.Message, fmt.Sprintf("%s%q: ", source.RegistrationSubject, e.registration.Name.Value))
	if file := first.At.File; file != nil && file.Repo == source.PlaceOf(e.registration).Repo {
		line := ""
		if first.At.Line > 0 {
			line = fmt.Sprintf(":%d", first.At.Line)
		}
		text = file.Path + line + ": " + text
	}
	if more := len(e.errors) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", diag.Plural(more, "more error"))
	}
	return text
}

// consequence says what is done about a registration whose last published commit is last, empty if that is unknown.
func (e *quarantined) consequence(last string, isNew bool) string {
	switch {
	case e.commit != "":
		return fmt.Sprintf("compiled at %.12s, the last published commit", e.commit)
	case isNew:
		return "never published, so it is left out"
	case last == "":
		return "last published commit unknown; published output unchanged"
	default:
		return fmt.Sprintf("%.12s, the last published commit, does not compile either (%s); published output unchanged", last, e.lastError)
	}
}

func (e *quarantined) advice(isNew bool) string {
	if e.commit != "" || isNew {
		return "fix it; the next run compiles it again"
	}
	return "fix it, or remove the registration if it is no longer needed: until then no published target is removed"
}

// maxRivals is the maximum number of registrations in a collision that are tried one by one.
const maxRivals = 8

// Release returns a Set without the registrations that only collide with others and cause no error themselves:
// with such a one as it is now, and its rivals in quarantine, everything compiles. So a tenant that takes another
// tenant's name cannot keep that one from publishing. If it compiles either way, for example because two take the same
// new name, nothing tells which one is right, and all stay in quarantine.
//
// compiles compiles the fleet and reports whether there was no error. If the result is another Set, it was the
// argument of the last call.
func (q *Set) Release(compiles func(*Set) bool) *Set {
	var uncertain []source.Place
	for _, entry := range q.inOrder() {
		if !entry.certain {
			uncertain = append(uncertain, source.PlaceOf(entry.registration))
		}
	}
	if len(uncertain) > maxRivals {
		return q
	}
	innocent := map[source.Place]bool{}
	for _, at := range uncertain {
		innocent[at] = compiles(q.without(at))
	}
	released := slices.DeleteFunc(uncertain, func(at source.Place) bool {
		return !innocent[at] || slices.ContainsFunc(q.entries[at].rivals, func(rival source.Place) bool { return innocent[rival] })
	})
	if len(released) == 0 {
		return q
	}
	if rest := q.without(released...); compiles(rest) {
		return rest
	}
	return q
}

func (q *Set) without(released ...source.Place) *Set {
	rest := *q
	rest.entries = maps.Clone(q.entries)
	for _, at := range released {
		delete(rest.entries, at)
	}
	return &rest
}
