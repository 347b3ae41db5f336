package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// promotionRun is a run that promotes.
type promotionRun struct {
	*session
	opts     *promoteFlags
	chain    *promote.Chain
	promoter *promote.Promoter
	// forge is the control plane on GitHub; it has no repo if it is not there.
	forge forge
	// next are the environments after one that the command line names; nil if it names none.
	next *nextEnvironments
	// outcomes are what became of each environment that something was promoted to.
	outcomes []promote.Outcome
	// checked is what became of a check; nil if nothing was checked.
	checked *checked
	// unread says that the control plane could not be read again, so that nothing more can be promoted.
	unread bool
}

// startPromotion opens the control plane.
func startPromotion(ctx context.Context, e *edges, fleet *fleetFlags, opts *promoteFlags) (*promotionRun, error) {
	fleet.promotion = opts
	if _, err := opts.publishOptions(); err != nil { // before anything is read
		return nil, err
	}
	if opts.render {
		fleet.publication = &opts.publishFlags
	}
	s, err := fleet.start(ctx, e, false)
	if err != nil {
		return nil, err
	}
	run := &promotionRun{session: s, opts: opts}
	s.view = promotionView{run}
	if err := run.prepare(ctx); err != nil {
		defer s.close()
		return nil, run.fail(err)
	}
	return run, nil
}

// errSaid is an error that the diagnostics of the run have already.
var errSaid = errors.New("the control plane cannot be read")

// prepare makes what promotes, from the control plane as it was read.
func (r *promotionRun) prepare(ctx context.Context) error {
	chain, diags := promote.NewChain(r.known)
	var err error
	r.diags.Add(diags)
	if diags.HasErrors() {
		return errSaid
	}
	if r.chain = chain; r.next != nil {
		if r.chain, err = chain.With(r.next.of, r.next.names); err != nil {
			return usageError("the environments after %s: %w", r.next.of, err)
		}
	}
	var place string
	place, err = r.reader.Where(r.compiler.loader.Main().Ref)
	if err != nil {
		return err
	}
	if r.forge.repo == nil {
		if r.forge, err = r.connectForge(ctx, model.Main, place); err != nil {
			return err
		}
	}
	r.promoter = &promote.Promoter{
		Reader: r.reader, Loader: r.compiler.loader, Chain: r.chain, NoStatuses: r.noStatuses(place),
		TargetURL: r.opts.pageOfRun(r.env), Version: r.version,
	}
	if r.forge.repo != nil {
		r.promoter.Statuses, r.promoter.Ancestry = promote.TrustStatuses(r.forge.repo, r.known), r.forge.repo
	}
	return nil
}

// nextEnvironments are the names of those that come after an environment.
type nextEnvironments struct {
	of    string
	names []string
}

// setNext replaces the environments that come after one.
func (r *promotionRun) setNext(environment string, names []string) error {
	r.next = &nextEnvironments{environment, names}
	chain, err := r.chain.With(environment, names)
	if err != nil {
		return usageError("the environments after %s: %w", environment, err)
	}
	r.chain, r.promoter.Chain = chain, chain
	return nil
}

// noStatuses says why the commits of the control plane have no statuses.
func (r *promotionRun) noStatuses(place string) string {
	if r.forge.note != "" {
		return r.forge.note
	}
	return place + " is not on GitHub"
}

// fail ends a run that something of the world keeps from going on.
func (r *promotionRun) fail(err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return err
	}
	if !errors.Is(err, errSaid) {
		rule, hint := causeOf(err)
		r.diags.Error(rule, diag.Place{}, r.reader.Scrub(err.Error()), diag.Hint(hint))
	}
	return r.finish("nothing was promoted")
}

// promotionOf is what is to be promoted.
type promotionOf struct {
	commit string
	// deployed are environments that this run knows to have deployed it.
	deployed []string
	dryRun   bool
}

// promote promotes a commit to an environment, and notes what became of it.
func (r *promotionRun) promote(ctx context.Context, environment string, of promotionOf) promote.Outcome {
	if r.unread {
		return promote.Outcome{Environment: environment, Action: promote.ActionRefused}
	}
	outcome, err := r.promoteUntilNewest(ctx, environment, of)
	r.unread = errors.Is(err, errSaid)
	if err != nil && !r.unread && ctx.Err() == nil {
		rule, hint := causeOf(err)
		var at diag.Place
		if e := r.named(environment); e != nil {
			at = e.Name.At
		}
		if errors.Is(err, gitops.ErrMoved) {
			rule, hint = ruleLostRaces, "run again"
		}
		outcome.Diags.Error(rule, at, fmt.Sprintf("promote to %s: %s", environment, r.reader.Scrub(err.Error())), diag.Hint(r.opts.hint(rule, hint)))
	}
	r.outcomes = append(r.outcomes, outcome)
	return outcome
}

// hint says what to do about a push that was refused: as a rule the branch is protected.
func (o *promoteFlags) hint(rule, hint string) string {
	if rule == gitops.RulePushRefused && hint == "" && !o.pullRequest {
		return "--pull-request proposes the promotion instead of pushing it"
	}
	return hint
}

// promoteUntilNewest starts over from reading as often as somebody else is faster.
func (r *promotionRun) promoteUntilNewest(ctx context.Context, environment string, of promotionOf) (promote.Outcome, error) {
	for race := 1; ; race++ {
		r.begin("promoting to " + environment)
		outcome, err := r.promoteOnce(ctx, environment, of)
		if !errors.Is(err, gitops.ErrMoved) || race == maxRaces || ctx.Err() != nil {
			return outcome, err
		}
		pause := firstRacePause << (race - 1)
		if err := r.sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return outcome, err
		}
		if err := r.readAnew(ctx); err != nil {
			return outcome, err
		}
	}
}

// readAnew reads the control plane as it is now. The error is errSaid if it cannot.
func (r *promotionRun) readAnew(ctx context.Context) error {
	reader, loader, err := r.session.flags.open(r.edges, r.progress)
	if err != nil {
		return err
	}
	r.close()
	if !r.load(ctx, reader, loader) {
		return errSaid
	}
	return r.prepare(ctx)
}

// stopped ends a run whose context has ended: see session.stopped.
func (r *promotionRun) stopped(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errTimeUp) {
		r.timeUp()
		return r.finish(r.leftUnpromoted())
	}
	r.progress.done()
	for _, o := range r.outcomes {
		if o.Pushed != "" {
			r.sayPushed(o.Pushed, o.PushedTo, o.Repo)
		}
	}
	return r.session.stopped(ctx)
}

func (r *promotionRun) promoteOnce(ctx context.Context, environment string, of promotionOf) (promote.Outcome, error) {
	found := r.named(environment)
	if found == nil {
		return promote.Outcome{Environment: environment, Action: promote.ActionRefused}, fmt.Errorf("there is no environment %q any more", environment)
	}
	options, err := r.opts.publishOptions()
	if err != nil {
		return promote.Outcome{Environment: environment, Action: promote.ActionRefused}, err
	}
	request := promote.Request{
		Environment: found, Commit: of.commit, Overrides: r.opts.overrides, Deployed: of.deployed, DryRun: of.dryRun,
		PullRequest: r.opts.pullRequest, PullRequestOptions: r.opts.request(), Force: r.opts.force, Key: options.Key,
		Author: func(ctx context.Context) (gitops.Identity, error) {
			if options.Author != (gitops.Identity{}) {
				return options.Author, nil
			}
			return r.authorOf(ctx, r.forge)
		},
	}
	at, err := r.forgeOf(ctx, found)
	if err != nil {
		return promote.Outcome{Environment: environment, Action: promote.ActionRefused}, err
	}
	if at.repo != nil {
		request.Forge = at.repo
	}
	return r.promoter.Promote(ctx, request)
}

// forgeOf is where the branch of an environment is. As a rule that is where the base branch is.
func (r *promotionRun) forgeOf(ctx context.Context, environment *model.Environment) (forge, error) {
	place, err := r.reader.Where(gitops.PlatformRef(environment))
	if err != nil {
		return forge{}, err
	}
	if main, err := r.reader.Where(r.compiler.loader.Main().Ref); err == nil && main == place {
		return r.forge, nil
	}
	return r.connectForge(ctx, model.Platform, place)
}

// named returns an environment as it was read last; nil if there is none of the name.
func (r *promotionRun) named(name string) *model.Environment {
	i := slices.IndexFunc(r.known, func(e *model.Environment) bool { return e.Name.Value == name })
	if i < 0 {
		return nil
	}
	return r.known[i]
}

// end renders what was promoted, if that is asked for, and shows what became of everything.
func (r *promotionRun) end(ctx context.Context) error {
	for _, outcome := range r.outcomes {
		r.diags.Add(outcome.Diags)
	}
	if r.opts.render {
		if err := r.renderPromoted(ctx); err != nil {
			return err
		}
	}
	return r.finish(r.leftUnpromoted())
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
	if err := r.reopen(ctx); err != nil {
		return err
	}
	r.environments = nil
	for _, name := range names {
		if environment := r.named(name); environment != nil {
			r.environments = append(r.environments, environment)
		}
	}
	return r.publishUntilNewest(ctx, &renderOptions{fleetFlags: *r.flags, publishFlags: r.opts.publishFlags})
}

// leftUnpromoted says what was promoted before something went wrong.
func (r *promotionRun) leftUnpromoted() string {
	done := slices.ContainsFunc(r.outcomes, func(o promote.Outcome) bool { return o.Action != promote.ActionRefused })
	switch {
	case r.checked != nil:
		return ""
	case done && r.opts.render:
		return r.leftUnpublished()
	case done:
		return "not everything was promoted"
	default:
		return "nothing was promoted"
	}
}
