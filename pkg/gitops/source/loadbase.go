package source

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func (l *fleetLoad) readBases(ctx context.Context) {
	refs, main := l.baseRefs(ctx)
	for i, objects := range l.read(ctx, refs, noRegistration) {
		if objects == nil {
			l.baseUnread = true
			continue
		}
		if i == main {
			l.baseCommit = objects.Source.Commit
		}
		l.parts = append(l.parts, objects)
	}
	if main >= 0 {
		l.explainPromotion(refs[main].Subject)
	}
}

// baseRefs returns the refs of the BaseRepos, and the index of the promoted base; -1 if there is none.
func (l *fleetLoad) baseRefs(ctx context.Context) (refs []model.Ref, main int) {
	main = -1
	for i, base := range l.parts[0].BaseRepos {
		if base.Broken || l.readTwice(base, l.parts[0].BaseRepos[:i]) {
			l.baseUnread = true
			continue
		}
		ref := baseRef(base)
		if base.Name.Value == model.MainBase {
			main = len(refs)
			l.noticeAhead(ctx, base, ref)
			l.override(ctx, &ref)
		}
		refs = append(refs, ref)
	}
	switch {
	case main >= 0:
	case l.controlPlane.Base != "":
		ref := model.Ref{
			Repo: l.environment.ControlPlane.Repo.Value, Branch: l.controlPlane.BaseBranch, Path: ".",
			Role: model.Base, At: l.environment.ControlPlane.Repo.At,
		}
		l.override(ctx, &ref)
		main, refs = len(refs), append(refs, ref)
	default:
		l.neverPromoted(l.parts[0].BaseRepos)
	}
	return refs, main
}

// readTwice reports a BaseRepo that reads the same location as another one: all objects there would be defined twice. A
// second one of the same name is reported as a duplicate object and not read either.
func (l *fleetLoad) readTwice(base *model.BaseRepo, others []*model.BaseRepo) bool {
	if slices.ContainsFunc(others, func(o *model.BaseRepo) bool { return o.Name.Value == base.Name.Value }) {
		return true
	}
	i := slices.IndexFunc(others, func(o *model.BaseRepo) bool { return placeOf(o.Location) == placeOf(base.Location) })
	if i < 0 {
		return false
	}
	l.diags.Error("duplicate-base", base.Repo.At, fmt.Sprintf("BaseRepo %q reads the same location as %q", base.Name.Value, others[i].Name.Value),
		diag.See(others[i].Repo.At, "first read here"), diag.Hint("remove one of them"))
	return true
}

func baseRef(base *model.BaseRepo) model.Ref {
	return model.Ref{
		Repo: base.Repo.Value, Branch: base.Branch.Value, Commit: base.Commit.Value, Path: base.Path.Value,
		Role: model.Base, At: base.Repo.At, BranchAt: base.Branch.At, CommitAt: base.Commit.At, PathAt: base.Path.At,
		Subject: fmt.Sprintf("BaseRepo %q", base.Name.Value),
	}
}

// override applies controlPlane.Base to the ref of the promoted base. A branch is read with uncommitted changes, unless a
// clone has another one checked out.
func (l *fleetLoad) override(ctx context.Context, ref *model.Ref) {
	base := l.controlPlane.Base
	if base == "" {
		return
	}
	tip := model.Ref{Repo: ref.Repo, Branch: base, Role: ref.Role, At: ref.At}
	readAt(ref, base, l.baseSubject)
	if ref.Revision == "" || len(l.instead) > 0 {
		return
	}
	if has := l.Reader.CheckedOut(ctx, ref.Repo); has != "" && has != base {
		return
	}
	if _, err := l.Reader.Tip(ctx, tip); err == nil {
		ref.Branch, ref.Revision = base, ""
	}
}

// replaced applies the states of At to a ref; repo is empty for the control plane.
func (l *Loader) replaced(repo string, ref model.Ref) model.Ref {
	if state := l.instead[BranchOf{repo, ref.Branch}]; state != "" {
		readAt(&ref, state, insteadOf(state, ref.Branch))
	}
	return ref
}

// insteadOf is the subject of errors about a state of At.
func insteadOf(state, branch string) string {
	return fmt.Sprintf("branch %q at %s", branch, state)
}

// MissingState returns the errors of a list about states of At that do not exist.
func (l *Loader) MissingState(diags diag.List) diag.List {
	return slices.DeleteFunc(diags.Only(diag.Error), func(d diag.Diagnostic) bool {
		if d.Rule != giterror.RuleBranchNotFound && d.Rule != giterror.RuleCommitNotFound {
			return true
		}
		for branch, state := range l.instead {
			if strings.HasPrefix(d.Message, insteadOf(state, branch.Branch)) {
				return false
			}
		}
		return true
	})
}

// readAt sets the revision of a ref, or WorktreeBase, and the subject of errors.
func readAt(ref *model.Ref, state, subject string) {
	switch {
	case state == WorktreeBase:
		ref.Commit, ref.WorkTree = "", true
	case giturl.IsFullCommit(state):
		ref.Commit = strings.ToLower(state)
	default:
		ref.Revision, ref.Commit = state, ""
	}
	ref.Subject = subject
	ref.BranchAt, ref.CommitAt = diag.Place{}, diag.Place{}
}

// howToPromote returns a hint with the commands that set the base of an environment.
func (l *fleetLoad) howToPromote() string {
	return fmt.Sprintf("kalypso promote --env %s promotes the latest commit of %q to it; --base BRANCH-OR-COMMIT compiles another state",
		l.environment.Name.Value, l.controlPlane.BaseBranch)
}

// neverPromoted reports an environment without a BaseRepo "main", unless that is broken or may be in an unread file.
func (l *fleetLoad) neverPromoted(bases []*model.BaseRepo) {
	l.baseUnread = true
	if l.parts[0].Incomplete {
		return
	}
	hint := l.howToPromote()
	for _, base := range bases {
		if base.Name.Value == model.MainBase {
			return
		}
		if diag.Nearest(base.Name.Value, []string{model.MainBase}) != "" {
			hint = fmt.Sprintf("did you mean %q instead of %q?", model.MainBase, base.Name.Value)
		}
	}
	l.diags.Error("not-promoted", l.environment.Name.At,
		fmt.Sprintf("Environment %q has no BaseRepo %q, so nothing was promoted to it yet", l.environment.Name.Value, model.MainBase),
		diag.Hint(hint))
}

// explainPromotion adds a hint to the errors of a subject about a missing base commit. A revision of --base that
// does not exist is an error of the flag, the same for all environments.
func (l *fleetLoad) explainPromotion(subject string) {
	notThere := false
	for i, d := range l.diags {
		switch {
		case !strings.HasPrefix(d.Message, subject+": "):
		case strings.HasPrefix(subject, BaseFlag) && (d.Rule == giterror.RuleBranchNotFound || d.Rule == giterror.RuleCommitNotFound):
			l.diags[i].At = diag.Place{}
		case d.Rule == giterror.RuleCommitNotFound:
			l.diags[i].Hint = l.howToPromote()
			notThere = true
		}
	}
	if notThere { // then nothing is ahead of it
		l.diags = slices.DeleteFunc(l.diags, func(d diag.Diagnostic) bool { return d.Rule == RuleBaseAhead })
	}
}

// noticeAhead reports that the base branch is ahead of the promoted commit.
func (l *fleetLoad) noticeAhead(ctx context.Context, base *model.BaseRepo, ref model.Ref) {
	if ref.Commit == "" || l.controlPlane.Base != "" {
		return
	}
	ref.Commit = ""
	tip, err := l.Reader.Tip(ctx, ref)
	if err != nil || tip == "" || strings.HasPrefix(tip, base.Commit.Value) {
		return // only the promoted commit must be readable
	}
	l.diags.Notice(RuleBaseAhead, base.Commit.At, fmt.Sprintf("%s of the control plane is at %.12s, this environment at %.12s",
		ref.Branch, tip, base.Commit.Value), diag.Hint("--base "+ref.Branch+" compiles what it would get"))
}

func sameSource(a, b *model.Source) bool {
	return a.Repo == b.Repo && a.Commit == b.Commit && a.Ref.Branch == b.Ref.Branch && giturl.CleanPath(a.Ref.Path) == giturl.CleanPath(b.Ref.Path)
}
