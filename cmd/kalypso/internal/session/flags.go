package session

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/remote"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Flags are the flags of every command that reads a fleet.
type Flags struct {
	Environments        []string
	ControlPlane        string
	BaseBranch          string
	Base                string
	replace             []string
	Worktree            bool
	Committed           bool
	IgnoreKustomization bool
	TenantLimits        []string
	timeout             time.Duration
	Color               string
	Format              string
	// Strict refuses warnings.
	Strict bool

	// MoreFormats are additional formats of -o for this command; its View writes them.
	MoreFormats []string
	// Permissions are the permissions that a run needs on the repositories of a role, if it does more than read them.
	Permissions func(model.Role) *github.Needs
	// Publishes reports whether the run publishes; it then reads and writes the remote of a clone, not the clone.
	Publishes bool
	// clone is the clone that was given, if ControlPlane is its remote.
	clone string
	// fromVariable reports whether a variable set ControlPlane; nil if it cannot.
	fromVariable func() bool
	// Purpose is the participle for "nothing was …" if the control plane cannot be read; empty is "compiled".
	Purpose string
	// tokens are the tokens of the configured GitHub App, set when the fleet is opened; nil for none.
	tokens *github.App
}

// Add adds all flags for a command that compiles.
func (f *Flags) Add(cmd *cobra.Command, e *cli.Host) {
	f.AddControlPlane(cmd, e)
	f.AddParsing(cmd)
	flags := cmd.Flags()
	flags.Lookup("env").Usage = "`environment` to compile (repeatable)"
	flags.StringVar(&f.Base, "base", "", "compile with this Git `revision` of the base branch, or \"worktree\", instead of the promoted commit")
	flags.BoolVar(&f.Worktree, "worktree", false, "read the working tree of local clones for the branch that is checked out (default)")
	_ = flags.MarkHidden("worktree") // it is the default, and was not in earlier versions
	f.AddCommitted(cmd)
	f.AddTimeout(cmd)
	cli.Group(flags, cli.Source, "env control-plane committed base replace", "base-branch")
}

// AddCommitted adds --committed.
func (f *Flags) AddCommitted(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Committed, "committed", false, "ignore uncommitted changes in local clones")
	cli.Group(cmd.Flags(), cli.Source, "", "committed")
}

// AddControlPlane adds the flags that select what is read.
func (f *Flags) AddControlPlane(cmd *cobra.Command, e *cli.Host) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.Environments, "env", "e", nil, "`environment`")
	flags.StringVar(&f.ControlPlane, "control-plane", "", "URL or `path` of the control plane (default: the workflow's repository, or the repository in the current directory)")
	f.fromVariable = func() bool { return cli.FromVariable(flags.Lookup("control-plane")) }
	flags.StringVar(&f.BaseBranch, "base-branch", "", "`branch` of the control plane with the Environments (default: its default branch; for a local path, main)")
	flags.StringArrayVar(&f.replace, "replace", nil, "read a repository from another path or URL: `REPO=PATH`, with * as wildcard on both sides (repeatable)")
	flags.StringVar(&f.Color, "color", "auto", "color the output: `mode` is auto, always or never")
	cli.AddOutputFlag(cmd, e, &f.Format, f.MoreFormats...)
	cli.Group(flags, cli.Source, "env control-plane replace", "base-branch")
	cli.Group(flags, cli.Output, "", "color")
	e.CompleteFlagFunc(cmd, "env", func(cmd *cobra.Command) []string { return f.CompleteEnvironments(cmd, e) })
	e.CompleteFlag(cmd, "color", "auto", "always", "never")
}

// AddParsing adds the flags for parsing.
func (f *Flags) AddParsing(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.IgnoreKustomization, "ignore-kustomization", false, "skip kustomization.yaml files instead of refusing them")
	flags.StringArrayVar(&f.TenantLimits, "tenant-limit", nil, "change a limit for application repositories: `NAME=NUMBER`, where NAME is one of "+strings.Join(limitNames(), ", ")+" (repeatable)")
	cli.Group(flags, cli.Source, "", "ignore-kustomization tenant-limit")
}

// AddTimeout adds --timeout.
func (f *Flags) AddTimeout(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "exit with code 5 after this `duration`, such as 90s or 10m; 0 for no limit")
	cli.Group(cmd.Flags(), cli.Global, "", "timeout")
}

// AddStrict adds --strict.
func (f *Flags) AddStrict(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Strict, "strict", false, "fail with exit code 1 if there are warnings")
}

// WarningsAsErrors returns an error if the run is strict and diagnostics have warnings, but no errors.
func (f *Flags) WarningsAsErrors(diags diag.List) (refused diag.List) {
	if warnings := diags.Sorted().Count(diag.Warning); f.Strict && warnings > 0 && !diags.HasErrors() {
		refused.Error("strict", diag.Place{}, diag.Plural(warnings, "warning")+" (--strict)")
	}
	return refused
}

// limits are the limits that --tenant-limit can change: for the files of application repositories and for their servers.
func limits(l *model.Limits, servers *wire.TenantLimits) map[string]func(int) {
	return map[string]func(int){
		"file-bytes":         func(n int) { l.FileBytes, servers.File = int64(n), int64(n) },
		"repository-bytes":   func(n int) { servers.Total = min(int64(n), 1<<40) },
		"seconds":            func(n int) { servers.Time = time.Duration(min(int64(n), 1<<30)) * time.Second },
		"registration-bytes": func(n int) { l.SourceBytes = int64(n) },
		"files":              func(n int) { l.Files = n },
		"documents":          func(n int) { l.Documents = n },
		"nesting":            func(n int) { l.Nesting = n },
		"targets":            func(n int) { l.Targets = n },
		"values":             func(n int) { l.Nodes = n },
		"value-bytes":        func(n int) { l.ValueBytes = n },
		"output-bytes":       func(n int) { l.OutputBytes = int64(n) },
	}
}

func limitNames() []string {
	return slices.Sorted(maps.Keys(limits(&model.Limits{}, &wire.TenantLimits{})))
}

// Options returns the options for parsing sources and the limits for servers of application repositories. The error is
// a usage error.
func (f *Flags) Options() (options model.Options, servers wire.TenantLimits, err error) {
	options = model.DefaultOptions()
	options.IgnoreKustomization = f.IgnoreKustomization
	settable := limits(&options.Tenant, &servers)
	for _, limit := range cli.Split(f.TenantLimits) {
		name, value, _ := strings.Cut(limit, "=")
		set, known := settable[name]
		if !known {
			return options, servers, cli.UsageHint(diag.DidYouMean(name, limitNames()), "--tenant-limit %s: limit %q not found", limit, name)
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return options, servers, cli.InvalidValue("tenant-limit", limit, name+"=NUMBER with a number above 0")
		}
		set(n)
	}
	return options, servers, nil
}

// Check validates flag values that cobra does not check.
func (f *Flags) Check() error {
	if !slices.Contains([]string{"auto", "always", "never"}, f.Color) {
		return cli.InvalidValue("color", f.Color, "auto, always or never")
	}
	if f.timeout < 0 {
		return cli.InvalidValue("timeout", f.timeout, "a duration such as 90s or 10m, or 0 for no limit")
	}
	if f.Committed && f.Worktree {
		return cli.Usage("--committed cannot be combined with --worktree")
	}
	return results.CheckFormat(f.Format, f.MoreFormats...)
}

// open returns the reader and loader of the fleet. Close the Reader when done.
func (f *Flags) open(ctx context.Context, e *cli.Host, progress *term.Progress) (*remote.Reader, *source.Loader, error) {
	options, servers, err := f.Options()
	if err != nil {
		return nil, nil, err
	}
	repo, err := f.FindControlPlane(e)
	if err != nil {
		return nil, nil, err
	}
	tokens, err := f.appTokens(e, progress)
	if err != nil {
		return nil, nil, err
	}
	bounds := e.Limits
	bounds.Tenant = servers
	reading := remote.Options{
		Replace: f.replace, Worktree: !f.Committed && !f.Publishes, Publishes: f.Publishes, Env: e.Env, Helper: credentials.GitCredential,
		Sleep: e.Sleep, Limits: bounds, Progress: progress.Step, Waiting: progress.Wait,
	}
	if tokens != nil {
		reading.Tokens = tokens
	}
	if e.Verbose && progress != nil {
		reading.Transport, reading.Read = Transport(e, progress), traceSource(progress)
	}
	reader, err := remote.NewReader(reading)
	if err != nil {
		return nil, nil, cli.Usage("%w", err)
	}
	if f.Publishes && f.clone == "" {
		if repo, err = f.useRemote(ctx, e, reader, repo); err != nil {
			_ = reader.Close() // nothing was written through it
			return nil, nil, err
		}
	}
	return reader, source.NewLoader(reader, source.ControlPlane{
		Repo: repo, Remote: f.clone != "", BaseBranch: f.BaseBranch, Base: f.Base, Options: options,
	}), nil
}

// FindControlPlane returns --control-plane, else the repository of the workflow, else the repository that contains the
// current directory.
func (f *Flags) FindControlPlane(e *cli.Host) (string, error) {
	if f.ControlPlane != "" {
		return f.ControlPlane, nil
	}
	if server, repo := e.Env("GITHUB_SERVER_URL"), e.Env("GITHUB_REPOSITORY"); server != "" && repo != "" {
		return server + "/" + repo, nil
	}
	return repositoryAround(e)
}

// repositoryAround returns the repository that contains the current folder.
func repositoryAround(e *cli.Host) (string, error) {
	dir, err := e.WorkingDir()
	if err != nil {
		return "", err
	}
	for _, sign := range []string{".git", "objects"} { // a clone, else a bare repository: the folder .git looks like one
		for folder := dir; ; folder = filepath.Dir(folder) {
			if _, err := os.Stat(filepath.Join(folder, sign)); err == nil && (sign == ".git" || isFile(filepath.Join(folder, "HEAD"))) {
				return folder, nil
			}
			if folder == filepath.Dir(folder) {
				break
			}
		}
	}
	return "", cli.Usage("%s is not in a Git repository; set --control-plane URL-OR-PATH", dir)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Choose returns the environments to compile, in promotion order: those of --env, else in a workflow those of the pushed branch, else all of
// them if all is true.
func (f *Flags) Choose(e *cli.Host, environments []*model.Environment, all bool) ([]*model.Environment, error) {
	names := EnvironmentNames(environments)
	if len(f.Environments) > 0 {
		chosen := map[*model.Environment]bool{}
		for _, name := range strings.Split(strings.Join(f.Environments, ","), ",") {
			name = strings.TrimSpace(name)
			environment := Named(environments, name)
			if environment == nil {
				return nil, NoEnvironment(name, names)
			}
			chosen[environment] = true
		}
		return slices.DeleteFunc(slices.Clone(environments), func(e *model.Environment) bool { return !chosen[e] }), nil
	}
	if all {
		return environments, nil
	}
	if e.Env("GITHUB_ACTIONS") == "true" {
		pushed := slices.DeleteFunc(slices.Clone(environments), func(environment *model.Environment) bool {
			return environment.ControlPlane.Branch.Value != e.Env("GITHUB_REF_NAME")
		})
		if len(pushed) > 0 {
			return pushed, nil
		}
	}
	return nil, cli.Usage("required flag: --env (%s)", diag.Alternatives(names))
}

// EnvironmentNames are the names of environments.
func EnvironmentNames(environments []*model.Environment) []string {
	names := make([]string, len(environments))
	for i, environment := range environments {
		names[i] = environment.Name.Value
	}
	return names
}

// Named returns the environment with a name; nil if there is none.
func Named(environments []*model.Environment, name string) *model.Environment {
	for _, environment := range environments {
		if environment.Name.Value == name {
			return environment
		}
	}
	return nil
}

// NoEnvironment is the usage error for an environment that is not in names.
func NoEnvironment(name string, names []string) error {
	return cli.UsageHint(diag.DidYouMean(name, names), "environment %q not found", name)
}

// CompleteEnvironments completes the names of environments if this needs no network.
func (f *Flags) CompleteEnvironments(cmd *cobra.Command, e *cli.Host) []string {
	_, environments, _, done := f.ReadLocal(cmd, e)
	defer done()
	return EnvironmentNames(environments)
}

// ReadLocal reads the environments if this needs no network, for completion. Call done afterwards.
func (f *Flags) ReadLocal(cmd *cobra.Command, e *cli.Host) (loader *source.Loader, environments []*model.Environment, diags diag.List, done func()) {
	if err := cli.Prepare(cmd.Flags(), e); err != nil {
		return nil, nil, nil, func() {}
	}
	reader, loader, err := f.open(cmd.Context(), e, nil)
	if err != nil {
		return nil, nil, nil, func() {}
	}
	done = func() { _ = reader.Close() } // nothing was written through it
	if repo, err := f.FindControlPlane(e); err != nil || !reader.IsLocal(repo) {
		return nil, nil, nil, done
	}
	environments, diags = loader.Environments(cmd.Context())
	return loader, environments, diags, done
}

// limited returns a context that ends after --timeout.
func (f *Flags) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, f.timeout, ErrTimeUp)
}

// defaultTimeout is much longer than a healthy run; it ends a run that the limits of single requests do not end.
const defaultTimeout = 30 * time.Minute

// ErrTimeUp is the cause of a run that exceeded --timeout.
var ErrTimeUp = errors.New("timed out")
