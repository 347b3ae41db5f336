package message

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Provenance says what an output was compiled from and by which kalypso. It stands in the trailers of
// the commit that publishes it, so that each line that runs somewhere can be traced.
type Provenance struct {
	// Version is that of kalypso, as `kalypso version` prints it.
	Version     string
	Environment string
	// Origins are what was read, sorted by role, repository, branch and path.
	Origins []source.Origin
	// Held are the names of the registrations that were held back when the commit was made. Later they may
	// compile to the same tree, so Held does not describe the present, and an output with held registrations
	// is not the result of its Origins.
	Held []string
	// Current says that the GitOps branch still has the content of the commit, so that Origins describes it
	// completely. Only LastPublished sets it.
	Current bool
}

// CompiledFrom leaves out the base branch of the control plane, of which only the environment is read: where
// that has its data is known from the rest. It moves with each commit that is not promoted yet.
func (p Provenance) CompiledFrom() []source.Origin {
	return slices.DeleteFunc(slices.Clone(p.Origins), func(o source.Origin) bool { return o.Role == model.Main })
}

// sourceMove is a branch of a repository that is now read at another commit than before.
type sourceMove struct {
	role         model.Role
	repo, branch string
	// from and to are commits, or one of the constants below.
	from, to string
}

const (
	notRead     = ""
	localFolder = " "
)

// sourceMoves compares what was read. It returns the paths of each move.
func sourceMoves(before, now []source.Origin) map[sourceMove][]string {
	type place struct {
		role               model.Role
		repo, branch, path string
	}
	was := map[place]string{}
	for _, o := range before {
		was[place{o.Role, o.Repo, o.Branch, o.Path}] = cmp.Or(o.Commit, localFolder)
	}
	moves := map[sourceMove][]string{}
	add := func(p place, from, to string) {
		if from != to {
			move := sourceMove{p.role, p.repo, p.branch, from, to}
			moves[move] = append(moves[move], p.path)
		}
	}
	for _, o := range now {
		p := place{o.Role, o.Repo, o.Branch, o.Path}
		add(p, was[p], cmp.Or(o.Commit, localFolder))
		delete(was, p)
	}
	for p, from := range was {
		add(p, from, notRead)
	}
	return moves
}

func (m sourceMove) compare(other sourceMove) int {
	return cmp.Or(cmp.Compare(m.role, other.role), cmp.Compare(m.repo, other.repo), cmp.Compare(m.branch, other.branch),
		cmp.Compare(strings.TrimSpace(m.from), strings.TrimSpace(other.from)), cmp.Compare(strings.TrimSpace(m.to), strings.TrimSpace(other.to)),
		cmp.Compare(m.from, other.from), cmp.Compare(m.to, other.to))
}
