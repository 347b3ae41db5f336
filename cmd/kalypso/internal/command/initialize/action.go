package initialize

import (
	"regexp"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
)

var (
	// actionRef is how a step of a workflow refers to an action.
	actionRef = regexp.MustCompile(`^\w[\w.-]*/[\w.-]+(/[\w./-]+)?@[\w./-]+$`)
	// releaseVersion is the version of a release.
	releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)
)

// setAction says which action workflows use: the one that was given, else the commit that this program was built of, and
// its release if it is one.
func (f *initFlags) setAction(e *cli.Host, plan *scaffold.Fleet) error {
	if f.action == "" {
		plan.Action, plan.Release = ownAction(e.Build)
		return nil
	}
	if !actionRef.MatchString(f.action) {
		return cli.Usage("--action %q: write OWNER/NAME@REF", f.action)
	}
	plan.Action = f.action
	return nil
}

// ownAction refers to kalypso's action by commit, so that nobody can change what runs, and says which release that is.
// A program that does not know its commit, or was changed since, leaves that to be chosen.
func ownAction(b cli.Build) (ref, release string) {
	switch {
	case b.Modified:
		return scaffold.UnknownAction, ""
	case b.Commit == "" && releaseVersion.MatchString(b.Version): // of go install
		return scaffold.Action + "@" + b.Version + " # EDIT: the commit of this release, which nobody can move", ""
	case b.Commit == "":
		return scaffold.UnknownAction, ""
	case releaseVersion.MatchString(b.Version):
		return scaffold.Action + "@" + b.Commit + " # " + b.Version, b.Version
	}
	return scaffold.Action + "@" + b.Commit, ""
}
