// Package initialize is kalypso init: it creates a new fleet, a sample fleet, or the workflows of a repository.
package initialize

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet"
)

// initFlags are the flags of init.
type initFlags struct {
	controlPlane, gitops string
	environments         []string
	baseBranch           string
	reconciler           string
	fleets               []string
	action               string
	author               string
	sample               string
	workflows            string
	format               string
}

// New returns kalypso init.
func New(e *cli.Host) *cobra.Command {
	f := &initFlags{}
	cmd := &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Create a control plane, a GitOps repository and workflows, or a sample fleet",
		Long: `Create a control plane and a GitOps repository with all their branches, in two new directories in FOLDER
(default: the current directory), ready to push: templates for Flux and Argo CD, an Environment for each
environment, an example workload, cluster type, policy and configuration, and the workflows that
validate, publish and promote. On a terminal, init prompts for required values that no flag sets.

With --sample, create a complete sample fleet on this machine. With --workflows, write only the
workflows for one kind of branch, in FOLDER/.github/workflows, for an existing fleet:
  control-plane  the base branch of the control plane
  environment    the branch of an environment in the control plane
  gitops         the branch of an environment in the GitOps repository
  application    the registered branch of an application repository

This command never overwrites files, and sends nothing over the network.`,
		Example: `  kalypso init
  kalypso init --control-plane https://github.com/acme/control-plane --gitops https://github.com/acme/gitops
  kalypso init --env dev,prod --fleet dev=flux:dev-1,dev-2 --fleet prod=flux:prod-1
  kalypso init --sample playground
  kalypso init --workflows control-plane --env dev,prod`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := results.CheckFormat(f.format); err != nil {
				return err
			}
			directory := "."
			if len(args) > 0 {
				directory = args[0]
			}
			if directory == "" || strings.ContainsFunc(directory, unicode.IsControl) {
				return cli.Usage("%q is not a valid directory name", directory)
			}
			if names := cli.Split(f.environments); len(names) > 0 {
				f.environments = names
			}
			return f.run(cmd, e, directory)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.controlPlane, "control-plane", "", "`URL` of the control plane")
	flags.StringVar(&f.gitops, "gitops", "", "`URL` of the GitOps repository")
	flags.StringArrayVarP(&f.environments, "env", "e", nil, "`environment`, in promotion order (repeatable; default dev, stage, prod; with --workflows, those of the control plane in the current directory)")
	flags.StringVar(&f.baseBranch, "base-branch", "main", "base `branch` of the control plane, shared by all environments")
	flags.StringVar(&f.reconciler, "reconciler", "", "`name` of the GitOps reconciler of the example's clusters: "+strings.Join(scaffold.Reconcilers(), " or ")+" (default "+scaffold.Reconcilers()[0]+")")
	flags.StringArrayVar(&f.fleets, "fleet", nil, "fleet source for check-promote: `[ENV=]FLEET`, for one environment or for all, as in check-promote --fleet (repeatable; default: manual confirmation)")
	flags.StringVar(&f.action, "action", "", "`OWNER/NAME@REF` of the action that workflows use (default: the kalypso action at the commit of this binary)")
	flags.StringVar(&f.author, "author", "", "commit author: `\"NAME <EMAIL>\"` (default: kalypso)")
	flags.StringVar(&f.sample, "sample", "", "create a sample fleet in this new or empty `directory`")
	flags.StringVar(&f.workflows, "workflows", "", "write only the workflows for this `kind` of branch: "+strings.Join(scaffold.Places(), ", "))
	cli.AddOutputFlag(cmd, e, &f.format)
	cli.Group(flags, cli.Fleet, "control-plane gitops env reconciler fleet base-branch action author", "")
	cli.Group(flags, cli.Output, "sample workflows output", "")
	e.CompleteFlag(cmd, "reconciler", scaffold.Reconcilers()...)
	e.CompleteFlag(cmd, "workflows", scaffold.Places()...)
	return cmd
}

func (f *initFlags) run(cmd *cobra.Command, e *cli.Host, directory string) error {
	flags := cmd.Flags()
	switch {
	case flags.Changed("sample"):
		if err := onlyFlags(flags, "--sample", "sample"); err != nil {
			return err
		}
		return f.makeSample(cmd, e)
	case flags.Changed("workflows"):
		if !slices.Contains(scaffold.Places(), f.workflows) {
			return cli.InvalidValue("workflows", f.workflows, diag.Alternatives(scaffold.Places()))
		}
		counts := append([]string{"workflows", "base-branch", "action"}, usedBy(f.workflows)...)
		if err := onlyFlags(flags, "--workflows "+f.workflows, counts...); err != nil {
			return err
		}
		return f.writeWorkflows(cmd, e, directory, f.workflows)
	}
	return f.makeFleet(cmd.Context(), e, directory)
}

// onlyFlags refuses unused flags. KALYPSO_ variables may be meant for other commands.
func onlyFlags(flags *pflag.FlagSet, what string, counts ...string) error {
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(append(counts, "output", "directory", "quiet"), flag.Name) && !cli.FromVariable(flag) {
			err = cli.Usage("--%s cannot be combined with %s", flag.Name, what)
		}
	})
	return err
}

// plan prompts for the missing values of fields and checks all of them. known has the fleet sources of existing
// environments by name; nil if there are none.
func (f *initFlags) plan(ctx context.Context, e *cli.Host, fields []field, known map[string][]string) (scaffold.Fleet, error) {
	answers := bufio.NewReader(e.Stdin)
	if err := ask(ctx, e, answers, fields); err != nil {
		return scaffold.Fleet{}, err
	}
	plan := scaffold.Fleet{
		ControlPlane: httpsURL(f.controlPlane), GitOps: httpsURL(f.gitops), Base: f.baseBranch, Environments: f.environments,
		Reconciler: f.reconciler,
	}
	if slices.ContainsFunc(fields, func(f field) bool { return f.flag == "fleet" }) {
		var err error
		if plan.FleetSources, err = f.fleetSources(ctx, e, answers, known); err != nil {
			return plan, err
		}
	}
	if err := f.setAction(e, &plan); err != nil {
		return plan, err
	}
	if err := plan.CheckBase(); err != nil {
		return plan, cli.Usage("--base-branch: %w", err)
	}
	return plan, nil
}

// httpsURL returns the https URL of a repository: tokens need https, and a workflow has no ssh key. A URL with an ssh
// port stays as it is.
func httpsURL(text string) string {
	normal, err := giturl.NormalURL(text)
	if err != nil || text == "" || strings.HasPrefix(strings.ToLower(text), "https://") {
		return text
	}
	return normal
}

// fields are the fields of a new fleet, in the order of the prompts.
func (f *initFlags) fields() []field {
	return []field{
		{flag: "control-plane", question: "URL of the control plane", value: &f.controlPlane, check: checkURL},
		{flag: "gitops", question: "URL of the platform GitOps repository", value: &f.gitops, check: f.checkGitOps, proposal: f.besideControlPlane},
		{flag: "env", question: "Environments, in promotion order", list: &f.environments, check: f.checkEnvironment, proposal: always("dev stage prod"), optional: true},
		{flag: "reconciler", question: "GitOps reconciler, " + strings.Join(scaffold.Reconcilers(), " or "), value: &f.reconciler, check: checkReconciler, proposal: always(scaffold.Reconcilers()[0]), optional: true},
		{flag: "fleet", list: &f.fleets, check: checkFleetFlag, optional: true}, // fleetSources prompts for each environment
	}
}

// besideControlPlane returns the URL of a repository of the same owner.
func (f *initFlags) besideControlPlane() string {
	i := strings.LastIndexByte(strings.TrimRight(f.controlPlane, "/"), '/')
	return f.controlPlane[:i+1] + "gitops"
}

func (f *initFlags) checkGitOps(url string) error {
	if err := checkURL(url); err != nil {
		return err
	}
	a, _ := giturl.NormalURL(url)
	if b, _ := giturl.NormalURL(f.controlPlane); a == b {
		return fmt.Errorf("%s is the control plane; use another repository", url)
	}
	return nil
}

// repositoryURL matches the URL of a repository without a password. git@ is the usual user of ssh.
var repositoryURL = regexp.MustCompile(`^(https://|ssh://(git@)?)[\w.-]+(:[0-9]+)?(/[\w.~][\w.~-]*){2,}/?$|^git@[\w.-]+:[\w.~][\w.~-]*(/[\w.~][\w.~-]*)+/?$`)

// checkURL returns an error if text is not the URL of a repository. The error does not repeat the URL, which may contain a
// password.
func checkURL(text string) error {
	normal, err := giturl.NormalURL(text)
	switch {
	case strings.HasPrefix(text, "file:") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "."):
		return errors.New("not a repository URL: use https://HOST/OWNER/NAME; in other commands, --replace URL=PATH reads it from a path")
	case err != nil || !repositoryURL.MatchString(text):
		return errors.New("not a repository URL: use https://HOST/OWNER/NAME or git@HOST:OWNER/NAME, without a password")
	case directoryOf(text) == ".git":
		return errors.New("not a repository URL: the repository name is missing")
	case strings.HasPrefix(normal, "https://github.com/") && strings.Count(normal, "/") != 4:
		return errors.New("not a repository URL of github.com: use https://github.com/OWNER/NAME")
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == ".." || part == "." {
			return errors.New("not a repository URL: remove . and .. from the path")
		}
	}
	return nil
}

func (f *initFlags) checkEnvironment(name string) error {
	return scaffold.Fleet{Base: f.baseBranch}.CheckEnvironment(name)
}

func checkReconciler(name string) error {
	if !slices.Contains(scaffold.Reconcilers(), name) {
		return fmt.Errorf("unknown reconciler %q: must be %s", name, diag.Alternatives(scaffold.Reconcilers()))
	}
	return nil
}

// checkFleet returns an error if check-promote or a workflow cannot use a fleet source. Tokens are not required here, only
// in the workflow.
func checkFleet(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.Contains(text, "${{") {
		return errors.New("control characters and ${{ are not allowed in a workflow")
	}
	if _, argument, _ := strings.Cut(text, ":"); strings.Contains(argument, "://") && strings.Contains(argument, "@") {
		return errors.New("remove the user from the URL: others can read the workflow")
	}
	if text == model.NoFleet {
		return nil
	}
	_, err := fleet.New(text, fleet.Options{Env: func(name string) string {
		if strings.HasPrefix(name, "ARGOCD_") && strings.Contains(name, "TOKEN") {
			return "token"
		}
		return ""
	}})
	return err
}

var (
	// actionRef matches the reference to an action in a workflow.
	actionRef = regexp.MustCompile(`^\w[\w.-]*/[\w.-]+(/[\w./-]+)?@[\w./-]+$`)
	// releaseVersion matches the version of a release.
	releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)
)

// setAction sets the action of the workflows: --action, else the commit of this binary with its release, if it is one.
func (f *initFlags) setAction(e *cli.Host, plan *scaffold.Fleet) error {
	if f.action == "" {
		plan.Action, plan.Release = ownAction(e.Build)
		return nil
	}
	if !actionRef.MatchString(f.action) {
		return cli.Usage("--action %q: use OWNER/NAME@REF", f.action)
	}
	plan.Action = f.action
	return nil
}

// ownAction returns a reference to kalypso's action by commit, which nobody can move, and the release of the commit. If the
// commit is unknown or the source was modified, the user chooses the commit.
func ownAction(b cli.Build) (ref, release string) {
	switch {
	case b.Modified:
		return scaffold.UnknownAction, ""
	case b.Commit == "" && releaseVersion.MatchString(b.Version): // built by go install
		return scaffold.Action + "@" + b.Version + " # EDIT: pin to the commit of this release", ""
	case b.Commit == "":
		return scaffold.UnknownAction, ""
	case releaseVersion.MatchString(b.Version):
		return scaffold.Action + "@" + b.Commit + " # " + b.Version, b.Version
	}
	return scaffold.Action + "@" + b.Commit, ""
}
