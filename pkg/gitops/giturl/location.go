package giturl

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Location is where a ref is read.
type Location struct {
	// name is the normal form of what the ref names; read is that of what is read instead.
	Name, Read string
	Address    Address
}

// String is what messages call it.
func (l Location) String() string {
	if l.Name == l.Read {
		return l.Name
	}
	return l.Name + " (read from " + l.Read + ")"
}

// Explain names the location in the error of a read that was interrupted.
func (l Location) Explain(err error) error {
	var stopped giterror.InterruptedError
	if errors.As(err, &stopped) {
		return stopped.Explain(l.String())
	}
	return err
}

// Resolver knows where repositories are read. It is safe for concurrent use.
type Resolver struct {
	// rules are all replacements, exact those without a `*`.
	rules, exact []replacement

	mu sync.Mutex
	// standIns are the paths that stand for repositories, by normal name.
	standIns map[string]string
}

// NewResolver returns a resolver with the values of --replace. The error lists all that is wrong with them.
func NewResolver(values []string) (*Resolver, error) {
	rules, err := parseReplacements(values)
	exact := slices.DeleteFunc(slices.Clone(rules), func(r replacement) bool { return r.pattern.NumSubexp() > 0 })
	return &Resolver{rules: rules, exact: exact, standIns: map[string]string{}}, err
}

// Own returns a resolver with the same replacements in which no path stands for a repository.
func (r *Resolver) Own() *Resolver {
	return &Resolver{rules: r.rules, exact: r.exact, standIns: map[string]string{}}
}

// StandFor makes a path of this machine stand for a repository, as a control plane given as a path
// does for the URL that its Environments name. A replacement of exactly this name goes first; one with
// a `*` does not, as it says less. name is in normal form; path must come from the command line. It
// changes what is read afterwards.
func (r *Resolver) StandFor(name, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.standIns[name] = path
}

func (r *Resolver) replaced(name string) (target string, ok bool) {
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

// Locate applies the replacements and says where a ref is read, or why it must not be.
func (r *Resolver) Locate(ref model.Ref) (Location, error) {
	name := strings.TrimSpace(ref.Repo)
	a, err := ParseAddress(name)
	if err != nil {
		return Location{}, refused(name, err)
	}
	at := Location{Name: a.String(), Read: a.String(), Address: a}
	given := ref.At.IsZero()
	if given && a.Local() {
		return at, nil
	}
	if target, ok := r.replaced(at.Name); ok {
		if at.Address, err = ParseAddress(target); err == nil {
			err = at.Address.FromCommandLine()
		}
		at.Read = at.Address.String()
	} else if given {
		err = a.FromCommandLine()
	} else {
		err = a.fromYAML()
	}
	if err != nil {
		return Location{}, refused(name, err)
	}
	return at, nil
}

func refused(name string, err error) *giterror.Error {
	return giterror.New(giterror.RuleRefusedURL, "the repository %s is refused: %v", display(name), err).
		WithHint(cmp.Or(HintForPath(name), "write https://host/owner/name, or read it from somewhere else with --replace"))
}

// bareURL matches a URL without its scheme.
var bareURL = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(/[\w.-]+)+$`)

// HintForPath returns a hint for a path that looks like a URL without its scheme; "" for others.
func HintForPath(name string) string {
	if !bareURL.MatchString(name) {
		return ""
	}
	return "write https://" + name
}
