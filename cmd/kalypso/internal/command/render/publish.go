package render

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// ruleUnverified is the rule for sources that could not be listed again after a publication.
const ruleUnverified = "unverified-sources"

// RuleNoGitOpsRepo is an environment that says nowhere where its output goes.
const RuleNoGitOpsRepo = "no-gitops-repo"

const (
	// MaxRaces is how often a run reads everything anew because it was overtaken.
	MaxRaces = 5
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

// Publisher is a run that publishes, or shows what it would publish.
type Publisher struct {
	*session.Session
	// before is what earlier tries have published, by destination.
	before map[string]gitops.Published
}

// publish compiles the environments and publishes each of them. One that another run overtakes is
// compiled again, from reading.
func (s *Publisher) publish(ctx context.Context, flags *Options) error {
	if err := s.PublishUntilNewest(ctx, flags); err != nil {
		return err
	}
	if err := s.Finish(s.LeftUnpublished()); err != nil {
		return err
	}
	if flags.exitCode && s.Changed() {
		return cli.ExitWith(cli.ExitChanges)
	}
	return nil
}

// PublishUntilNewest publishes until nobody has been faster. What kept an environment from being published is in its
// result.
func (s *Publisher) PublishUntilNewest(ctx context.Context, flags *Options) error {
	options, err := flags.PublishOptions()
	if err != nil {
		return err
	}
	s.Quarantine.Comparing = true
	opts := &publishing{branch: flags.branch, options: options, request: flags.Request(), recompile: flags.mustRecompile(s.Build.Version)}
	pending := s.Environments
	for race := 1; ; race++ {
		lost := s.publishAll(ctx, opts, pending)
		if ctx.Err() != nil {
			return s.Stopped(ctx)
		}
		if pending = s.worthAnother(lost, race); len(pending) == 0 {
			break
		}
		if err := s.Sleep(ctx, RacePause(race)); err != nil {
			return s.Stopped(ctx)
		}
		if err := s.Reopen(ctx); err != nil {
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
func (s *Publisher) worthAnother(lost []lostRace, race int) (again []*model.Environment) {
	for _, l := range lost {
		switch overtaken := errors.Is(l.err, remote.ErrOvertaken); {
		case overtaken && race >= maxOvertaken:
			result := s.Result(l.environment)
			result.Notes = append(result.Notes, fmt.Sprintf("%v; the next run publishes what is new", l.err))
		case race >= MaxRaces:
			s.lostRaces(l)
		default:
			again = append(again, l.environment)
		}
	}
	return again
}

// publishAll publishes environments, and returns those that must be read again.
func (s *Publisher) publishAll(ctx context.Context, opts *publishing, environments []*model.Environment) (lost []lostRace) {
	s.Begin("reading the GitOps branches")
	if s.Destinations == nil {
		s.Destinations = map[string][]*gitops.Destination{}
	}
	for _, environment := range environments { // all of them before anything that may be newer
		s.Destinations[environment.Name.Value] = gitops.OpenDestinations(ctx, s.Loader, environment, opts.branch)
	}
	for _, environment := range environments {
		if s.nothingNew(ctx, opts, environment) {
			continue
		}
		s.Compile(ctx, environment, nil)
		if ctx.Err() != nil {
			return nil
		}
		result := s.Result(environment)
		if result.Diags.HasErrors() {
			continue
		}
		if err := s.publishResult(ctx, opts, result, s.Destinations[environment.Name.Value]); err != nil {
			lost = append(lost, lostRace{environment, err})
		}
	}
	return lost
}

// publishResult publishes an environment to each of its destinations. The error, if there is one, wraps
// remote.ErrMoved.
func (s *Publisher) publishResult(ctx context.Context, opts *publishing, result *session.Result, destinations []*gitops.Destination) (lost error) {
	if len(destinations) == 0 && len(result.Fleet.GitOpsRepos) > 0 { // they could not be read when they were opened
		return fmt.Errorf("the GitOpsRepos of %s: %w", result.Environment.Name.Value, remote.ErrMoved)
	}
	if len(destinations) == 0 {
		result.Diags.Error(RuleNoGitOpsRepo, result.Environment.Name.At,
			fmt.Sprintf("Environment %q has no GitOpsRepo, so there is nowhere to publish it", result.Environment.Name.Value),
			diag.Hint("add one to its branch, or write the output to a folder with --output-dir"))
		return nil
	}
	result.Changes = nil
	for _, destination := range destinations {
		s.Begin("publishing " + result.Environment.Name.Value)
		err := s.publishTo(ctx, opts, result, destination)
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, remote.ErrMoved):
			if lost == nil || errors.Is(lost, remote.ErrOvertaken) { // one that is not published counts for more
				lost = err
			}
		default:
			result.Report(destination, err)
		}
	}
	result.Partly = len(destinations) > 1 && result.Diags.HasErrors()
	return lost
}

// publishTo publishes an environment to one destination.
func (s *Publisher) publishTo(ctx context.Context, opts *publishing, result *session.Result, destination *gitops.Destination) error {
	if len(destination.Diags) > 0 {
		result.Diags.Add(destination.Diags)
		return nil
	}
	output := gitops.ReadOutput(ctx, s.Reader, destination.Repo)
	if output.Tree == nil && !output.New {
		result.Diags.Add(output.Diags)
		return nil
	}
	change, err := change.Compare(ctx, output.Tree, result.Tree)
	if err != nil {
		return err
	}
	publication, err := s.publication(ctx, opts, result, destination)
	if err != nil {
		return err
	}
	publication.Output, publication.Tree = output, result.Tree
	publication.Change, publication.Report.Change = change, change
	if !change.Empty() { // else there is nothing to tell
		if publication.Report.Before, err = destination.LastPublished(ctx, result.Environment.Name.Value); err != nil {
			return err
		}
	}
	published, err := publication.Publish(ctx)
	if published.Unverified != "" {
		s.Diags.Warning(ruleUnverified, destination.Repo.Repo.At, fmt.Sprintf(
			"GitOpsRepo %q: published, but cannot determine whether its sources have changed since: %s", destination.Repo.Name.Value, published.Unverified),
			diag.Hint("if they have, the next run publishes the change"))
	}
	shown := session.NewChangeResult(change, output)
	shown.Report = &publication.Report
	shown.Published = session.NewPublishedResult(destination, s.continued(result.Environment.Name.Value, destination, published))
	result.Changes = append(result.Changes, shown)
	s.Listed = true
	return err
}

// publication prepares what does not depend on the difference.
func (s *Publisher) publication(ctx context.Context, opts *publishing, result *session.Result, destination *gitops.Destination) (*gitops.Publication, error) {
	origins, dates := s.Loader.Origins(result.Fleet)
	p := &gitops.Publication{
		Destination: destination, Dates: dates, PublishOptions: opts.options, Request: opts.request,
		Report: s.report(result, origins),
	}
	p.UsualAuthor = func(ctx context.Context) (gitobject.Identity, error) { return s.UsualAuthor(ctx, destination) }
	forge, note, err := s.Forge(ctx, destination)
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
func (s *Publisher) continued(environment string, destination *gitops.Destination, published gitops.Published) gitops.Published {
	key := strings.Join([]string{environment, destination.Repo.Name.Value, destination.At, destination.Head}, "\n")
	if before, tried := s.before[key]; tried {
		published = published.After(before)
	}
	if s.before == nil {
		s.before = map[string]gitops.Published{}
	}
	s.before[key] = published
	return published
}

// lostRaces reports an environment that could not be published because others always came first.
func (s *Publisher) lostRaces(l lostRace) {
	s.Result(l.environment).Diags.Error(session.RuleLostRaces, l.environment.Name.At,
		fmt.Sprintf("Environment %q was overtaken %d times while it was compiled: %v", l.environment.Name.Value, MaxRaces, l.err),
		diag.Hint("what is published now is somebody's newer output; run again if it is not the newest"))
}

// LeftUnpublished says what was published before something went wrong.
func (s *Publisher) LeftUnpublished() string {
	failed := slices.ContainsFunc(s.Results, func(r *session.Result) bool { return r.Diags.HasErrors() })
	switch {
	case failed && (len(s.Pushed()) > 0 || s.pushedEarlier()):
		return "not everything was published"
	case failed || len(s.Results) == 0:
		return "nothing was published"
	default:
		return "" // all of it was, or is
	}
}

// pushedEarlier reports whether an earlier attempt of this run pushed a commit.
func (s *Publisher) pushedEarlier() bool {
	for _, published := range s.before {
		if published.Pushed {
			return true
		}
	}
	return false
}

// report is what a publication of a result says, but for the change.
func (s *Publisher) report(result *session.Result, origins []source.Origin) gitops.Report {
	name := result.Environment.Name.Value
	report := gitops.Report{Environment: name, Held: result.Held.Registrations, Now: gitops.Provenance{
		Version: s.Build.Version, Environment: name, Origins: append(origins, result.Held.Origins...),
	}}
	for _, d := range result.Diags {
		if d.Severity == diag.Warning {
			report.Warnings = append(report.Warnings, d)
		}
	}
	return report
}

// RacePause is how long a run that was overtaken so often waits before it reads everything anew.
func RacePause(race int) time.Duration {
	pause := firstRacePause << (race - 1)
	return pause/2 + rand.N(pause)
}
