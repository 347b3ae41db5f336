package message

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const causesHead = "### Why\n\n"

// causes returns the table of the sources that are at another commit than before.
func (b *body) causes(budget int) string {
	if b.Before == nil {
		return b.unknownCauses(budget)
	}
	paths := b.knownMoves()
	moves := slices.SortedFunc(maps.Keys(paths), sourceMove.compare)
	version, upgraded := b.upgradedFrom()
	switch {
	case len(moves) > 0 || upgraded:
	case len(b.Before.Quarantined) > 0:
		return causesHead + "All sources are at the same commits as for the published output, which quarantined " +
			diag.Plural(len(b.Before.Quarantined), "registration") + " that could not be compiled then.\n"
	default:
		return causesHead + "All sources are at the same commits as for the published output, so it was changed manually or merged in part.\n"
	}
	head := causesHead + "| | Source | Before | Now |\n| --- | --- | --- | --- |\n"
	if upgraded {
		head += fmt.Sprintf("| kalypso | | %s | **%s** |\n", cmp.Or(nameCell(version), "?"), cmp.Or(nameCell(b.Now.Version), "?"))
	}
	rows := fitting(budget-len(head), len(moves), func(i int) string { return b.moveRow(moves[i], paths[moves[i]]) })
	text, left := head+strings.Join(rows, ""), len(moves)-len(rows)
	b.omit(left, "%s with another commit (all are in the trailers of the commit)", "source")
	switch {
	case len(rows) == 0 && !upgraded:
		return ""
	case left > 0:
		return text + "\n" + more(left) + "\n"
	default:
		return text
	}
}

// knownMoves returns the source moves without those of registrations that were quarantined while their published commit
// was unknown: their origins have no commit, like plain directories.
func (b *body) knownMoves() map[sourceMove][]string {
	moves := sourceMoves(b.Before.Origins, b.Now.Origins)
	maps.DeleteFunc(moves, func(m sourceMove, _ []string) bool {
		was := m.from == localDirectory && len(b.Before.Quarantined) > 0
		is := m.to == localDirectory && len(b.Quarantined) > 0
		return m.role == model.Tenant && (was || is)
	})
	return moves
}

func (b *body) unknownCauses(budget int) string {
	head := causesHead + "The published commit has no trailers with its sources: a squash merge may have dropped them. The sources now:\n\n"
	if first := b.summary.actionCounts == (actionCounts{change.Added: b.summary.total()}); first {
		head = causesHead + "Nothing was published before. The sources:\n\n"
	}
	origins := source.SortedOrigins(b.Now.Origins)
	platform := slices.DeleteFunc(slices.Clone(origins), func(o source.Origin) bool { return o.Role == model.Tenant })
	lines := fitting(budget-len(head), len(platform), func(i int) string {
		o := platform[i]
		return fmt.Sprintf("- %s %s, branch %s: %s\n", roleNoun(o.Role), markdown.Code(shortRepo(o.Repo)), nameSpan(o.Branch), b.commitLink(o.Repo, o.Commit))
	})
	b.omit(len(platform)-len(lines), "%s (all are in the trailers of the commit)", "source")
	if workloads := len(origins) - len(platform); workloads > 0 {
		lines = append(lines, "- "+diag.Plural(workloads, "workload")+"\n")
	}
	return head + strings.Join(lines, "")
}

// maxPaths is the maximum number of paths that are listed for a branch.
const maxPaths = 3

func (b *body) moveRow(m sourceMove, paths []string) string {
	source := b.repoLink(m.repo) + " " + nameCell(m.branch)
	switch {
	case m.role != model.Tenant && m.role != model.Base:
	case len(paths) > maxPaths:
		source += fmt.Sprintf(", %d paths", len(paths))
	default:
		for _, p := range slices.Sorted(slices.Values(paths)) {
			source += " " + nameCell(p)
		}
	}
	from, to := "_new_", "_no longer read_"
	if m.from != notRead {
		from = b.commitLink(m.repo, m.from)
	}
	if m.to != notRead {
		to = b.commitLink(m.repo, m.to)
	}
	if url := b.web(m.repo); url != "" && giturl.CommitForm.MatchString(m.from) && giturl.CommitForm.MatchString(m.to) {
		to += fmt.Sprintf(" ([compare](%s/compare/%s...%s))", url, m.from, m.to)
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

// web returns the address of a repository in a browser; empty if it is not known to be on GitHub.
func (r Report) web(repo string) string {
	parts := ownerAndName.FindStringSubmatch(repo)
	if parts == nil || parts[1] != "github.com" && !slices.Contains(r.GitHubHosts, parts[1]) {
		return ""
	}
	return repo
}

// shortRepo returns the short form of the address of a repository, such as "acme/shop" on github.com.
func shortRepo(repo string) string {
	return diag.Shorten(strings.TrimPrefix(strings.TrimPrefix(repo, "https://"), "github.com/"), maxName)
}

func (r Report) repoLink(repo string) string {
	text := markdown.Cell(shortRepo(repo))
	if url := r.web(repo); url != "" {
		return fmt.Sprintf("[%s](%s)", text, url)
	}
	return text
}

func (r Report) commitLink(repo, commit string) string {
	if commit == "" || commit == localDirectory {
		return "a local directory"
	}
	text := nameCell(giturl.ShortCommit(commit))
	if url := r.web(repo); url != "" && giturl.CommitForm.MatchString(commit) {
		return fmt.Sprintf("[%s](%s/commit/%s)", text, url, commit)
	}
	return text
}

func (b *body) provenance(int) string {
	return markdown.Details("Compiled from (as in the trailers of the commit)", markdown.Fenced("", b.Now.trailers())) // trailers are escaped
}
