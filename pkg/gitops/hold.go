package gitops

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// RuleHeldBack is the warning that a registration is not compiled as it is now.
const RuleHeldBack = "held-back"

// Hold says which workload registrations of an environment are held back, because they are broken: each is
// compiled at the commit that went out last instead of the tip of its branch. One for which that is not
// known, or is broken too, is left out; then what is published of it has to stay as it is.
//
// The commit is read from the repository and branch that the registration names, as a tenant's: only which
// commit it is comes from the GitOps branch, where nobody writes but the platform team. That it is still on
// the branch is not asked: force-pushing what is broken must not take away what is not.
type Hold struct {
	// last has the last published commits, empty for a plain folder, and for a registration that was left out
	// while its commit was unknown.
	last map[place]string
	// complete says that last has all published registrations: nothing is published of others.
	complete bool
	held     map[place]*heldBack
	// errors are what is wrong with the registrations as they are now.
	errors diag.List
	// asPublished holds all registrations at the commits that went out last.
	asPublished bool
	// gone are registrations that are read with it although there are none such now.
	gone []*model.WorkloadRegistration
}

// heldBack is a registration that is held back.
type heldBack struct {
	registration *model.WorkloadRegistration
	// commit is compiled instead; empty if the registration is left out.
	commit string
	// why is what is wrong with it as it is now, again what is wrong with the commit that went out last.
	why   diag.List
	again string
	// rivals are those that it collides with; sure says that something is wrong with it by itself.
	rivals []place
	sure   bool
}

// NewHold returns a Hold of nothing. published says what the environment was compiled from when it was
// published last, for each GitOps repository; nil where that is not known. If they disagree about a
// registration, the first that knows a commit counts.
func NewHold(published ...*Provenance) *Hold {
	h := &Hold{last: map[place]string{}, held: map[place]*heldBack{}, complete: len(published) > 0}
	for _, provenance := range published {
		if provenance == nil {
			h.complete = false
			continue
		}
		h.complete = h.complete && provenance.Current
		for _, o := range provenance.Origins {
			at := place{o.Repo, o.Branch, o.Path}
			if o.Role == model.Tenant && h.last[at] == "" {
				h.last[at] = o.Commit
			}
		}
	}
	return h
}

// placeOf is the place that a registration names.
func placeOf(r *model.WorkloadRegistration) place {
	repo, err := NormalURL(r.Workload.Repo.Value)
	if err != nil {
		repo = r.Workload.Repo.Value // it is refused when it is read
	}
	return place{repo, r.Workload.Branch.Value, cleanPath(r.Workload.Path.Value)}
}

// commitOf returns the commit at which a place is read, empty for the tip of its branch, or says that it
// is not read at all.
func (h *Hold) commitOf(at place) (commit string, leftOut bool) {
	if h == nil {
		return "", false
	}
	if h.asPublished {
		return h.last[at], h.last[at] == ""
	}
	held, ok := h.held[at]
	if !ok {
		return "", false
	}
	return held.commit, held.commit == ""
}

// isNew reports whether nothing is published of a registration; false if that is unknown.
func (h *Hold) isNew(at place) bool {
	_, published := h.last[at]
	return h.complete && !published
}

// Complete reports whether the sources of all published targets are known.
func (h *Hold) Complete() bool { return h.complete }

// LeavesOut reports whether a registration is left out that may have published targets, so that none may be removed.
func (h *Hold) LeavesOut() bool {
	for at, held := range h.held {
		if held.commit == "" && !h.isNew(at) {
			return true
		}
	}
	return false
}

// Blame holds back the registrations that are to blame for the errors among diags, which came of
// compiling a fleet with what is held back already. It reports false, and holds nothing more back, if
// there is an error for which no registration is.
//
// An error is the fault of a registration if it is at the place that the registration names, or in a file
// below it. Where several are at fault, as if they collide, only those are held that are not what went out
// last; if all of them or none of them are, all: see Acquit. An error that is in the platform's files but came up with
// targets of registrations only is theirs if each has changed since it went out, as long as there is
// reason to think that others fare better.
func (h *Hold) Blame(fleet *model.Fleet, assignments []schedule.Assignment, diags diag.List) bool {
	if fleet == nil {
		return false
	}
	inquiry := newInquiry(h, fleet, assignments)
	guilty := map[*suspect]*heldBack{}
	for _, d := range diags.Sorted() {
		if d.Severity != diag.Error {
			continue
		}
		found := inquiry.guilty(d)
		if len(found) == 0 {
			return false
		}
		for _, s := range found {
			if guilty[s] == nil {
				guilty[s] = &heldBack{registration: s.registration, commit: s.next()}
			}
			guilty[s].charge(d, s, found)
		}
	}
	for s, charged := range guilty {
		h.holdBack(s, charged)
	}
	return len(guilty) > 0
}

// charge notes an error for which a registration is to blame, together with others.
func (b *heldBack) charge(d diag.Diagnostic, s *suspect, all []*suspect) {
	b.why = append(b.why, d)
	b.sure = b.sure || len(all) == 1
	for _, other := range all {
		if other != s {
			b.rivals = append(b.rivals, other.place)
		}
	}
}

// holdBack takes the next step with a registration: back to the commit that went out last, then out.
func (h *Hold) holdBack(s *suspect, charged *heldBack) {
	if held := h.held[s.place]; held != nil {
		held.commit, held.again = "", charged.why[0].Message
		held.rivals, held.sure = append(held.rivals, charged.rivals...), held.sure || charged.sure
		return
	}
	if charged.commit == "" && s.last != "" {
		charged.again = "it is the one that is broken now"
	}
	h.held[s.place] = charged
	h.errors.Add(charged.why)
}

// inOrder returns what is held back, in order of name.
func (h *Hold) inOrder() []*heldBack {
	return slices.SortedFunc(maps.Values(h.held), func(a, b *heldBack) int {
		return cmp.Or(cmp.Compare(a.registration.Name.Value, b.registration.Name.Value), a.registration.At.Compare(b.registration.At))
	})
}

// Registrations returns what is held back, in order of name.
func (h *Hold) Registrations() []HeldRegistration {
	held := []HeldRegistration{}
	for _, one := range h.inOrder() {
		held = append(held, HeldRegistration{Name: one.registration.Name.Value, Commit: one.commit, Why: one.reason()})
	}
	return held
}

// Diagnostics returns the errors of the registrations as they are now, and a warning for each that says
// what is done about it.
func (h *Hold) Diagnostics() diag.List {
	diags := slices.Clone(h.errors)
	for _, one := range h.inOrder() {
		at := placeOf(one.registration)
		one.explain(h.last[at], h.isNew(at), &diags)
	}
	return diags
}

// Origins returns the origins of the registrations that may own a kept folder and are not compiled in the fleet: those
// that are left out, with an empty commit if it is unknown, and those that were removed. It is empty if no folder is
// kept.
func (h *Hold) Origins(fleet *model.Fleet) []Origin {
	if !h.LeavesOut() {
		return nil
	}
	kept := maps.Clone(h.last)
	for at := range compiledAt(fleet) {
		delete(kept, at)
	}
	for at, held := range h.held {
		if held.commit == "" && !h.isNew(at) {
			kept[at] = h.last[at]
		}
	}
	var origins []Origin
	for at, commit := range kept {
		origins = append(origins, Origin{Role: model.Tenant, Repo: at.repo, Branch: at.branch, Path: at.path, Commit: commit})
	}
	return sortedOrigins(origins)
}

// reason says in one line what is wrong with a registration.
func (b *heldBack) reason() string {
	first := b.why[0]
	text := strings.TrimPrefix(first.Message, fmt.Sprintf("%s%q: ", registrationSubject, b.registration.Name.Value))
	if file := first.At.File; file != nil && file.Repo == placeOf(b.registration).repo {
		line := ""
		if first.At.Line > 0 {
			line = fmt.Sprintf(":%d", first.At.Line)
		}
		text = file.Path + line + ": " + text
	}
	if more := len(b.why) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s)", diag.Plural(more, "more error"))
	}
	return text
}

// explain says what is done about a registration that is broken. last is the commit that went out last,
// if that is known; isNew reports that it was never published.
func (b *heldBack) explain(last string, isNew bool, diags *diag.List) {
	subject := fmt.Sprintf("%s%q is held back: ", registrationSubject, b.registration.Name.Value)
	at, why := b.registration.Workload.Repo.At, diag.See(b.why[0].At, "broken here")
	if b.commit != "" {
		diags.Warning(RuleHeldBack, at, subject+fmt.Sprintf("it is compiled at %.12s, which went out last", b.commit), why,
			diag.Hint("fix it; the next run compiles it again"))
		return
	}
	if isNew {
		diags.Warning(RuleHeldBack, at, subject+"it was never published, so it is left out", why,
			diag.Hint("fix it; the next run compiles it again"))
		return
	}
	unknown := "which commit of it went out last is not known"
	if last != "" {
		unknown = fmt.Sprintf("%.12s, which went out last, cannot be compiled either (%s)", last, b.again)
	}
	diags.Warning(RuleHeldBack, at, subject+unknown+", so what is published of it stays as it is", why,
		diag.Hint("fix it, or remove the registration if it is gone for good: until then no published target is removed"))
}
