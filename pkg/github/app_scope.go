package github

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// renewBefore is how long before its end a token is replaced: longer than any one request.
	renewBefore = 5 * time.Minute
	// maxNames is how many repositories GitHub takes for one token.
	maxNames = 500
	// maxProbes is how many repositories are asked about at once.
	maxProbes = 8
)

// owner is an owner of repositories, and the App as it has it installed.
type owner struct {
	app  *App
	name string

	// mu is held while the installation is asked for.
	mu           sync.Mutex
	asked        bool
	installation *installation // nil if the owner does not have the App
}

// installed asks for the installation once.
func (o *owner) installed(ctx context.Context) (*installation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked {
		return o.installation, nil
	}
	found, err := o.app.installed(ctx, o.name)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	o.asked, o.installation = true, found
	return found, nil
}

// scope are the repositories of an owner that need the same permissions.
type scope struct {
	owner *owner
	needs Needs

	// mu is held while a token is made: others wait for it, as it may be for them too.
	mu sync.Mutex
	// expected are the names that a token will be asked for, in order, in lower case.
	expected []string
	// shared are the tokens by name; nil for what the App is not installed on.
	shared map[string]*sharedToken
	// alone says that what has no token yet gets one of its own.
	alone bool
}

// sharedToken is a token and what it is for. Its value is empty if it is to be replaced.
type sharedToken struct {
	repositories []string
	token        Token
}

// token returns a token that is good for five minutes at least, for name and others; none if the App is not installed
// on it.
func (s *scope) token(ctx context.Context, name string) (Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	installation, err := s.owner.installed(ctx)
	if installation == nil {
		return Token{}, err
	}
	if _, known := s.shared[name]; !known {
		if err := s.share(ctx, name); err != nil {
			return Token{}, err
		}
	}
	shared := s.shared[name]
	if shared == nil {
		return Token{}, nil
	}
	if s.owner.app.client.wire.Now().Add(renewBefore).Before(shared.token.Expires) {
		return shared.token, nil
	}
	token, err := s.mint(ctx, shared.repositories)
	if err == nil {
		shared.token = token
	}
	return token, err
}

// renew drops a token that GitHub refuses, so that the next one is new.
func (s *scope) renew(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, shared := range s.shared {
		if shared != nil && shared.token.Value == value {
			shared.token = Token{}
		}
	}
}

// isMissing reports whether the App is not installed there.
func isMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == NotFound
}

// mint makes a token with the permissions that are needed, and of the others with those that are granted.
func (s *scope) mint(ctx context.Context, repositories []string) (Token, error) {
	permissions := maps.Clone(s.needs.Required)
	for name, access := range s.needs.Optional {
		if s.owner.installation.grants(name, access) {
			permissions[name] = access
		}
	}
	if len(repositories) == 0 || len(permissions) == 0 { // GitHub takes none for all
		return Token{}, errors.New("a token of a GitHub App is for some repositories and permissions: none are named")
	}
	return s.owner.app.mint(ctx, s.owner.installation, mintRequest{s.owner.name, repositories, permissions})
}

// share makes a token for name: with all that are expected, else with those of them that the App is installed on,
// else by itself.
func (s *scope) share(ctx context.Context, name string) error {
	group := s.waiting(name)
	token, err := s.mint(ctx, group)
	if isMissing(err) && len(group) > 1 {
		if group, err = s.installedOn(ctx, group); err != nil {
			return err
		}
		if !slices.Contains(group, name) {
			return nil
		}
		if token, err = s.mint(ctx, group); isMissing(err) { // one of them was renamed
			s.alone, group = true, []string{name}
			token, err = s.mint(ctx, group)
		}
	}
	if isMissing(err) {
		s.shared[name] = nil
		return nil
	}
	if err != nil {
		return err
	}
	shared := &sharedToken{group, token}
	for _, one := range group {
		s.shared[one] = shared
	}
	return nil
}

// waiting are name and those that are expected and have no token yet, as many as fit.
func (s *scope) waiting(name string) []string {
	group := []string{name}
	for _, one := range s.expected {
		if _, known := s.shared[one]; !known && one != name && !s.alone && len(group) < maxNames {
			group = append(group, one)
		}
	}
	return group
}

// installedOn returns those of a group that the App is installed on, and notes the others.
func (s *scope) installedOn(ctx context.Context, group []string) ([]string, error) {
	is := make([]bool, len(group))
	probes, ctx := errgroup.WithContext(ctx)
	probes.SetLimit(maxProbes)
	for i, name := range group {
		probes.Go(func() (err error) {
			is[i], err = s.owner.app.installedOn(ctx, s.owner.name, name)
			return err
		})
	}
	if err := probes.Wait(); err != nil {
		return nil, err
	}
	var left []string
	for i, name := range group {
		if is[i] {
			left = append(left, name)
		} else {
			s.shared[name] = nil
		}
	}
	return left, nil
}
