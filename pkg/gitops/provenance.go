package gitops

import (
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Provenance says what an output was compiled from and by which kalypso. It stands in the trailers of
// the commit that publishes it, so that each line that runs somewhere can be traced.
type Provenance struct {
	// Version is that of kalypso, as `kalypso version` prints it.
	Version     string
	Environment string
	// Origins are what was read, sorted by role, repository, branch and path.
	Origins []Origin
	// Held are the names of the registrations that were held back when the commit was made. Later they may
	// compile to the same tree, so Held does not describe the present, and an output with held registrations
	// is not the result of its Origins.
	Held []string
	// Current says that the GitOps branch still has the content of the commit, so that Origins describes it
	// completely. Only LastPublished sets it.
	Current bool
}

// compiledFrom leaves out the base branch of the control plane, of which only the environment is read: where
// that has its data is known from the rest. It moves with each commit that is not promoted yet.
func (p Provenance) compiledFrom() []Origin {
	return slices.DeleteFunc(slices.Clone(p.Origins), func(o Origin) bool { return o.Role == model.Main })
}
