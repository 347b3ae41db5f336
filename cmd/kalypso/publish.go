package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// ruleLostRaces is a run that others overtook again and again.
const ruleLostRaces = "lost-races"

// ruleGitHubFailed is something that GitHub does not do.
const ruleGitHubFailed = "github-failed"

// ruleUnverified is the rule for sources that could not be listed again after a publication.
const ruleUnverified = "unverified-sources"

// ruleNoGitOpsRepo is an environment that says nowhere where its output goes.
const ruleNoGitOpsRepo = "no-gitops-repo"

const (
	// maxRaces is how often a run reads everything anew because it was overtaken.
	maxRaces = 5
	// maxOvertaken is how often it publishes and finds that something has moved meanwhile.
	maxOvertaken = 2
	// firstRacePause is about how long it waits before that; each further pause is twice as long.
	firstRacePause = time.Second
)

// publishing is what the command line says about publishing.
type publishing struct {
	branch string
	// recompile says that an environment is compiled even if nothing that it is made of has changed.
	recompile bool
	options   gitops.PublishOptions
	request   gitops.PullRequestOptions
}

// publish compiles the environments and publishes each of them. One that another run overtakes is
// compiled again, from reading.
func (s *session) publish(ctx context.Context, flags *renderOptions) error {
	if err := s.publishUntilNewest(ctx, flags); err != nil {
		return err
	}
	if err := s.finish(s.leftUnpublished()); err != nil {
		return err
	}
	if flags.exitCode && s.changed() {
		return &exitError{code: exitChanges}
	}
	return nil
}

// publishUntilNewest publishes until nobody has been faster. What kept an environment from being published is in its
// result.
func (s *session) publishUntilNewest(ctx context.Context, flags *renderOptions) error {
	options, err := flags.publishOptions()
	if err != nil {
		return err
	}
	s.quarantine.comparing = true
	opts := &publishing{branch: flags.branch, options: options, request: flags.request(), recompile: flags.mustRecompile(s.version)}
	pending := s.environments
	for race := 1; ; race++ {
		lost := s.publishAll(ctx, opts, pending)
		if ctx.Err() != nil {
			return s.stopped(ctx)
		}
		if pending = s.worthAnother(lost, race); len(pending) == 0 {
			break
		}
		pause := firstRacePause << (race - 1)
		if err := s.sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return s.stopped(ctx)
		}
		if err := s.reopen(ctx); err != nil {
			return err
		}
	}
	s.saveBodies(flags.saveBody)
	if flags.reportIssues {
		s.reportIssues(ctx)
	}
	return nil
}

// lostRace is an environment that must be read again, and why.
type lostRace struct {
	environment *model.Environment
	err         error
}

// worthAnother returns the environments to read again. Where repositories move all the time, one that was
// published is left to the next run: it is right for what it was made of. One that could not be published
// at all is an error in the end.
func (s *session) worthAnother(lost []lostRace, race int) (again []*model.Environment) {
	for _, l := range lost {
		switch overtaken := errors.Is(l.err, gitops.ErrOvertaken); {
		case overtaken && race >= maxOvertaken:
			result := s.result(l.environment)
			result.notes = append(result.notes, fmt.Sprintf("%v; the next run publishes what is new", l.err))
		case race >= maxRaces:
			s.lostRaces(l)
		default:
			again = append(again, l.environment)
		}
	}
	return again
}

// publishAll publishes environments, and returns those that must be read again.
func (s *session) publishAll(ctx context.Context, opts *publishing, environments []*model.Environment) (lost []lostRace) {
	s.begin("reading the GitOps branches")
	if s.destinations == nil {
		s.destinations = map[string][]*gitops.Destination{}
	}
	for _, environment := range environments { // all of them before anything that may be newer
		s.destinations[environment.Name.Value] = gitops.OpenDestinations(ctx, s.compiler.loader, environment, opts.branch)
	}
	for _, environment := range environments {
		if s.nothingNew(ctx, opts, environment) {
			continue
		}
		s.compile(ctx, environment, nil)
		if ctx.Err() != nil {
			return nil
		}
		result := s.result(environment)
		if result.diags.HasErrors() {
			continue
		}
		if err := s.publishResult(ctx, opts, result, s.destinations[environment.Name.Value]); err != nil {
			lost = append(lost, lostRace{environment, err})
		}
	}
	return lost
}

// publishResult publishes an environment to each of its destinations. The error, if there is one, wraps
// gitops.ErrMoved.
func (s *session) publishResult(ctx context.Context, opts *publishing, result *result, destinations []*gitops.Destination) (lost error) {
	if len(destinations) == 0 && len(result.fleet.GitOpsRepos) > 0 { // they could not be read when they were opened
		return fmt.Errorf("the GitOpsRepos of %s: %w", result.environment.Name.Value, gitops.ErrMoved)
	}
	if len(destinations) == 0 {
		result.diags.Error(ruleNoGitOpsRepo, result.environment.Name.At,
			fmt.Sprintf("Environment %q has no GitOpsRepo, so there is nowhere to publish it", result.environment.Name.Value),
			diag.Hint("add one to its branch, or write the output to a folder with --output-dir"))
		return nil
	}
	result.changes = nil
	for _, destination := range destinations {
		s.begin("publishing " + result.environment.Name.Value)
		err := s.publishTo(ctx, opts, result, destination)
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, gitops.ErrMoved):
			if lost == nil || errors.Is(lost, gitops.ErrOvertaken) { // one that is not published counts for more
				lost = err
			}
		default:
			result.report(destination, err)
		}
	}
	result.partly = len(destinations) > 1 && result.diags.HasErrors()
	return lost
}

// report adds the reason why an environment could not be published somewhere.
func (r *result) report(destination *gitops.Destination, err error) {
	rule, hint := causeOf(err)
	r.diags.Error(rule, destination.Repo.Repo.At, fmt.Sprintf("GitOpsRepo %q: %v", destination.Repo.Name.Value, err), diag.Hint(hint))
}

// causeOf returns the rule of what a remote did not do, and what can be done about it.
func causeOf(err error) (rule, hint string) {
	var known *gitops.Error
	var refused *github.Error
	switch {
	case errors.As(err, &known):
		return known.Rule, known.Hint
	case errors.As(err, &refused):
		return ruleGitHubFailed, refused.Hint
	default:
		return gitops.RuleRemoteFailed, ""
	}
}

// publishTo publishes an environment to one destination.
func (s *session) publishTo(ctx context.Context, opts *publishing, result *result, destination *gitops.Destination) error {
	if len(destination.Diags) > 0 {
		result.diags.Add(destination.Diags)
		return nil
	}
	output := gitops.ReadOutput(ctx, s.reader, destination.Repo)
	if output.Tree == nil && !output.New {
		result.diags.Add(output.Diags)
		return nil
	}
	change, err := gitops.Compare(ctx, output.Tree, result.tree)
	if err != nil {
		return err
	}
	publication, err := s.publication(ctx, opts, result, destination)
	if err != nil {
		return err
	}
	publication.Output, publication.Tree = output, result.tree
	publication.Change, publication.Report.Change = change, change
	if !change.Empty() { // else there is nothing to tell
		if publication.Report.Before, err = destination.LastPublished(ctx, result.environment.Name.Value); err != nil {
			return err
		}
	}
	published, err := publication.Publish(ctx)
	if published.Unverified != "" {
		s.diags.Warning(ruleUnverified, destination.Repo.Repo.At, fmt.Sprintf(
			"GitOpsRepo %q: published, but cannot determine whether its sources have changed since: %s", destination.Repo.Name.Value, published.Unverified),
			diag.Hint("if they have, the next run publishes the change"))
	}
	shown := newChangeResult(change, output)
	shown.report = &publication.Report
	shown.Published = newPublishedResult(destination, s.continued(result.environment.Name.Value, destination, published))
	result.changes = append(result.changes, shown)
	s.listed = true
	return err
}

// publication prepares what does not depend on the difference.
func (s *session) publication(ctx context.Context, opts *publishing, result *result, destination *gitops.Destination) (*gitops.Publication, error) {
	origins, dates := s.compiler.loader.Origins(result.fleet)
	p := &gitops.Publication{
		Destination: destination, Dates: dates, PublishOptions: opts.options, Request: opts.request,
		Report: s.report(result, origins),
	}
	p.UsualAuthor = func(ctx context.Context) (gitops.Identity, error) { return s.usualAuthor(ctx, destination) }
	forge, note, err := s.forge(ctx, destination)
	if err != nil {
		return nil, err
	}
	if forge != nil {
		p.Forge = forge
	}
	p.NoForge = note
	return p, nil
}

// continued adds what earlier tries of this run have done at a destination.
func (s *session) continued(environment string, destination *gitops.Destination, published gitops.Published) gitops.Published {
	key := strings.Join([]string{environment, destination.Repo.Name.Value, destination.At, destination.Head}, "\n")
	if before, tried := s.publishedBefore[key]; tried {
		published = published.After(before)
	}
	if s.publishedBefore == nil {
		s.publishedBefore = map[string]gitops.Published{}
	}
	s.publishedBefore[key] = published
	return published
}

// lostRaces reports an environment that could not be published because others always came first.
func (s *session) lostRaces(l lostRace) {
	s.result(l.environment).diags.Error(ruleLostRaces, l.environment.Name.At,
		fmt.Sprintf("Environment %q was overtaken %d times while it was compiled: %v", l.environment.Name.Value, maxRaces, l.err),
		diag.Hint("what is published now is somebody's newer output; run again if it is not the newest"))
}

// leftUnpublished says what was published before something went wrong.
func (s *session) leftUnpublished() string {
	failed := slices.ContainsFunc(s.results, func(r *result) bool { return r.diags.HasErrors() })
	switch {
	case failed && (len(s.pushed()) > 0 || s.pushedEarlier()):
		return "not everything was published"
	case failed || len(s.results) == 0:
		return "nothing was published"
	default:
		return "" // all of it was, or is
	}
}

// pushedEarlier reports whether an earlier attempt of this run pushed a commit.
func (s *session) pushedEarlier() bool {
	for _, published := range s.publishedBefore {
		if published.Pushed {
			return true
		}
	}
	return false
}

// pushed is what was pushed in this run.
func (s *session) pushed() []*publishedResult {
	var pushed []*publishedResult
	for _, result := range s.results {
		for _, change := range result.changes {
			if change.Published != nil && change.Published.Pushed {
				pushed = append(pushed, change.Published)
			}
		}
	}
	return pushed
}
