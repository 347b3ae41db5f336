package initialize

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
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

func newCreatedRepository(path string, r gitobject.NewRepository, tips map[string]string) createdRepository {
	made := createdRepository{Path: filepath.ToSlash(path), Origin: r.Origin}
	for _, branch := range r.Branches {
		made.Branches = append(made.Branches, createdBranch{branch.Name, tips[branch.Name]})
	}
	return made
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
			fmt.Fprintf(&b, "made %s, with the %s\n", r.Path, r.branches())
		}
	}
	for _, file := range result.Files {
		note := ""
		if file.State == fileKept {
			note = ": there is one already, and it differs"
		}
		fmt.Fprintf(&b, "%-9s  %s%s\n", file.State, file.Path, note)
	}
	writeSteps(&b, result.Next)
	_, err := fmt.Fprint(e.Stdout, b.String())
	return err
}

func (r createdRepository) branches() string {
	var names []string
	for _, branch := range r.Branches {
		names = append(names, branch.Name)
	}
	if len(names) == 1 {
		return "branch " + names[0]
	}
	return "branches " + strings.Join(names, ", ")
}

func writeSteps(b *strings.Builder, steps []nextStep) {
	b.WriteString("\nnext:\n")
	for i, step := range steps {
		fmt.Fprintf(b, "  %d. %s\n", i+1, step.What)
		for _, command := range step.Run {
			fmt.Fprintf(b, "       %s\n", command)
		}
		if step.See != "" {
			fmt.Fprintf(b, "       see %s\n", step.See)
		}
	}
}
