package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/scaffold"
)

// What became of a file.
const (
	fileWritten = "written"
	fileSame    = "unchanged"
	// fileKept differs from what would be written.
	fileKept = "kept"
)

// writeWorkflows writes the workflows of a place that are not there yet.
func (f *initFlags) writeWorkflows(ctx context.Context, e *edges, folder string, place scaffold.Place) error {
	plan, err := f.plan(ctx, e, f.fieldsOf(place))
	if err != nil {
		return err
	}
	files, err := plan.Workflows(place)
	if err != nil {
		return err
	}
	dir := filepath.Join(folder, filepath.FromSlash(scaffold.WorkflowFolder))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return cannotWrite(err)
	}
	result := initResult{Next: nextOfWorkflows(place)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		state, err := writeMissing(filepath.Join(dir, name), files[name])
		if err != nil {
			return cannotWrite(err)
		}
		result.Files = append(result.Files, createdFile{Path: filepath.ToSlash(filepath.Join(dir, name)), State: state})
	}
	return f.print(e, result)
}

// fieldsOf are those that the workflows of a place show.
func (f *initFlags) fieldsOf(place scaffold.Place) []field {
	wanted := map[scaffold.Place][]string{
		scaffold.OfControlPlane: {"env", "fleet"},
		scaffold.OfEnvironment:  {"env"},
		scaffold.OfGitOps:       {"control-plane", "env"},
		scaffold.OfApplication:  {"control-plane"},
	}[place]
	return slices.DeleteFunc(f.fields(), func(f field) bool { return !slices.Contains(wanted, f.flag) })
}

// writeMissing writes a file unless there is one.
func writeMissing(name, text string) (state string, err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		there, err := os.ReadFile(name)
		if err == nil && string(there) == text {
			return fileSame, nil
		}
		return fileKept, err
	}
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	return fileWritten, errors.Join(err, file.Close())
}
