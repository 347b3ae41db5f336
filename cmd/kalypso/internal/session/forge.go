package session

import (
	"context"
	"fmt"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Forge is the GitHub repository that a GitOps repository is; nil if it is none, or if there is no token
// for it: then the note says what to do by hand.
type Forge struct {
	Repo *github.Repository
	Note string
	// origin says where the credential is from; see gitops.Reader.Credential.
	origin string
	// err is why it could not be asked; it is not asked again.
	err error
}

// Forge returns the GitHub repository of a destination.
func (s *Session) Forge(ctx context.Context, destination *gitops.Destination) (repo *github.Repository, note string, err error) {
	known, err := s.knownForge(ctx, destination)
	return known.Repo, known.Note, err
}

func (s *Session) knownForge(ctx context.Context, destination *gitops.Destination) (known Forge, err error) {
	key := forgeKey(destination)
	known, found := s.forges[key]
	if !found {
		if known, err = s.newForge(ctx, destination); err != nil {
			return Forge{}, err
		}
		if s.forges == nil {
			s.forges = map[string]Forge{}
		}
		s.forges[key] = known
	}
	return known, known.err
}

func forgeKey(destination *gitops.Destination) string {
	return destination.At + "\n" + destination.Head
}

// OpenPulls lists what is open into the branch of a destination. GitHub has been asked patiently if that is an
// error, so whatever needs it later gets the same answer.
func (s *Session) OpenPulls(ctx context.Context, destination *gitops.Destination, repo *github.Repository) ([]gitops.PullRequest, error) {
	open, err := repo.Open(ctx, destination.Branch)
	if err != nil {
		known := s.forges[forgeKey(destination)]
		known.err = err
		s.forges[forgeKey(destination)] = known
	}
	return open, err
}

func (s *Session) newForge(ctx context.Context, destination *gitops.Destination) (Forge, error) {
	known, err := s.ConnectForge(ctx, model.Output, destination.At)
	if err == nil && known.Repo == nil && known.Note != "" {
		known.Note = fmt.Sprintf("there is no token to open a pull request with: set KALYPSO_GITOPS_TOKEN or GITHUB_TOKEN, or open it at %s/compare/%s...%s",
			destination.At, destination.Branch, destination.Head)
	}
	return known, err
}

// ConnectForge returns the GitHub repository that is at a place, in normal form. The note says why there is none
// although it is on GitHub.
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
		return Forge{Note: "there is no token for " + place}, nil
	}
	var source github.TokenSource = github.StaticToken(token)
	if origin == credentials.AppOrigin { // which ends
		source = s.Flags.tokens.Source(role, place)
	}
	client, err := github.New(github.Options{
		API: at.API, Token: source, UserAgent: "kalypso/" + s.Build.Version,
		ActionsToken: s.isWorkflowToken(origin), Sleep: s.Sleep, Now: s.Now, Limits: s.Timeouts, Notice: s.notice,
	})
	if err != nil {
		return Forge{}, cli.Usage("%w", err)
	}
	return Forge{Repo: client.Repository(at.Owner, at.Name), origin: origin}, nil
}

// isWorkflowToken reports whether a credential is the token that a workflow is given.
func (s *Session) isWorkflowToken(origin string) bool {
	return origin == "GITHUB_TOKEN" && s.Env("GITHUB_ACTIONS") == "true"
}

// notice tells people why nothing happens for a while.
func (s *Session) notice(line string) { s.Progress.Phase(line) }

// UsualAuthor is the author of commits for a destination if the command line names none: whoever GitHub knows the
// credential as. It depends on nothing else, so that the same output is the same commit.
func (s *Session) UsualAuthor(ctx context.Context, destination *gitops.Destination) (gitobject.Identity, error) {
	known, err := s.knownForge(ctx, destination)
	if err != nil {
		return gitobject.Identity{}, err
	}
	return s.AuthorOf(ctx, known)
}

// AuthorOf is whoever GitHub knows the credential of a forge as.
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

// KalypsoItself is who commits what nobody is named for.
func KalypsoItself() gitobject.Identity {
	return gitobject.Identity{Name: "kalypso", Email: "kalypso@kalypso.invalid"}
}
