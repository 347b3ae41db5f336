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
}

// forge returns the GitHub repository of a destination.
func (s *session) forge(ctx context.Context, destination *gitops.Destination) (repo *github.Repository, note string, err error) {
	key := destination.At + "\n" + destination.Head
	known, found := s.forges[key]
	if !found {
		if known.repo, known.note, err = s.newForge(ctx, destination); err != nil {
			return nil, "", err
		}
		if s.forges == nil {
			s.forges = map[string]forge{}
		}
		s.forges[key] = known
	}
	return known.repo, known.note, nil
}

func (s *session) newForge(ctx context.Context, destination *gitops.Destination) (repo *github.Repository, note string, err error) {
	server := github.Server{URL: s.env("GITHUB_SERVER_URL"), API: s.env("GITHUB_API_URL"), GraphQL: s.env("GITHUB_GRAPHQL_URL")}
	at, found := server.Locate(destination.At)
	if !found {
		return nil, "", nil
	}
	token, origin := s.reader.Credential(ctx, model.Output, destination.At)
	if token == "" {
		return nil, fmt.Sprintf("there is no token to open a pull request with: set KALYPSO_GITOPS_TOKEN or GITHUB_TOKEN, or open it at %s/compare/%s...%s",
			destination.At, destination.Branch, destination.Head), nil
	}
	client, err := github.New(github.Options{
		API: at.API, GraphQL: at.GraphQL, Token: github.StaticToken(token), UserAgent: "kalypso/" + s.version,
		ActionsToken: origin == "GITHUB_TOKEN" && s.env("GITHUB_ACTIONS") == "true", Sleep: s.sleep, Notice: s.notice,
	})
	if err != nil {
		return nil, "", &exitError{exitUsage, err}
	}
	return client.Repository(at.Owner, at.Name), "", nil
}

// notice tells people why nothing happens for a while.
func (s *session) notice(line string) { s.progress.phase(line) }

// usualAuthor is the author of commits if the command line names none.
func (s *session) usualAuthor() gitops.Identity {
	return gitops.Identity{Name: "kalypso", Email: "kalypso@kalypso.invalid"}
}
