package promotion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// promotionRun is a run that promotes.
type promotionRun struct {
	*session.Session
	opts     *promoteFlags
	chain    *promote.Chain
	promoter *promote.Promoter
	// forge is the control plane on GitHub; it has no repo if it is not there.
	forge session.Forge
	// outcomes are the results of the promotions, one for each environment.
	outcomes []promote.Outcome
	// checked is the result of a check; nil if nothing was checked.
	checked *Checked
	// publisher publishes what was promoted.
	publisher *render.Publisher
	// unread says that the control plane could not be read again, so that nothing more can be promoted.
	unread bool
}

// runPromotion opens the control plane and runs do with what promotes.
func runPromotion(ctx context.Context, e *cli.Host, fleet *session.Flags, opts *promoteFlags, do func(context.Context, *promotionRun) error) error {
	fleet.Permissions, fleet.Publishes, fleet.Purpose = opts.permissions, true, "promoted"
	if _, err := opts.PublishOptions(); err != nil { // before anything is read
		return err
	}
	return session.Run(ctx, fleet, e, false, func(ctx context.Context, s *session.Session) error {
		s.Quarantine.KeepLastGood = opts.keepLastGood
		run := &promotionRun{Session: s, opts: opts, publisher: &render.Publisher{Session: s}}
		s.View = session.View{Structured: run.structured, Text: run.text, Actions: run.summarize}
		if err := run.prepare(ctx); err != nil {
			return run.fail(err)
		}
		return do(ctx, run)
	})
}

// errReported is an error that is already in the diagnostics of the run.
var errReported = errors.New("the control plane cannot be read")

// prepare makes what promotes, from the control plane as it was read.
func (r *promotionRun) prepare(ctx context.Context) (err error) {
	chain, diags := promote.NewChain(r.Known)
	r.Diags.Add(diags)
	if diags.HasErrors() {
		return errReported
	}
	if r.opts.nextGiven && len(r.Environments) == 1 {
		of := r.Environments[0].Name.Value
		if chain, err = chain.With(of, r.opts.next); err != nil {
			return cli.Usage("the environments after %s: %w", of, err)
		}
	}
	place, err := r.Reader.Where(r.Loader.Main().Ref)
	if err != nil {
		return err
	}
	if r.forge.Repo == nil {
		if r.forge, err = r.ConnectForge(ctx, model.Main, place); err != nil {
			return err
		}
	}
	r.chain = chain
	r.promoter = &promote.Promoter{
		Reader: r.Reader, Loader: r.Loader, Chain: chain, Version: r.Build.Version,
		Reporting: promote.Reporting{NoStatuses: cmp.Or(r.forge.Note, place+" is not on GitHub"), TargetURL: r.opts.pageOfRun(r.Env)},
	}
	if r.forge.Repo != nil {
		r.promoter.Statuses, r.promoter.Ancestry = promote.TrustStatuses(r.forge.Repo, r.Known), r.forge.Repo
	}
	return nil
}

// fail ends a run that cannot continue.
func (r *promotionRun) fail(err error) error {
	if !errors.Is(err, errReported) {
		if err := r.Fail(diag.Place{}, err); err != nil {
			return err
		}
	}
	return r.Finish("nothing was promoted")
}

// promotionOf is what is to be promoted.
type promotionOf struct {
	commit string
	// deployed are environments that this run knows to have deployed it.
	deployed []string
	dryRun   bool
}

// promote promotes a commit to an environment and keeps the outcome.
func (r *promotionRun) promote(ctx context.Context, environment string, of promotionOf) promote.Outcome {
	outcome := promote.Outcome{Environment: environment, Action: promote.ActionRefused}
	if r.unread {
		return outcome
	}
	err := r.promoteUntilNewest(ctx, &outcome, of)
	r.unread = errors.Is(err, errReported)
	if err != nil && !r.unread && ctx.Err() == nil {
		rule, hint := session.CauseOf(err)
		var at diag.Place
		if e := r.named(environment); e != nil {
			at = e.Name.At
		}
		if errors.Is(err, giterror.ErrConflict) {
			rule, hint = session.RuleLostRaces, "run again"
		}
		outcome.Diags.Error(rule, at, fmt.Sprintf("promote to %s: %s", environment, r.Reader.Scrub(err.Error())), diag.Hint(r.opts.hint(rule, hint)))
	}
	r.outcomes = append(r.outcomes, outcome)
	return outcome
}

// hint returns the hint for a refused push: the branch is usually protected.
func (o *promoteFlags) hint(rule, hint string) string {
	if rule == giterror.RulePushRefused && hint == "" && !o.pullRequest {
		return "--pull-request proposes the promotion instead of pushing it"
	}
	return hint
}

// promoteUntilNewest reads everything again and retries after a concurrent update.
func (r *promotionRun) promoteUntilNewest(ctx context.Context, outcome *promote.Outcome, of promotionOf) error {
	for race := 1; ; race++ {
		r.Begin("promoting to " + outcome.Environment)
		err := r.promoteOnce(ctx, outcome, of)
		if !errors.Is(err, giterror.ErrConflict) || race == render.MaxRaces || ctx.Err() != nil {
			return err
		}
		if err := r.Sleep(ctx, render.RacePause(race)); err != nil {
			return err
		}
		if err := r.readAnew(ctx); err != nil {
			return err
		}
	}
}

// readAnew reads the control plane again. The error is errReported if it cannot.
func (r *promotionRun) readAnew(ctx context.Context) error {
	switch read, err := r.Reload(ctx); {
	case err != nil:
		return err
	case !read:
		return errReported
	default:
		return r.prepare(ctx)
	}
}

// stopped ends a run whose context has ended: see session.stopped.
func (r *promotionRun) stopped(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), session.ErrTimeUp) {
		r.TimeUp()
		return r.Finish(r.leftUnpromoted())
	}
	r.Progress.Done()
	for _, o := range r.outcomes {
		if o.Pushed != "" {
			r.SayPushed(o.Pushed, o.PushedTo, o.Repo)
		}
	}
	return r.Session.Stopped(ctx)
}

func (r *promotionRun) promoteOnce(ctx context.Context, outcome *promote.Outcome, of promotionOf) error {
	*outcome = promote.Outcome{Environment: outcome.Environment, Action: promote.ActionRefused}
	found, err := r.stillThere(outcome.Environment)
	if err != nil {
		return err
	}
	options, err := r.opts.PublishOptions()
	if err != nil {
		return err
	}
	request := promote.Request{
		Environment: found, Commit: of.commit, Overrides: r.opts.overrides, Deployed: of.deployed, DryRun: of.dryRun,
		PullRequest: r.opts.pullRequest, PullRequestOptions: r.opts.Request(found.Publishing().PullRequest), Force: r.opts.Force, Key: options.Key,
		Author: func(ctx context.Context) (gitobject.Identity, error) {
			if author := r.opts.Author(found.Publishing().Commit); author != (gitobject.Identity{}) {
				return author, nil
			}
			return r.AuthorOf(ctx, r.forge)
		},
	}
	var compiled *session.Compiled
	if !r.opts.skipCompile {
		request.Compile = func(ctx context.Context, commit string) diag.List {
			compiled = r.CompileWith(ctx, found, commit)
			return compiled.Diags
		}
	}
	at, err := r.forgeOf(ctx, found)
	if err != nil {
		return err
	}
	if at.Repo != nil {
		request.Forge = at.Repo
	}
	*outcome, err = r.promoter.Promote(ctx, request)
	if r.opts.render && compiled != nil && outcome.Action == promote.ActionPromoted {
		r.Reuse(compiled, outcome.Pushed)
	}
	return err
}

// forgeOf is where the branch of an environment is. As a rule that is where the base branch is.
func (r *promotionRun) forgeOf(ctx context.Context, environment *model.Environment) (session.Forge, error) {
	place, err := r.Reader.Where(source.PlatformRef(environment))
	if err != nil {
		return session.Forge{}, err
	}
	if main, err := r.Reader.Where(r.Loader.Main().Ref); err == nil && main == place {
		return r.forge, nil
	}
	return r.ConnectForge(ctx, model.Platform, place)
}

// named returns an environment as it was read last; nil if there is none of the name.
func (r *promotionRun) named(name string) *model.Environment { return session.Named(r.Known, name) }

// stillThere is an environment as it was read last.
func (r *promotionRun) stillThere(name string) (*model.Environment, error) {
	found := r.named(name)
	if found == nil {
		return nil, fmt.Errorf("environment %q no longer exists", name)
	}
	return found, nil
}

// end publishes what was promoted, with --render, and shows the results.
func (r *promotionRun) end(ctx context.Context) error {
	for _, outcome := range r.outcomes {
		r.Diags.Add(outcome.Diags)
	}
	if r.opts.render {
		if err := r.renderPromoted(ctx); err != nil {
			return err
		}
	}
	return r.Finish(r.leftUnpromoted())
}

// renderPromoted compiles and publishes the environments that have got a commit, or had it: a run before this one may
// have been stopped in between.
func (r *promotionRun) renderPromoted(ctx context.Context) error {
	var names []string
	if r.checked != nil && r.checked.State == promote.CheckDeployed {
		names = slices.DeleteFunc(slices.Clone(r.chain.Next(r.checked.environment)), func(name string) bool {
			return slices.ContainsFunc(r.outcomes, func(o promote.Outcome) bool { return o.Environment == name })
		})
	}
	for _, outcome := range r.outcomes {
		if outcome.Action == promote.ActionPromoted || outcome.Action == promote.ActionUnchanged {
			names = append(names, outcome.Environment)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if err := r.Reopen(ctx); err != nil {
		return err
	}
	r.Environments = nil
	for _, name := range names {
		if environment := r.named(name); environment != nil {
			r.Environments = append(r.Environments, environment)
		}
	}
	return r.publisher.PublishUntilNewest(ctx, &render.Options{Flags: *r.Flags, PublishFlags: &r.opts.PublishFlags})
}

// leftUnpromoted returns the end of the summary of a run with errors.
func (r *promotionRun) leftUnpromoted() string {
	done := slices.ContainsFunc(r.outcomes, func(o promote.Outcome) bool { return o.Action != promote.ActionRefused })
	switch {
	case r.checked != nil:
		return ""
	case done && r.opts.render:
		return r.publisher.LeftUnpublished()
	case done:
		return "not everything was promoted"
	default:
		return "nothing was promoted"
	}
}
