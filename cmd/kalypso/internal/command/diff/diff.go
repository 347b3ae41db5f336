// Package diff is kalypso diff, and kalypso comment, which posts what diff has saved.
package diff

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// diffFlags are the flags of kalypso diff.
type diffFlags struct {
	session.Flags
	// withEnvironment is the other of two environments.
	withEnvironment string
	// repo and branch are what is compared at two states, from and to.
	repo, branch, from, to string
	files, stat            bool
	exitCode               bool
	previewFlags
}

// New returns kalypso diff.
func New(e *cli.Host) *cobra.Command {
	opts := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show how a change affects the fleet, or compare two environments",
		Long: `Compile two states of the model and show the differences: which deployment targets are added or
removed and why, and which values change and where the new values come from. This command changes
nothing and does not read the published output; to compare with it, use render --dry-run.

To compare two states of a branch, use --from and --to. Each takes a Git revision, "worktree" (the
working tree) or "promoted" (the commits of the base branch that are promoted to the environments).
--branch is a branch of the control plane or, with --repo URL, of an application repository. For the
base branch, diff shows the effect of promoting it to the environments. Without flags, diff
compares the working tree and all unpushed commits with the remote; in a pull request workflow, it
compares the pull request with its target branch.

To compare two environments, use --env and --with-env. A target that exists in only one of them is
compared with a target of the same workload on the same cluster type. Differences that consist
only of the names of target and environment are not shown.`,
		Example: `  kalypso diff
  kalypso diff --env dev --with-env stage
  kalypso diff --branch main --from promoted --to main --env prod
  kalypso diff --branch dev --from dev~1 --files
  kalypso diff --repo https://github.com/acme/checkout --branch main --to new-targets`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDiff(cmd.Context(), e, opts) },
	}
	opts.AddControlPlane(cmd, e)
	opts.AddParsing(cmd)
	opts.AddCommitted(cmd)
	opts.AddTimeout(cmd)
	flags := cmd.Flags()
	flags.Lookup("env").Usage = "`environment` to compare (repeatable; default: all that use the branch)"
	flags.StringVar(&opts.withEnvironment, "with-env", "", "`environment` to compare with the one in --env")
	flags.StringVar(&opts.repo, "repo", "", "`URL` of the application repository of --branch (default: the control plane)")
	flags.StringVar(&opts.branch, "branch", "", "`branch` to compare (default: the branch that is checked out)")
	flags.StringVar(&opts.from, "from", "", "old `state`: a Git revision, worktree or promoted (default: the tip of --branch, else the latest commit of the remote branch)")
	flags.StringVar(&opts.to, "to", "", "new `state`, as in --from (default: the working tree; if --branch is not checked out, its tip)")
	flags.BoolVar(&opts.files, "files", false, "show the differences of the manifests")
	flags.BoolVar(&opts.stat, "stat", false, "show only counts per cluster type")
	opts.previewFlags.add(flags)
	flags.BoolVar(&opts.exitCode, "exit-code", false, "exit with code 4 if there are differences")
	cli.Group(flags, cli.Source, "env with-env from to branch control-plane", "repo replace base-branch")
	cli.Group(flags, cli.Output, "files stat output exit-code", "color")
	e.CompleteFlagFunc(cmd, "with-env", func(cmd *cobra.Command) []string { return opts.CompleteEnvironments(cmd, e) })
	return cmd
}

func (f *diffFlags) check() error {
	if f.withEnvironment != "" {
		if f.repo != "" || f.branch != "" || f.from != "" || f.to != "" {
			return cli.Usage("--with-env cannot be combined with --repo, --branch, --from or --to")
		}
		if named := cli.Split(f.Environments); len(named) != 1 || named[0] == f.withEnvironment {
			return cli.Usage("--with-env %s requires one other environment in --env", f.withEnvironment)
		}
	}
	if f.files && f.stat {
		return cli.Usage("--files and --stat cannot be combined")
	}
	if f.repo != "" && f.branch == "" {
		return cli.Usage("--repo requires --branch")
	}
	if f.withEnvironment != "" && f.previews() {
		return cli.Usage("--with-env cannot be combined with --comment, --save-comment or --pull-request")
	}
	return nil
}

func runDiff(ctx context.Context, e *cli.Host, opts *diffFlags) error {
	if err := opts.check(); err != nil {
		return err
	}
	if opts.comment {
		opts.Permissions = commentPermissions
	}
	named := cli.Split(opts.Environments)
	opts.Environments = nil // one may be there in the other state only
	return session.Connect(ctx, &opts.Flags, e, func(ctx context.Context, s *session.Session) error {
		run := &comparison{Session: s, flags: opts, named: named}
		s.View = session.View{Structured: run.structured, Text: run.text, Paged: true, Actions: run.summarize}
		if err := run.compare(ctx); err != nil && ctx.Err() == nil {
			if err := s.Fail(diag.Place{}, err); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return s.Stopped(ctx)
		}
		if err := run.preview(ctx); err != nil {
			return err
		}
		if err := s.Finish(run.leftUncompared()); err != nil {
			return err
		}
		if opts.exitCode && slices.ContainsFunc(run.found, Result.differs) {
			return cli.ExitWith(cli.ExitChanges)
		}
		return nil
	})
}

// leftUncompared says what errors kept from being compared.
func (c *comparison) leftUncompared() string {
	switch {
	case len(c.found) == 0:
		return "nothing was compared"
	case len(c.failedOnes) > 0:
		return "not compared: " + strings.Join(c.failedOnes, ", ")
	default:
		return ""
	}
}

// comparison is a run of diff.
type comparison struct {
	*session.Session
	flags *diffFlags
	found []Result
	// named are the environments that --env names.
	named []string
	// failedOnes are the environments that cannot be compared.
	failedOnes []string
	// command shows the same again.
	command string
}

func (c *comparison) compare(ctx context.Context) error {
	c.Begin("reading the control plane")
	known, diags := c.Loader.Environments(ctx)
	c.Known, c.Names = known, session.EnvironmentNames(known)
	if c.Loader.Main() == nil || c.flags.withEnvironment != "" && diags.HasErrors() {
		c.Diags.Add(diags.Only(diag.Error))
		return nil
	}
	c.Reader.ListRemote(ctx, c.Loader.Main().Ref.Repo, c.Loader.BaseBranch())
	if c.flags.withEnvironment != "" {
		return c.compareEnvironments(ctx)
	}
	states, err := c.states(ctx)
	if err != nil {
		return err
	}
	if !states.base { // else each of the states is asked
		c.Diags.Add(diags.Only(diag.Error))
	}
	return c.compareStates(ctx, states)
}

// compareEnvironments compares two environments as they are.
func (c *comparison) compareEnvironments(ctx context.Context) error {
	var both []*model.Environment
	for _, name := range []string{c.named[0], c.flags.withEnvironment} {
		environment := session.Named(c.Known, name)
		if environment == nil {
			return session.NoEnvironment(name, c.Names)
		}
		both = append(both, environment)
	}
	first, second := c.compileState(ctx, c.Compiler, both[0], both[0]), c.compileState(ctx, c.Compiler, both[1], both[1])
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Diags.Add(first.Diags.Only(diag.Error))
	c.Diags.Add(second.Diags.Only(diag.Error))
	if c.Diags.HasErrors() {
		return nil
	}
	one, other := both[0].Name.Value, both[1].Name.Value
	return c.add(ctx, Result{Name: one, With: other, Before: one, After: other}, first, second)
}

// compareStates compares the environments at two states of a branch.
func (c *comparison) compareStates(ctx context.Context, states *branchStates) error {
	before, after := c.compilerAt(ctx, states, states.from), c.compilerAt(ctx, states, states.to)
	if before == nil || after == nil {
		return nil // the diagnostics say why
	}
	c.Diags.Add(after.broken)
	names := session.EnvironmentNames(after.environments)
	for _, gone := range session.EnvironmentNames(before.environments) {
		if !slices.Contains(names, gone) {
			names = append(names, gone)
		}
	}
	for _, name := range c.named {
		if !slices.Contains(names, name) {
			return session.NoEnvironment(name, names)
		}
	}
	reached := false
	for _, name := range names {
		old, now := session.Named(before.environments, name), session.Named(after.environments, name)
		if !c.concerns(states, name, old, now) || now == nil && len(after.broken) > 0 {
			continue
		}
		was, is := c.compileState(ctx, before.compiler, old, now), c.compileState(ctx, after.compiler, now, old)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !states.reaches(was.Fleet) && !states.reaches(is.Fleet) {
			continue
		}
		reached = true
		was.Diags.Add(before.broken)
		d := Result{Name: name, Before: states.before(), After: states.after()}
		if missing := before.compiler.Loader.MissingState(was.Diags); len(missing) > 0 {
			c.Diags.Add(missing)
			c.failedOnes = append(c.failedOnes, name)
			continue
		}
		if err := c.addStates(ctx, d, was, is); err != nil {
			return err
		}
	}
	if !reached && states.repo != "" && !c.Failed() {
		return cli.Usage("no WorkloadRegistration names the branch %q of %s", states.branch, states.repo)
	}
	return nil
}

// addStates compares an environment at two states, if both can be told.
func (c *comparison) addStates(ctx context.Context, d Result, was, is *session.Compiled) error {
	c.Diags.Add(news(is.Diags, was.Diags))
	if was.Fleet == nil { // what is not known cannot be compared
		c.Diags.Add(was.Diags.Only(diag.Error))
	}
	if is.Diags.HasErrors() || was.Fleet == nil {
		c.failedOnes = append(c.failedOnes, d.Name)
		return nil
	}
	if was.Diags.HasErrors() {
		d.Notes = append(d.Notes, fmt.Sprintf("%s cannot be compiled, so everything is listed as added: %s", d.Before, firstError(was.Diags)))
		was, d.blind = emptyState(was.Environment), true
	}
	d.addOutputs(was.Fleet, is.Fleet)
	return c.add(ctx, d, was, is)
}

// addOutputs notes that the result goes somewhere else.
func (d *Result) addOutputs(was, is *model.Fleet) {
	where := func(fleet *model.Fleet) map[string]string {
		at := map[string]string{}
		for _, r := range fleet.GitOpsRepos {
			at[r.Name.Value] = fmt.Sprintf("%s, branch %s, path %s", r.Repo.Value, r.Branch.Value, r.Path.Value)
		}
		return at
	}
	old, now := where(was), where(is)
	if len(was.Sources) == 0 || len(is.Sources) == 0 {
		return // it is new or gone as a whole
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		switch to, stays := now[name]; {
		case !stays:
			d.Outputs = append(d.Outputs, fmt.Sprintf("GitOpsRepo %s was removed: %s", name, old[name]))
		case to != old[name]:
			d.Outputs = append(d.Outputs, fmt.Sprintf("GitOpsRepo %s was %s, and is %s", name, old[name], to))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, there := old[name]; !there {
			d.Outputs = append(d.Outputs, fmt.Sprintf("GitOpsRepo %s is new: %s", name, now[name]))
		}
	}
}

// concerns reports whether an environment is compared: it is named, or nothing is and it reads the branch.
func (c *comparison) concerns(states *branchStates, name string, sides ...*model.Environment) bool {
	if len(c.named) > 0 {
		return slices.Contains(c.named, name)
	}
	return slices.ContainsFunc(sides, func(e *model.Environment) bool { return e != nil && c.readBy(states, e) })
}

func (c *comparison) add(ctx context.Context, d Result, before, after *session.Compiled) error {
	c.Begin("comparing " + d.Name)
	found, err := impact.Compare(ctx, stateOf(before), stateOf(after))
	if err != nil {
		return err
	}
	d.setImpact(found)
	c.found = append(c.found, d)
	return nil
}

// news leaves out notices, and the warnings that the state before has, too.
func news(now, before diag.List) diag.List {
	type finding struct{ rule, message, path string }
	of := func(d diag.Diagnostic) finding {
		if d.At.IsZero() {
			return finding{d.Rule, d.Message, ""}
		}
		return finding{d.Rule, d.Message, d.At.File.Path}
	}
	known := map[finding]bool{}
	for _, d := range before {
		known[of(d)] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(d diag.Diagnostic) bool {
		return d.Severity == diag.Notice || d.Severity == diag.Warning && known[of(d)]
	})
}

// firstError is the error that is listed first, in a line.
func firstError(diags diag.List) string {
	d := diags.Only(diag.Error).Sorted()[0]
	return strings.TrimPrefix(d.At.String()+": "+d.Message, ": ")
}
