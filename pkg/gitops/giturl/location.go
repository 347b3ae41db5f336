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

// Location is the location of a ref.
type Location struct {
	// Name is the normal form of the name; Read is that after replacements.
	Name, Read string
	Address    Address
}

// String returns the name for messages.
func (l Location) String() string {
	if l.Name == l.Read {
		return l.Name
	}
	return l.Name + " (read from " + l.Read + ")"
}

// Explain adds the location to the error of an interrupted read.
func (l Location) Explain(err error) error {
	var stopped giterror.InterruptedError
	if errors.As(err, &stopped) {
		return stopped.Explain(l.String())
	}
	return err
}

// Resolver applies replacements. It is safe for concurrent use.
type Resolver struct {
	// rules are all replacements, exact those without `*`.
	rules, exact []replacement

	mu sync.Mutex
	// standIns are the paths of StandFor, by normal name.
	standIns map[string]string
}

// NewResolver returns a resolver with the values of --replace. The error lists all invalid values.
func NewResolver(values []string) (*Resolver, error) {
	rules, err := parseReplacements(values)
	exact := slices.DeleteFunc(slices.Clone(rules), func(r replacement) bool { return r.pattern.NumSubexp() > 0 })
	return &Resolver{rules: rules, exact: exact, standIns: map[string]string{}}, err
}

// Own returns a resolver with the same replacements in which no path stands for a repository.
func (r *Resolver) Own() *Resolver {
	return &Resolver{rules: r.rules, exact: r.exact, standIns: map[string]string{}}
}

// StandFor replaces a repository by a path, for later reads: a control plane that is given as a path replaces the URL in
// its Environments. A replacement of this name has precedence; one with a `*` does not, because it is less specific. name
// is in normal form; path must come from the command line.
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

// Locate returns the location of a ref after replacements, or an error if it is not allowed.
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
