package initialize

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// The state of a file.
const (
	fileWritten = "written"
	fileSame    = "unchanged"
	// fileKept is an existing file that differs.
	fileKept = "kept"
)

// writeWorkflows writes the workflows of a place that do not exist.
func (f *initFlags) writeWorkflows(cmd *cobra.Command, e *cli.Host, directory string, place scaffold.Place) error {
	around, known, err := environmentsAround(cmd, e, f.baseBranch)
	if err != nil && len(f.environments) == 0 && slices.Contains(usedBy(place), "env") {
		return err
	}
	plan, err := f.plan(cmd.Context(), e, f.fieldsOf(place, around), known)
	if err != nil {
		return err
	}
	files, err := plan.Workflows(place)
	if err != nil {
		return err
	}
	states, err := writeMissing(directory, files)
	if err != nil {
		return cli.Failure("write the workflows: %w", err)
	}
	result := Result{Next: nextOfWorkflows(place, files)}
	if missing := withoutFleet(plan, known); place == scaffold.OfControlPlane && len(missing) > 0 {
		result.Next = append(result.Next, fleetSourceStep(missing))
	}
	kept := false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := filepath.ToSlash(filepath.Join(directory, scaffold.WorkflowDirectory, name))
		result.Files = append(result.Files, createdFile{Path: at, State: states[name]})
		kept = kept || states[name] == fileKept
	}
	if kept {
		result.Next = append([]nextStep{compareStep(cmd.Flags(), directory)}, result.Next...)
	}
	return f.print(e, result)
}

// compareStep is the step for files that exist and differ: it writes the current ones to another directory.
func compareStep(flags *pflag.FlagSet, directory string) nextStep {
	command := "kalypso init /tmp/new"
	flags.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if !slices.Contains([]string{"output", "directory", "quiet"}, flag.Name) {
				command += " --" + flag.Name + " " + scaffold.ShellWord(value)
			}
		}
	})
	at := scaffold.ShellWord(filepath.ToSlash(filepath.Join(directory, scaffold.WorkflowDirectory)))
	return nextStep{
		What: "compare the files that were kept with those of this version",
		Run:  []string{command, "diff -r " + at + " /tmp/new/" + scaffold.WorkflowDirectory},
	}
}

// environmentsAround returns the environments of the control plane that contains the current directory, in the order of
// the chain, and the fleets of each; none if the directory is in no control plane. The error is a usage error if workflows
// cannot be generated for them.
func environmentsAround(cmd *cobra.Command, e *cli.Host, baseBranch string) (names []string, fleets map[string][]string, err error) {
	f := &session.Flags{BaseBranch: baseBranch}
	_, environments, diags, done := f.ReadLocal(cmd, e)
	defer done()
	if diags.HasErrors() {
		return nil, nil, nil // the names of unreadable environments are unknown
	}
	fleets = map[string][]string{}
	for _, environment := range environments {
		if promotion := environment.Promotion; promotion != nil {
			for _, fleet := range promotion.Checks.Fleets {
				fleets[environment.Name.Value] = append(fleets[environment.Name.Value], fleet.Value)
			}
		}
		if name, branch := environment.Name.Value, environment.ControlPlane.Branch.Value; name != branch {
			return nil, nil, cli.Usage("environment %q uses the branch %q, but workflows need equal names: set --env and edit the branch names in the workflows",
				name, branch)
		}
	}
	if chain, _ := promote.NewChain(environments); chain != nil {
		return chain.Order(), fleets, nil
	}
	return session.EnvironmentNames(environments), fleets, nil
}

// fieldsOf are the fields that the workflows of a place use. The default of --env are the existing environments, if they are
// known.
func (f *initFlags) fieldsOf(place scaffold.Place, environments []string) []field {
	fields := slices.DeleteFunc(f.fields(), func(f field) bool { return !slices.Contains(usedBy(place), f.flag) })
	for i := range fields {
		if fields[i].flag == "env" {
			fields[i].proposal, fields[i].optional = always(strings.Join(environments, " ")), len(environments) > 0
		}
	}
	return fields
}

// usedBy are the flags that the workflows of a place use.
func usedBy(place scaffold.Place) []string {
	return map[scaffold.Place][]string{
		scaffold.OfControlPlane: {"env", "fleet"},
		scaffold.OfEnvironment:  {"env"},
		scaffold.OfGitOps:       {"control-plane", "env"},
		scaffold.OfApplication:  {"control-plane"},
	}[place]
}

// writeMissing writes the workflows that do not exist in a directory and returns the state of each. It follows no link out of
// the directory.
func writeMissing(directory string, files scaffold.Files) (states map[string]string, err error) {
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.MkdirAll(filepath.FromSlash(scaffold.WorkflowDirectory), 0o777); err != nil {
		return nil, err
	}
	states = map[string]string{}
	for name, text := range files {
		if states[name], err = writeFile(root, filepath.Join(filepath.FromSlash(scaffold.WorkflowDirectory), name), text); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// writeFile writes a file unless its path exists.
func writeFile(root *os.Root, name, text string) (state string, err error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() { // reading a pipe would block
			return fileKept, nil
		}
		if there, err := root.ReadFile(name); err == nil && string(there) == text {
			return fileSame, nil
		}
		return fileKept, nil
	}
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, root.Remove(name)) // the next run would keep the incomplete file
	}
	return fileWritten, nil
}
