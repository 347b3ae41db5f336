package initialize

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
)

// Result is the result of init, in JSON.
type Result struct {
	FormatVersion string `json:"formatVersion"`
	// Sample is the directory of the sample.
	Sample       string              `json:"sample,omitempty"`
	Repositories []createdRepository `json:"repositories,omitempty"`
	Files        []createdFile       `json:"files,omitempty"`
	// Next are the next steps of the user, in order.
	Next []nextStep `json:"next"`
}

// nextStep is a step of the user.
type nextStep struct {
	What string `json:"what"`
	// Run are commands, and See is the URL of a page with instructions.
	Run []string `json:"run,omitempty"`
	See string   `json:"see,omitempty"`
}

type createdRepository struct {
	Path string `json:"path"`
	// Origin is the URL of the remote.
	Origin   string          `json:"origin,omitempty"`
	Branches []createdBranch `json:"branches"`
}

type createdBranch struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

type createdFile struct {
	Path string `json:"path"`
	// State is written, unchanged, or kept: a different file exists.
	State string `json:"state"`
}

// print prints the result and the next steps.
func (f *initFlags) print(e *cli.Host, result Result) error {
	result.FormatVersion = results.Version
	if f.format != results.Text {
		return results.Print(e.Stdout, f.format, result)
	}
	var b strings.Builder
	if result.Sample != "" {
		fmt.Fprintf(&b, "created %s: a sample fleet of %d repositories\n", result.Sample, len(result.Repositories))
	} else {
		for _, r := range result.Repositories {
			var names []string
			for _, branch := range r.Branches {
				names = append(names, branch.Name)
			}
			noun := "branches"
			if len(names) == 1 {
				noun = "branch"
			}
			fmt.Fprintf(&b, "created %s with %s %s\n", r.Path, noun, strings.Join(names, ", "))
		}
	}
	for _, file := range result.Files {
		note := ""
		if file.State == fileKept {
			note = ": it exists and differs"
		}
		fmt.Fprintf(&b, "%-9s  %s%s\n", file.State, file.Path, note)
	}
	b.WriteString("\nnext:\n")
	for i, step := range result.Next {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, step.What)
		for _, command := range step.Run {
			fmt.Fprintf(&b, "       %s\n", command)
		}
		if step.See != "" {
			fmt.Fprintf(&b, "       see %s\n", step.See)
		}
	}
	_, err := fmt.Fprint(e.Stdout, b.String())
	return err
}

func nextOfSample(directory string) []nextStep {
	return []nextStep{
		{What: "change to the directory and load its settings", Run: []string{"cd " + scaffold.ShellWord(directory), ". ./env.sh"}},
		{What: "compile all environments and publish dev", Run: []string{"kalypso validate", "kalypso render --env dev"}},
		{What: "follow README.md or the tutorial", See: scaffold.Doc("tutorial")},
	}
}

func nextOfFleet(plan scaffold.Fleet, directory string) []nextStep {
	first := plan.Environments[0]
	pull := "merge the pull requests that the workflow render opens, and connect the clusters"
	if plan.Reconciler == "argocd" {
		pull += "; Argo CD needs a health check for Applications"
	}
	at := func(url string) string {
		return scaffold.ShellWord(filepath.ToSlash(filepath.Join(directory, directoryOf(url))))
	}
	control, output := at(plan.ControlPlane), at(plan.GitOps)
	steps := []nextStep{
		{What: "preview what would be published; this needs no network", Run: []string{
			"kalypso render --env " + first + " --dry-run --control-plane " + control + " --replace " + plan.GitOps + "=" + output,
		}},
		{What: "create two empty repositories: " + plan.ControlPlane + " and " + plan.GitOps},
		{What: "create a GitHub App with access to both, and give the workflows its id and private key", See: scaffold.Doc("how-to/set-up-github")},
		{What: "push both, and make " + plan.Base + " the default branch of the control plane", Run: []string{
			"git -C " + output + " push --all --set-upstream origin",
			"git -C " + control + " push --all --set-upstream origin",
		}},
		{What: pull, See: scaffold.Doc("how-to/let-clusters-pull")},
	}
	return append(nextOfAction(plan), steps...)
}

// nextOfAction is the step for workflows that do not name a commit of the action, on all branches of both repositories.
func nextOfAction(plan scaffold.Fleet) []nextStep {
	if !strings.Contains(plan.Action, "EDIT") {
		return nil
	}
	return []nextStep{{
		What: "delete both directories and run init again with --action " + scaffold.Action + "@COMMIT, a commit of kalypso that you trust: this binary does not know its own commit, so the workflows do not work yet",
	}}
}

func nextOfWorkflows(place scaffold.Place, files scaffold.Files) []nextStep {
	where := map[scaffold.Place]string{
		scaffold.OfControlPlane: "the base branch of the control plane",
		scaffold.OfEnvironment:  "the branch of each environment in the control plane",
		scaffold.OfGitOps:       "the branch of each environment in the GitOps repository",
		scaffold.OfApplication:  "the registered branch of the application repository",
	}[place]
	commit := "commit them to " + where
	for _, text := range files {
		if strings.Contains(text, "EDIT") {
			commit = "complete the lines marked EDIT, and commit the files to " + where
		}
	}
	steps := []nextStep{{What: commit}}
	if place != scaffold.OfApplication {
		steps = append(steps, nextStep{What: "create a GitHub App for the workflows", See: scaffold.Doc("how-to/set-up-github")})
	}
	return steps
}
