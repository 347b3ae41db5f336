package gitops

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/model"
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

// resolver knows where repositories are read. It is safe for concurrent use.
type resolver struct {
	// rules are all replacements, exact those without a `*`.
	rules, exact []replacement

	mu sync.Mutex
	// standIns are the paths that stand for repositories, by normal name.
	standIns map[string]string
}

// newResolver returns a resolver with the values of --replace. The error lists all that is wrong with them.
func newResolver(values []string) (*resolver, error) {
	rules, err := parseReplacements(values)
	exact := slices.DeleteFunc(slices.Clone(rules), replacement.wild)
	return &resolver{rules: rules, exact: exact, standIns: map[string]string{}}, err
}

// StandFor makes a path of this machine stand for a repository, as a control plane given as a path
// does for the URL that its Environments name. A replacement of exactly this name goes first; one with
// a `*` does not, as it says less. name is in normal form; path must come from the command line. It
// changes what is read afterwards.
func (r *resolver) StandFor(name, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.standIns[name] = path
}

// replaced returns what is read instead of a repository.
func (r *resolver) replaced(name string) (target string, ok bool) {
	if target, ok = replace(r.exact, name); ok {
		return target, true
	}
	r.mu.Lock()
	target, ok = r.standIns[name]
	r.mu.Unlock()
	if ok {
		return target, true
	}
	return replace(r.rules, name)
}

// locate applies the replacements and says where a ref is read, or why it must not be.
func (r *resolver) locate(ref model.Ref) (location, error) {
	name := strings.TrimSpace(ref.Repo)
	a, err := parseAddress(name)
	if err != nil {
		return location{}, refused(name, err)
	}
	at := location{name: a.String(), read: a.String(), address: a}
	given := ref.At.IsZero()
	if given && a.local() {
		return at, nil
	}
	if target, ok := r.replaced(at.name); ok {
		if at.address, err = parseAddress(target); err == nil {
			err = at.address.fromCommandLine()
		}
		at.read = at.address.String()
	} else if given {
		err = a.fromCommandLine()
	} else {
		err = a.fromYAML()
	}
	if err != nil {
		return location{}, refused(name, err)
	}
	return at, nil
}

func refused(name string, err error) *Error {
	return problem(RuleRefusedURL, "the repository %s is refused: %v", display(name), err).
		hint("write https://host/owner/name, or read it from somewhere else with --replace")
}
