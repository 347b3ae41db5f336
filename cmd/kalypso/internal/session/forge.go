package session

import (
	"context"
	"fmt"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Forge is the GitHub client for a GitOps repository. Without a GitHub repository or token, Repo is nil, and the note
// describes the manual step.
type Forge struct {
	Repo *github.Repository
	Note string
	// origin is the source of the credential; see remote.Reader.Credential.
	origin string
	// err is the error of the first request; there is no second one.
	err error
}

// Forge returns the GitHub repository of a destination. It connects once.
func (s *Session) Forge(ctx context.Context, destination *gitops.Destination) (Forge, error) {
	known, found := s.forges[forgeKey(destination)]
	if !found {
		var err error
		if known, err = s.ConnectForge(ctx, model.Output, destination.At); err != nil {
			return Forge{}, err
		}
		if known.Repo == nil && known.Note != "" {
			known.Note = fmt.Sprintf("no token to open a pull request: set KALYPSO_GITOPS_TOKEN or GITHUB_TOKEN, or open it at %s/compare/%s...%s",
				destination.At, destination.Branch, destination.Head)
		}
		s.remember(destination, known)
	}
	return known, known.err
}

func (s *Session) remember(destination *gitops.Destination, forge Forge) {
	if s.forges == nil {
		s.forges = map[string]Forge{}
	}
	s.forges[forgeKey(destination)] = forge
}

func forgeKey(destination *gitops.Destination) string {
	return destination.At + "\n" + destination.Head
}

// OpenPulls lists the open pull requests for the branch of a destination. Later calls return the same error, because the
// request was retried already.
func (s *Session) OpenPulls(ctx context.Context, destination *gitops.Destination, forge Forge) ([]pullrequest.Request, error) {
	open, err := forge.Repo.Open(ctx, destination.Branch)
	if err != nil {
		forge.err = err
		s.remember(destination, forge)
	}
	return open, err
}

// ConnectForge returns the GitHub repository at a URL in normal form. The note is the reason if there is none although it is
// on GitHub.
func (s *Session) ConnectForge(ctx context.Context, role model.Role, place string) (Forge, error) {
	at, found := gitHubServer(s.Host).Locate(place)
	if !found {
		return Forge{}, nil
	}
	token, origin, err := s.Reader.Credential(ctx, role, place)
	if err != nil {
		return Forge{}, err
	}
	if token == "" {
		return Forge{Note: "no token for " + place}, nil
	}
	var source github.TokenSource = github.StaticToken(token)
	if origin == credentials.AppOrigin { // which expires
		source = s.Flags.tokens.Source(role, place)
	}
	client, err := github.New(github.Options{
		API: at.API, Token: source, UserAgent: "kalypso/" + s.Build.Version,
		ActionsToken: s.isWorkflowToken(origin), Sleep: s.Sleep, Now: s.Now, Limits: s.Timeouts, Notice: s.Progress.Phase,
		Transport: Transport(s.Host, s.Progress),
	})
	if err != nil {
		return Forge{}, cli.Usage("%w", err)
	}
	return Forge{Repo: client.Repository(at.Owner, at.Name), origin: origin}, nil
}

// isWorkflowToken reports whether a credential is the workflow token.
func (s *Session) isWorkflowToken(origin string) bool {
	return origin == "GITHUB_TOKEN" && s.Env("GITHUB_ACTIONS") == "true"
}

// AuthorOf is the default author of commits: the GitHub user of the credential of a forge. It depends on nothing else, so
// that the same output gives the same commit.
func (s *Session) AuthorOf(ctx context.Context, known Forge) (gitobject.Identity, error) {
	switch {
	case known.origin == credentials.AppOrigin:
		return s.Flags.tokens.Bot(ctx, known.Repo)
	case s.isWorkflowToken(known.origin):
		return github.ActionsBot(), nil
	default:
		return KalypsoItself(), nil
	}
}

// KalypsoItself is the author of commits without another author.
func KalypsoItself() gitobject.Identity {
	return gitobject.Identity{Name: "kalypso", Email: "kalypso@kalypso.invalid"}
}
