package baserepo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// readBases reads a file as a run does, and counts the errors in it.
func readBases(file []byte) (bases []*model.BaseRepo, problems int) {
	objects, diags := model.ParseFile(BaseRepoFile, file)
	return objects.BaseRepos, diags.Count(diag.Error)
}

// verifyCommit checks that the values of a file differ in nothing but the commit of the BaseRepo at a place. That no
// other byte differs is left to whoever made the change; an alias can make one changed byte change several values.
func verifyCommit(before, after []byte, at diag.Place, commit string) error {
	_, problems := readBases(before)
	bases, left := readBases(after)
	i := slices.IndexFunc(bases, func(b *model.BaseRepo) bool { return b.At.Line == at.Line && b.At.Column == at.Column })
	switch {
	case i < 0 || left > problems:
		return errors.New("the file would have errors")
	case bases[i].Broken:
		return errors.New("the BaseRepo has errors, which are to be mended first")
	case bases[i].Commit.Value != commit:
		return errors.New("the commit would not be read as it is written")
	}
	a, errBefore := documents(before)
	b, errAfter := documents(after)
	if err := cmp.Or(errBefore, errAfter); err != nil {
		return err
	}
	changed := 0
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			changed++
			removeCommit(a[i])
			removeCommit(b[i])
		}
	}
	if changed > 1 || !reflect.DeepEqual(a, b) {
		return errors.New("more than the commit would change")
	}
	return nil
}

// removeCommit removes spec.commit from a document.
func removeCommit(document any) {
	fields, _ := document.(map[string]any)
	spec, _ := fields["spec"].(map[string]any)
	delete(spec, "commit")
}

// documents returns the values of all documents of a file but empty ones, with aliases replaced by what they stand for.
func documents(file []byte) ([]any, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(file))
	var all []any
	for {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("invalid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		case document != nil:
			all = append(all, document)
		}
	}
}
