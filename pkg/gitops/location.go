package gitops

import (
	"errors"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// location is where a ref is read.
type location struct {
	// name is the normal form of what the ref names; read is that of what is read instead.
	name, read string
	address    address
}

// String is what messages call it.
func (l location) String() string {
	if l.name == l.read {
		return l.name
	}
	return l.name + " (read from " + l.read + ")"
}

// explain names the location in the error of a read that was interrupted.
func (l location) explain(err error) error {
	var stopped interruptedError
	if errors.As(err, &stopped) {
		return stopped.explain(l.String())
	}
	return err
}

// noBranch is the error for a branch that is not among those there are.
func noBranch(repo, name string, names []string) *Error {
	switch {
	case len(names) == 0:
		return problem(RuleBranchNotFound, "%s has no branch %q: it is empty", repo, name)
	case name == "":
		return problem(RuleBranchNotFound, "%s has no default branch; name one", repo).hint(diag.DidYouMean(name, names))
	}
	return problem(RuleBranchNotFound, "%s has no branch %q", repo, name).hint(diag.DidYouMean(name, names))
}
