package initialize

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
)

// Result is what init has made, in JSON.
type Result struct {
	FormatVersion string `json:"formatVersion"`
	// Sample is the folder of the sample.
	Sample       string              `json:"sample,omitempty"`
	Repositories []createdRepository `json:"repositories,omitempty"`
	Files        []createdFile       `json:"files,omitempty"`
	// Next is what people do next, in this order.
	Next []nextStep `json:"next"`
}

// nextStep is something that people do.
type nextStep struct {
	What string `json:"what"`
	// Run are commands, and See is a page that says how.
	Run []string `json:"run,omitempty"`
	See string   `json:"see,omitempty"`
}

type createdRepository struct {
	Path string `json:"path"`
	// Origin is the URL that it is to be pushed to.
	Origin   string          `json:"origin,omitempty"`
	Branches []createdBranch `json:"branches"`
}

type createdBranch struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

type createdFile struct {
	Path string `json:"path"`
	// State is written, unchanged, or kept: there was one already that differs.
	State string `json:"state"`
}

// print prints what was made, and what to do next.
func (f *initFlags) print(e *cli.Host, result Result) error {
	result.FormatVersion = results.Version
	if f.format != results.Text {
		return results.Print(e.Stdout, f.format, result)
	}
	var b strings.Builder
	if result.Sample != "" {
		fmt.Fprintf(&b, "made %s: a whole fleet on this machine, in %d repositories\n", result.Sample, len(result.Repositories))
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
			fmt.Fprintf(&b, "made %s, with the %s %s\n", r.Path, noun, strings.Join(names, ", "))
		}
	}
	for _, file := range result.Files {
		note := ""
		if file.State == fileKept {
			note = ": there is one already, and it differs"
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

func nextOfSample(folder string) []nextStep {
	return []nextStep{
		{What: "go there, and let kalypso read what is there", Run: []string{"cd " + scaffold.ShellWord(folder), ". ./env.sh"}},
		{What: "compile all environments, and publish dev", Run: []string{"kalypso validate", "kalypso render --env dev"}},
		{What: "go on with README.md, or the tutorial", See: scaffold.Doc("tutorial")},
	}
}

func nextOfFleet(plan scaffold.Fleet, folder string) []nextStep {
	first := plan.Environments[0]
	pull := "merge the pull requests that the workflow render opens, and let the clusters pull"
	if plan.Reconciler == "argocd" {
		pull += "; Argo CD needs a health check for Applications"
	}
	at := func(url string) string {
		return scaffold.ShellWord(filepath.ToSlash(filepath.Join(folder, folderOf(url))))
	}
	control, output := at(plan.ControlPlane), at(plan.GitOps)
	steps := []nextStep{
		{What: "see what would be published, without any server", Run: []string{
			"kalypso render --env " + first + " --dry-run --control-plane " + control + " --replace " + plan.GitOps + "=" + output,
		}},
		{What: "make two empty repositories, " + plan.ControlPlane + " and " + plan.GitOps},
		{What: "give a GitHub App access to them, and its id and key to the workflows", See: scaffold.Doc("how-to/set-up-github")},
		{What: "push, and see to it that " + plan.Base + " is the default branch of the control plane", Run: []string{
			"git -C " + output + " push --all --set-upstream origin",
			"git -C " + control + " push --all --set-upstream origin",
		}},
		{What: pull, See: scaffold.Doc("how-to/let-clusters-pull")},
	}
	return append(nextOfAction(plan), steps...)
}

// nextOfAction says what to do if workflows cannot name the action: they are on all branches of both repositories.
func nextOfAction(plan scaffold.Fleet) []nextStep {
	if !strings.Contains(plan.Action, "EDIT") {
		return nil
	}
	return []nextStep{{
		What: "remove both folders, and begin again with --action " + scaffold.Action + "@ and the commit of kalypso that you trust: this program does not know its own, so the workflows do not work yet",
	}}
}

func nextOfWorkflows(place scaffold.Place) []nextStep {
	where := map[scaffold.Place]string{
		scaffold.OfControlPlane: "the base branch of the control plane",
		scaffold.OfEnvironment:  "the branch of each environment in the control plane",
		scaffold.OfGitOps:       "the branch of each environment in the GitOps repository",
		scaffold.OfApplication:  "the registered branch of the application repository",
	}[place]
	return []nextStep{
		{What: "look for EDIT in them, and commit them on " + where},
		{What: "give them a GitHub App", See: scaffold.Doc("how-to/set-up-github")},
	}
}
