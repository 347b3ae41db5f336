package gitops

import (
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Latest is the newest output of ours for a destination, which has not been changed since.
type Latest struct {
	message.Provenance
	Commit string
	// Tree is the id of its tree.
	Tree string
	// Plan is what the commit says that it changed; zero if that is not known.
	Plan change.Plan
	// Proposed says that it is on the deployment branch, ready to be merged. Otherwise it is what is
	// published.
	Proposed bool
}

// Latest finds out what was made last for a destination, from commits alone. It is nil if that is not
// sure: the branches hold something else, or nothing of ours.
func (d *Destination) Latest(ctx context.Context) (*Latest, error) {
	if d.repo == nil || d.onto().IsZero() {
		return nil, nil
	}
	if tip := d.tips[d.Head]; !tip.IsZero() {
		found, err := d.repo.Recent(ctx, tip, 1)
		if err != nil {
			return nil, d.reader.Clean(err)
		}
		commit := found[tip]
		if made, ours := message.ParseTrailers(commit.Message); ours && slices.Equal(commit.Parents, []plumbing.Hash{d.onto()}) {
			return newLatest(made, tip, commit, true), nil
		}
	}
	found, err := d.repo.Recent(ctx, d.onto(), 2)
	if err != nil {
		return nil, d.reader.Clean(err)
	}
	published := found[d.onto()]
	for _, id := range append([]plumbing.Hash{d.onto()}, published.Parents...) {
		commit, known := found[id]
		if made, ours := message.ParseTrailers(commit.Message); known && ours && commit.Tree == published.Tree {
			return newLatest(made, id, commit, false), nil
		}
	}
	return nil, nil
}

// Settled reports, from the open pull requests into a destination's branch, whether nothing is left to be done
// for its latest output: one is open for what is proposed, and has all that options ask for; none of kalypso's is open
// where all is published. A run may have been stopped between any two of its requests, so all of them leave traces that
// are looked for here. It returns the open one.
func (d *Destination) Settled(latest Latest, options pullrequest.Options, open []pullrequest.Request) (current *pullrequest.Request, ok bool) {
	return pullrequest.Settled(pullrequest.Submission{
		Environment: latest.Environment, Path: giturl.CleanPath(d.Repo.Path.Value), Head: d.Head,
		HeadCommit: latest.Commit, Tree: latest.Tree, Options: options,
	}, latest.Proposed, open)
}

func newLatest(made message.Provenance, id plumbing.Hash, commit gitobject.CommitObject, proposed bool) *Latest {
	_, body, _ := strings.Cut(commit.Message, "\n\n")
	line, _, _ := strings.Cut(body, "\n")
	plan, _ := change.ParsePlan(line)
	return &Latest{made, id.String(), commit.Tree.String(), plan, proposed}
}

// SourcesUnchanged reports whether an environment would be compiled from just what all of some outputs were made of. What cannot
// be found out counts as changed.
func SourcesUnchanged(ctx context.Context, l *source.Loader, environment *model.Environment, made ...message.Provenance) bool {
	now, known := l.CurrentOrigins(ctx, environment)
	differs := func(p message.Provenance) bool {
		return p.Environment != environment.Name.Value || !slices.Equal(now, source.SortedOrigins(p.CompiledFrom()))
	}
	return known && !slices.ContainsFunc(now, func(o source.Origin) bool { return o.Commit == "" }) && !slices.ContainsFunc(made, differs)
}
