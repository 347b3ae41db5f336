package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// fleetFlags are the flags of every command that reads a fleet.
type fleetFlags struct {
	environments        []string
	controlPlane        string
	baseBranch          string
	base                string
	replace             []string
	worktree            bool
	ignoreKustomization bool
	tenantLimits        []string
	timeout             time.Duration
	color               string
	format              string

	// publication are the flags of a run that publishes; nil if it only reads.
	publication *publishFlags
	// promotion are the flags of a run that promotes; nil if it does not.
	promotion *promoteFlags
	// comments says that the run comments on pull requests.
	comments bool
	// tokens are those of the GitHub App that the environment names, once the fleet is opened; nil if it names none.
	tokens *github.App
}

// add adds all of them, for a command that compiles.
func (f *fleetFlags) add(cmd *cobra.Command, e *edges) {
	f.addControlPlane(cmd, e)
	f.addParsing(cmd)
	flags := cmd.Flags()
	flags.Lookup("env").Usage = "`environment` to compile (repeatable)"
	flags.StringVar(&f.base, "base", "", "read the BaseRepo main at this `branch` or commit, or \"worktree\", instead of at its commit")
	flags.BoolVar(&f.worktree, "worktree", false, "read the work tree of a local clone, with uncommitted changes, if it has the branch checked out")
	f.addTimeout(cmd)
}

// addControlPlane adds those that say what is read.
func (f *fleetFlags) addControlPlane(cmd *cobra.Command, e *edges) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.environments, "env", nil, "`environment`")
	flags.StringVar(&f.controlPlane, "control-plane", "", "URL or `path` of the control plane (default: the workflow's repository, else the one around the current folder)")
	flags.StringVar(&f.baseBranch, "base-branch", "", "`branch` of the control plane that holds the Environments (default: its default branch, in a local path main)")
	flags.StringArrayVar(&f.replace, "replace", nil, "read a repository from somewhere else: `REPO=PATH`, * allowed on both sides (repeatable)")
	flags.StringVar(&f.color, "color", "auto", "colour the output: `when` is auto, always or never")
	addOutputFlag(cmd, &f.format)
	_ = cmd.RegisterFlagCompletionFunc("env", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return f.completeEnvironments(cmd, e), cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
}

// addParsing adds those that say how it is read.
func (f *fleetFlags) addParsing(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.ignoreKustomization, "ignore-kustomization", false, "skip kustomization.yaml files instead of refusing them")
	flags.StringArrayVar(&f.tenantLimits, "tenant-limit", nil, "change a limit for application repositories: `NAME=NUMBER`, one of "+strings.Join(limitNames(), ", ")+" (repeatable)")
}

func (f *fleetFlags) addTimeout(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "end with code 5 after this `duration`, such as 90s or 10m; 0 for never")
}

// tenantLimits are the limits for the files of application repositories and for their servers.
type tenantLimits struct {
	model.Limits
	gitops.TenantLimits
}

// limits are the limits that --tenant-limit can change.
func limits(l *tenantLimits) map[string]func(int) {
	return map[string]func(int){
		"file-bytes":         func(n int) { l.FileBytes, l.File = int64(n), int64(n) },
		"repository-bytes":   func(n int) { l.Total = min(int64(n), 1<<40) },
		"seconds":            func(n int) { l.Time = time.Duration(min(int64(n), 1<<30)) * time.Second },
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
	var names []string
	for name := range limits(&tenantLimits{}) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// options returns the options for parsing sources and the limits for servers of application repositories. The error is
// a usage error.
func (f *fleetFlags) options() (options model.Options, servers gitops.TenantLimits, err error) {
	options = model.DefaultOptions()
	options.IgnoreKustomization = f.ignoreKustomization
	tenant := tenantLimits{Limits: options.Tenant}
	settable := limits(&tenant)
	for _, limit := range f.tenantLimits {
		name, value, _ := strings.Cut(limit, "=")
		set, known := settable[name]
		if !known {
			return options, servers, usageError("--tenant-limit %s: there is no limit %q (%s)", limit, name, diag.DidYouMean(name, limitNames()))
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return options, servers, usageError("--tenant-limit %s: write %s=NUMBER with a number above 0", limit, name)
		}
		set(n)
	}
	options.Tenant = tenant.Limits
	return options, tenant.TenantLimits, nil
}

// check finds wrong values of flags that cobra cannot know.
func (f *fleetFlags) check() error {
	if !slices.Contains([]string{"auto", "always", "never"}, f.color) {
		return usageError("--color %s: write auto, always or never", f.color)
	}
	if f.timeout < 0 {
		return usageError("--timeout %v: write a duration such as 90s or 10m, or 0 for no limit", f.timeout)
	}
	return checkFormat(f.format)
}

// open returns what reads the fleet. Close the Reader when done.
func (f *fleetFlags) open(e *edges, progress *progress) (*gitops.Reader, *gitops.Loader, error) {
	options, servers, err := f.options()
	if err != nil {
		return nil, nil, err
	}
	repo, err := f.findControlPlane(e)
	if err != nil {
		return nil, nil, err
	}
	tokens, err := f.appTokens(e, progress)
	if err != nil {
		return nil, nil, err
	}
	bounds := e.limits
	bounds.Tenant = servers
	reading := gitops.Options{
		Replace: f.replace, Worktree: f.worktree, Env: e.env, Helper: gitops.GitCredential,
		Sleep: e.sleep, Limits: bounds, Progress: progress.step, Waiting: progress.wait,
	}
	if tokens != nil {
		reading.Tokens = tokens
	}
	reader, err := gitops.NewReader(reading)
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	return reader, gitops.NewLoader(reader, gitops.ControlPlane{
		Repo: repo, BaseBranch: f.baseBranch, Base: f.base, Options: options,
	}), nil
}

// reach returns a session that has read nothing yet, and what reads the control plane.
func (f *fleetFlags) reach(e *edges) (*session, *gitops.Loader, error) {
	e, progress := e.withProgress(f.color)
	reader, loader, err := f.open(e, progress)
	if err != nil {
		return nil, nil, err
	}
	return &session{edges: e, flags: f, progress: progress, reader: reader}, loader, nil
}

// findControlPlane returns what --control-plane says, else the workflow's repository, else the one
// around the current folder.
func (f *fleetFlags) findControlPlane(e *edges) (string, error) {
	if f.controlPlane != "" {
		return f.controlPlane, nil
	}
	if server, repo := e.env("GITHUB_SERVER_URL"), e.env("GITHUB_REPOSITORY"); server != "" && repo != "" {
		return server + "/" + repo, nil
	}
	dir, err := e.workingDir()
	if err != nil {
		return "", err
	}
	for folder := dir; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			return folder, nil
		}
		if folder == filepath.Dir(folder) {
			return "", usageError("there is no git repository around %s: say which control plane with --control-plane URL-OR-PATH", dir)
		}
	}
}

// choose returns the environments to compile: those that --env names; in a workflow those whose
// branch was pushed; else everything if all is true.
func (f *fleetFlags) choose(e *edges, environments []*model.Environment, all bool) ([]*model.Environment, error) {
	names := environmentNames(environments)
	if len(f.environments) > 0 {
		var chosen []*model.Environment
		for _, name := range strings.Split(strings.Join(f.environments, ","), ",") {
			i := slices.Index(names, name)
			if i < 0 {
				return nil, usageError("there is no environment %q (%s)", name, diag.DidYouMean(name, names))
			}
			if !slices.Contains(chosen, environments[i]) {
				chosen = append(chosen, environments[i])
			}
		}
		return chosen, nil
	}
	if all {
		return environments, nil
	}
	if e.env("GITHUB_ACTIONS") == "true" {
		pushed := slices.DeleteFunc(slices.Clone(environments), func(environment *model.Environment) bool {
			return environment.ControlPlane.Branch.Value != e.env("GITHUB_REF_NAME")
		})
		if len(pushed) > 0 {
			return pushed, nil
		}
	}
	return nil, usageError("say which environment with --env: %s", strings.Join(names, ", "))
}

func environmentNames(environments []*model.Environment) []string {
	names := make([]string, len(environments))
	for i, environment := range environments {
		names[i] = environment.Name.Value
	}
	return names
}

// completeEnvironments reads the names of the environments if that needs no network.
func (f *fleetFlags) completeEnvironments(cmd *cobra.Command, e *edges) []string {
	_, environments, _, done := f.readLocal(cmd, e)
	defer done()
	return environmentNames(environments)
}

// readLocal reads the environments if that needs no network, for the shell to complete their names. Call done after
// that.
func (f *fleetFlags) readLocal(cmd *cobra.Command, e *edges) (loader *gitops.Loader, environments []*model.Environment, diags diag.List, done func()) {
	done = func() {}
	if err := fromEnvironment(cmd.Flags(), e.env); err != nil {
		return nil, nil, nil, done
	}
	reader, loader, err := f.open(e, nil)
	if err != nil {
		return nil, nil, nil, done
	}
	done = func() { _ = reader.Close() } // nothing was written through it
	repo, err := f.findControlPlane(e)
	if err != nil || !reader.IsLocal(repo) {
		return nil, nil, nil, done
	}
	environments, diags = loader.Environments(cmd.Context())
	return loader, environments, diags, done
}

// addOutputFlag adds -o.
func addOutputFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVarP(format, "output", "o", formatText, fmt.Sprintf("`format` of the result: %s", strings.Join(formats(), ", ")))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
}
