package render

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
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
	flags     *PublishFlags
}

// Publisher is a run that publishes, or shows what it would publish.
type Publisher struct {
	*session.Session
	// before is what earlier tries have published, by destination.
	before map[string]gitops.Published
}

// PublishUntilNewest publishes until nobody has been faster. What kept an environment from being published is in its
// result.
func (s *Publisher) PublishUntilNewest(ctx context.Context, flags *Options) error {
	options, err := flags.PublishOptions()
	if err != nil {
		return err
	}
	s.Quarantine.Comparing = true
	opts := &publishing{branch: flags.branch, options: options, flags: flags.PublishFlags, recompile: flags.mustRecompile(s.Build.Version)}
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
		switch overtaken := errors.Is(l.err, giterror.ErrSuperseded); {
		case overtaken && race >= maxOvertaken:
			result := s.Result(l.environment)
			result.Notes = append(result.Notes, fmt.Sprintf("%v; the next run publishes the changes", l.err))
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
		platform, _ := s.Loader.Platform(ctx, environment)
		opts.flags.expectTeams(platform)
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
		s.RefuseWarnings(result)
		if !result.Diags.HasErrors() {
			lost = append(lost, s.publishResult(ctx, opts, result)...)
		}
	}
	return lost
}

// publishResult publishes an environment to each of its destinations. It returns the environment, with an error that wraps
// giterror.ErrConflict, if it must be read again.
func (s *Publisher) publishResult(ctx context.Context, opts *publishing, result *session.Result) (lost []lostRace) {
	name, destinations := result.Environment.Name.Value, s.Destinations[result.Environment.Name.Value]
	if len(destinations) == 0 && len(result.Fleet.GitOpsRepos) > 0 { // they could not be read when they were opened
		return []lostRace{{result.Environment, fmt.Errorf("the GitOpsRepos of %s: %w", name, giterror.ErrConflict)}}
	}
	if len(destinations) == 0 {
		result.Diags.Error(RuleNoGitOpsRepo, result.Environment.Name.At, fmt.Sprintf("Environment %q has no GitOpsRepo, so its output cannot be published", name),
			diag.Hint("add one to its branch, or write the output to a directory with --output-dir"))
		return nil
	}
	result.Changes = nil
	published := func(destination *gitops.Destination, output gitops.Output, diff *change.Change, err error) {
		if err == nil {
			err = s.publishTo(ctx, opts, result, destination, output, diff)
		}
		switch {
		case err == nil, ctx.Err() != nil:
		case !errors.Is(err, giterror.ErrConflict):
			result.Report(destination, err)
		case lost == nil || errors.Is(lost[0].err, giterror.ErrSuperseded): // one that is not published counts for more
			lost = []lostRace{{result.Environment, err}}
		}
	}
	s.Line(ctx, result.Environment, session.Stages{Compiled: result.Compiled, Outputs: s.outputs(ctx, result), Publish: published})
	result.Partly = len(destinations) > 1 && result.Diags.HasErrors()
	return lost
}

// outputs reads what is published of an environment at each of its destinations. What cannot be read is reported.
func (s *Publisher) outputs(ctx context.Context, result *session.Result) iter.Seq2[*gitops.Destination, gitops.Output] {
	return func(yield func(*gitops.Destination, gitops.Output) bool) {
		for _, destination := range s.Destinations[result.Environment.Name.Value] {
			s.Begin("publishing " + result.Environment.Name.Value)
			if len(destination.Diags) > 0 {
				result.Diags.Add(destination.Diags)
				continue
			}
			output := gitops.ReadOutput(ctx, s.Reader, destination.Repo)
			if output.Tree == nil && !output.New {
				result.Diags.Add(output.Diags)
			} else if !yield(destination, output) {
				return
			}
		}
	}
}

// publishTo publishes a change of an environment to one destination.
func (s *Publisher) publishTo(ctx context.Context, opts *publishing, result *session.Result, destination *gitops.Destination, output gitops.Output, diff *change.Change) error {
	name := result.Environment.Name.Value
	settings := destination.Repo.Publishing
	if unsigned := settings.Commit.Unsigned(opts.options.Key != nil, false); !diff.Empty() && unsigned.HasErrors() {
		result.Diags.Add(unsigned)
		return nil
	}
	forge, err := s.Forge(ctx, destination)
	if err != nil {
		return err
	}
	publication := &gitops.Publication{
		Destination: destination, Output: output, Tree: result.Tree, Change: diff, Report: s.report(result, output.Repo, diff),
		PublishOptions: opts.options, Request: opts.flags.Request(settings.PullRequest), NoForge: forge.Note,
	}
	publication.Author = opts.flags.Author(settings.Commit)
	publication.UsualAuthor = func(ctx context.Context) (gitobject.Identity, error) { return s.AuthorOf(ctx, forge) }
	_, publication.Dates = s.Loader.Origins(result.Fleet)
	if forge.Repo != nil {
		publication.Forge = forge.Repo
	}
	if !diff.Empty() { // else there is nothing to tell
		if publication.Report.Before, err = destination.LastPublished(ctx, name); err != nil {
			return err
		}
	}
	published, err := publication.Publish(ctx)
	if published.Unverified != "" {
		s.Diags.Warning(ruleUnverified, destination.Repo.Repo.At, fmt.Sprintf(
			"GitOpsRepo %q: published, but cannot determine whether its sources have changed since: %s", destination.Repo.Name.Value, published.Unverified),
			diag.Hint("if they have, the next run publishes the change"))
	}
	shown := session.NewChangeResult(diff, output)
	shown.Report = &publication.Report
	shown.Published = session.NewPublishedResult(destination, s.continued(name, destination, published))
	result.Changes = append(result.Changes, shown)
	s.Listed = true
	return err
}

// report is what a publication of a result says. repo is nil if there is no GitOpsRepo.
func (s *Publisher) report(result *session.Result, repo *model.GitOpsRepo, diff *change.Change) message.Report {
	name := result.Environment.Name.Value
	origins, _ := s.Loader.Origins(result.Fleet)
	report := message.Report{
		Environment: name, Change: diff, Quarantined: result.Held.Registrations, Warnings: result.Diags.Only(diag.Warning),
		Now: message.Provenance{Version: s.Build.Version, Environment: name, Origins: append(origins, result.Held.Origins...)},
	}
	if repo != nil {
		report.Title = repo.Publishing.PullRequest.Title.Value
	}
	return report
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
		fmt.Sprintf("Environment %q was updated concurrently %d times while it was compiled: %v", l.environment.Name.Value, MaxRaces, l.err),
		diag.Hint("another run published newer output; run again if that is not the latest state"))
}

// LeftUnpublished says what was published before something went wrong.
func (s *Publisher) LeftUnpublished() string {
	pushed := len(s.Pushed()) > 0
	for _, published := range s.before { // an earlier attempt of this run may have
		pushed = pushed || published.Pushed
	}
	failed := slices.ContainsFunc(s.Results, func(r *session.Result) bool { return r.Diags.HasErrors() })
	switch {
	case failed && pushed:
		return "not everything was published"
	case failed || len(s.Results) == 0:
		return "nothing was published"
	default:
		return "" // all of it was, or is
	}
}

// RacePause is how long a run that was overtaken so often waits before it reads everything anew.
func RacePause(race int) time.Duration {
	pause := firstRacePause << (race - 1)
	return pause/2 + rand.N(pause)
}

// saveBodies writes what the pull requests of the run say, or would say, to a file: the title as a
// heading, and the body. It does nothing if no file is named.
func (s *Publisher) saveBodies(path string) {
	if path == "" {
		return
	}
	var bodies []string
	for _, result := range s.Results {
		for _, diff := range result.Changes {
			if diff.Report != nil && !diff.Change.Empty() {
				bodies = append(bodies, "# "+message.PullRequestTitle(*diff.Report)+"\n\n"+
					message.PullRequestBody(*diff.Report, pullrequest.MaxBody))
			}
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(bodies, "\n\n")), 0o644); err != nil {
		s.Diags.Error(session.RuleSaveBody, diag.Place{}, fmt.Sprintf("--save-body: %v", err))
	}
}
