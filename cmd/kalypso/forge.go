package main

import (
	"context"
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// forge is the GitHub repository that a GitOps repository is; nil if it is none, or if there is no token
// for it: then the note says what to do by hand.
type forge struct {
	repo *github.Repository
	note string
	// origin says where the credential is from; see gitops.Reader.Credential.
	origin string
	// err is why it could not be asked; it is not asked again.
	err error
}

// forge returns the GitHub repository of a destination.
func (s *session) forge(ctx context.Context, destination *gitops.Destination) (repo *github.Repository, note string, err error) {
	known, err := s.knownForge(ctx, destination)
	return known.repo, known.note, err
}

func (s *session) knownForge(ctx context.Context, destination *gitops.Destination) (known forge, err error) {
	key := forgeKey(destination)
	known, found := s.forges[key]
	if !found {
		if known, err = s.newForge(ctx, destination); err != nil {
			return forge{}, err
		}
		if s.forges == nil {
			s.forges = map[string]forge{}
		}
		s.forges[key] = known
	}
	return known, known.err
}

func forgeKey(destination *gitops.Destination) string {
	return destination.At + "\n" + destination.Head
}

// openPulls lists what is open into the branch of a destination. GitHub has been asked patiently if that is an
// error, so whatever needs it later is told the same.
func (s *session) openPulls(ctx context.Context, destination *gitops.Destination, repo *github.Repository) ([]gitops.PullRequest, error) {
	open, err := repo.Open(ctx, destination.Branch)
	if err != nil {
		known := s.forges[forgeKey(destination)]
		known.err = err
		s.forges[forgeKey(destination)] = known
	}
	return open, err
}

func (s *session) newForge(ctx context.Context, destination *gitops.Destination) (forge, error) {
	known, err := s.connectForge(ctx, model.Output, destination.At)
	if err == nil && known.repo == nil && known.note != "" {
		known.note = fmt.Sprintf("there is no token to open a pull request with: set KALYPSO_GITOPS_TOKEN or GITHUB_TOKEN, or open it at %s/compare/%s...%s",
			destination.At, destination.Branch, destination.Head)
	}
	return known, err
}

// connectForge returns the GitHub repository that is at a place, in normal form. The note says why there is none
// although it is on GitHub.
func (s *session) connectForge(ctx context.Context, role model.Role, place string) (forge, error) {
	at, found := gitHubServer(s.edges).Locate(place)
	if !found {
		return forge{}, nil
	}
	token, origin, err := s.reader.Credential(ctx, role, place)
	if err != nil {
		return forge{}, err
	}
	if token == "" {
		return forge{note: "there is no token for " + place}, nil
	}
	var source github.TokenSource = github.StaticToken(token)
	if origin == gitops.AppOrigin { // which ends
		source = s.flags.tokens.Source(role, place)
	}
	client, err := github.New(github.Options{
		API: at.API, GraphQL: at.GraphQL, Token: source, UserAgent: "kalypso/" + s.version,
		ActionsToken: s.isWorkflowToken(origin), Sleep: s.sleep, Now: s.now, Limits: s.patience, Notice: s.notice,
	})
	if err != nil {
		return forge{}, &exitError{exitUsage, err}
	}
	return forge{repo: client.Repository(at.Owner, at.Name), origin: origin}, nil
}

// isWorkflowToken tells whether a credential is the token that a workflow is given.
func (s *session) isWorkflowToken(origin string) bool {
	return origin == "GITHUB_TOKEN" && s.env("GITHUB_ACTIONS") == "true"
}

// notice tells people why nothing happens for a while.
func (s *session) notice(line string) { s.progress.phase(line) }

// usualAuthor is the author of commits for a destination if the command line names none: whoever GitHub knows the
// credential as. It depends on nothing else, so that the same output is the same commit.
func (s *session) usualAuthor(ctx context.Context, destination *gitops.Destination) (gitops.Identity, error) {
	known, err := s.knownForge(ctx, destination)
	if err != nil {
		return gitops.Identity{}, err
	}
	return s.authorOf(ctx, known)
}

// authorOf is whoever GitHub knows the credential of a forge as.
func (s *session) authorOf(ctx context.Context, known forge) (gitops.Identity, error) {
	switch {
	case known.origin == gitops.AppOrigin:
		return s.flags.tokens.Bot(ctx, known.repo)
	case s.isWorkflowToken(known.origin):
		return github.ActionsBot(), nil
	default:
		return kalypsoItself(), nil
	}
}
