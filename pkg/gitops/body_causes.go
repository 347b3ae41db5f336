package gitops

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// sourceMove is a branch of a repository that is now read at another commit than before.
type sourceMove struct {
	role         model.Role
	repo, branch string
	// from and to are commits; empty for a plain folder. Without wasRead or isRead they mean nothing.
	from, to        string
	wasRead, isRead bool
	paths           []string
}

// sourceMoves compares what was read, in order of role, repository and branch.
func sourceMoves(before, now []Origin) []sourceMove {
	type place struct {
		role               model.Role
		repo, branch, path string
	}
	was := map[place]string{}
	for _, o := range before {
		was[place{o.Role, o.Repo, o.Branch, o.Path}] = o.Commit
	}
	var all []sourceMove
	for _, o := range now {
		p := place{o.Role, o.Repo, o.Branch, o.Path}
		from, wasRead := was[p]
		delete(was, p)
		if !wasRead || from != o.Commit {
			all = append(all, sourceMove{o.Role, o.Repo, o.Branch, from, o.Commit, wasRead, true, []string{o.Path}})
		}
	}
	for p, from := range was {
		all = append(all, sourceMove{p.role, p.repo, p.branch, from, "", true, false, []string{p.path}})
	}
	return joinMoves(all)
}

// joinMoves makes one move of all paths of a branch that went from one commit to another.
func joinMoves(all []sourceMove) []sourceMove {
	slices.SortFunc(all, func(a, b sourceMove) int {
		return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.repo, b.repo), cmp.Compare(a.branch, b.branch),
			cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), compareBool(a.wasRead, b.wasRead), compareBool(a.isRead, b.isRead),
			cmp.Compare(a.paths[0], b.paths[0]))
	})
	var joined []sourceMove
	for _, m := range all {
		if last := len(joined) - 1; last >= 0 && joined[last].sameAs(m) {
			joined[last].paths = append(joined[last].paths, m.paths...)
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

func compareBool(a, b bool) int {
	if a == b {
		return 0
	}
	if b {
		return -1
	}
	return 1
}

// sameAs tells whether two moves differ in their paths alone.
func (m sourceMove) sameAs(other sourceMove) bool {
	return m.role == other.role && m.repo == other.repo && m.branch == other.branch &&
		m.from == other.from && m.to == other.to && m.wasRead == other.wasRead && m.isRead == other.isRead
}

const causesHead = "### Why\n\n"

// causes says what is read now that was not before.
func (b *body) causes(room int) string {
	if b.Before == nil {
		return b.unknownCauses(room)
	}
	moved := b.knownMoves()
	version, upgraded := b.upgradedFrom()
	if len(moved) == 0 && !upgraded && len(b.Before.Held) > 0 {
		return causesHead + "All sources are at the same commits as for the published output, which held back " +
			diag.Plural(len(b.Before.Held), "registration") + " that could not be compiled then.\n"
	}
	if len(moved) == 0 && !upgraded {
		return causesHead + "Everything was read at the same commits as for what is published now, so that was changed by hand, or merged in part.\n"
	}
	head := causesHead + "| | Source | Before | Now |\n| --- | --- | --- | --- |\n"
	if upgraded {
		head += fmt.Sprintf("| kalypso | | %s | **%s** |\n", versionCell(version), versionCell(b.Now.Version))
	}
	text, shown := moveTable(head, moved, b.linkedRow, room)
	if shown < len(moved) { // without links it is much shorter
		text, shown = moveTable(head, moved, plainRow, room)
	}
	if left := len(moved) - shown; left > 0 {
		b.omit(diag.Plural(left, "source") + " that moved (the trailers of the commit name all)")
	}
	if shown == 0 && !upgraded {
		return ""
	}
	return text
}

// knownMoves returns the source moves without those of registrations that were held back while their published commit
// was unknown: their origins have no commit, like plain folders.
func (b *body) knownMoves() []sourceMove {
	return slices.DeleteFunc(sourceMoves(b.Before.Origins, b.Now.Origins), func(m sourceMove) bool {
		was := m.wasRead && m.from == "" && len(b.Before.Held) > 0
		is := m.isRead && m.to == "" && len(b.Held) > 0
		return m.role == model.Tenant && (was || is)
	})
}

// moveTable writes the moves that fit, and returns how many those are.
func moveTable(head string, moved []sourceMove, row func(sourceMove) string, room int) (text string, shown int) {
	s := &sheet{room: room - len("\n\n"+more(len(moved)))}
	s.WriteString(head)
	for _, m := range moved {
		if !s.add(row(m)) {
			return s.finish("\n" + more(len(moved)-shown) + "\n"), shown
		}
		shown++
	}
	return s.String(), shown
}

func versionCell(version string) string {
	if version == "" {
		return "?"
	}
	return tableCell(shorten(version, maxName))
}

// unknownCauses says what was compiled if it is not known from what the published tree was.
func (b *body) unknownCauses(room int) string {
	s := &sheet{room: room}
	first := b.blast.actionCounts == actionCounts{Added: b.blast.total()}
	if first {
		s.add(causesHead + "Nothing was published before. It is compiled from:\n\n")
	} else {
		s.add(causesHead + "The published commit does not say what it was compiled from: a squash merge may have dropped that. Now it is:\n\n")
	}
	workloads := 0
	for _, o := range sortedOrigins(b.Now.Origins) {
		if o.Role == model.Tenant {
			workloads++
			continue
		}
		s.add(fmt.Sprintf("- %s %s, branch %s: %s\n", roleNoun(o.Role), codeSpan(shortRepo(o.Repo)), nameSpan(o.Branch), b.commitLink(o.Repo, o.Commit)))
	}
	if workloads > 0 {
		s.add(fmt.Sprintf("- %s\n", diag.Plural(workloads, "workload")))
	}
	return s.String()
}

// maxPaths is how many paths of a branch are named.
const maxPaths = 3

// linkedRow writes a move as a row of a table, with links to what GitHub knows of it.
func (b *body) linkedRow(m sourceMove) string {
	to := b.commitLink(m.repo, m.to)
	if url := b.web(m.repo); url != "" && m.wasRead && m.isRead && commitForm.MatchString(m.from) && commitForm.MatchString(m.to) {
		to += fmt.Sprintf(" ([compare](%s/compare/%s...%s))", url, m.from, m.to)
	}
	return m.row(b.repoLink(m.repo), b.commitLink(m.repo, m.from), to)
}

// plainRow is the row without links.
func plainRow(m sourceMove) string {
	return m.row(tableCell(shortRepo(m.repo)), commitCell(m.from), commitCell(m.to))
}

func (m sourceMove) row(repo, from, to string) string {
	source := repo + " " + nameCell(m.branch)
	switch {
	case m.role != model.Tenant && m.role != model.Base:
	case len(m.paths) > maxPaths:
		source += fmt.Sprintf(", %d paths", len(m.paths))
	default:
		for _, p := range m.paths {
			source += " " + nameCell(p)
		}
	}
	if !m.wasRead {
		from = "_new_"
	}
	if !m.isRead {
		to = "_no longer read_"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", roleNoun(m.role), source, from, to)
}

func roleNoun(role model.Role) string {
	switch role {
	case model.Main:
		return "environments"
	case model.Platform:
		return "control plane"
	case model.Base:
		return "base"
	default:
		return "workload"
	}
}

var ownerAndName = regexp.MustCompile(`^https://([a-z0-9.-]+)(/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)$`)

// web returns where people look at a repository; empty if it is not known to be on GitHub.
func (r Report) web(repo string) string {
	parts := ownerAndName.FindStringSubmatch(repo)
	if parts == nil || parts[1] != "github.com" && !slices.Contains(r.GitHubHosts, parts[1]) {
		return ""
	}
	return repo
}

// shortRepo names a repository the way people do.
func shortRepo(repo string) string {
	for _, prefix := range []string{"https://github.com/", "https://"} {
		if rest, found := strings.CutPrefix(repo, prefix); found {
			return shorten(rest, maxName)
		}
	}
	return shorten(repo, maxName)
}

func (r Report) repoLink(repo string) string {
	text := tableCell(shortRepo(repo))
	if url := r.web(repo); url != "" {
		return fmt.Sprintf("[%s](%s)", text, url)
	}
	return text
}

func (r Report) commitLink(repo, commit string) string {
	text := commitCell(commit)
	if url := r.web(repo); url != "" && commitForm.MatchString(commit) {
		return fmt.Sprintf("[%s](%s/commit/%s)", text, url, commit)
	}
	return text
}

func commitCell(commit string) string {
	if commit == "" {
		return "a local folder"
	}
	return nameCell(shortCommit(commit))
}

// provenance folds away what all of it was compiled from.
func (b *body) provenance(room int) string {
	trailers := b.Now.trailers() // escaped, so inert
	text := details("Compiled from (as in the trailers of the commit)", fenced("", trailers))
	if len(text) > room {
		b.omit(fmt.Sprintf("the list of %s (the trailers of the commit are that list)", diag.Plural(len(b.Now.Origins), "source")))
		return ""
	}
	return text
}
