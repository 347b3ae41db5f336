package baserepo

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// BaseRepoFile is the file that a BaseRepo is written to if there is none yet.
const BaseRepoFile = "base-repo.yaml"

// Spec is what a new BaseRepo says; its path is the root of the repository.
type Spec struct {
	Repo, Branch string
	// Commit has 40 hexadecimal digits in lower case.
	Commit string
}

// New returns the file that holds the BaseRepo "main" of an environment that was never promoted.
func New(spec Spec) []byte {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	_ = encoder.Encode(struct { // a buffer takes all
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct{ Repo, Branch, Path, Commit string }
	}{
		model.APIVersion, "BaseRepo", struct{ Name string }{model.MainBase},
		struct{ Repo, Branch, Path, Commit string }{spec.Repo, spec.Branch, ".", spec.Commit},
	})
	return text.Bytes()
}

// Append returns an existing file with the BaseRepo "main" as its last document. The rest of the file stays as it is, but
// for a line break at its end. A file that cannot be read, or that holds a BaseRepo "main", is an *EditError.
func Append(file []byte, spec Spec) ([]byte, error) {
	bases, problems := readBases(file)
	switch {
	case problems > 0:
		return nil, &EditError{Message: "the file has errors, so nothing is added to it", Hint: "mend it first"}
	case slices.ContainsFunc(bases, func(b *model.BaseRepo) bool { return b.Name.Value == model.MainBase }):
		return nil, &EditError{Message: fmt.Sprintf("the file holds a BaseRepo %q already", model.MainBase), Hint: "change its commit"}
	}
	newLine := lineBreak(string(file))
	changed := append(bytes.Clone(file), separation(string(file), newLine)...)
	changed = append(changed, strings.ReplaceAll(string(New(spec)), "\n", newLine)...)
	was, errBefore := documents(file)
	is, errAfter := documents(changed)
	_, problems = readBases(changed)
	if cmp.Or(errBefore, errAfter) != nil || problems > 0 || len(is) != len(was)+1 || !slices.EqualFunc(was, is[:len(was)], reflect.DeepEqual) {
		return nil, &EditError{Message: "what the file holds would change", Hint: fmt.Sprintf("add a BaseRepo %q by hand", model.MainBase)}
	}
	return changed, nil
}

// separation returns what must follow a file before another document can.
func separation(file, newLine string) (text string) {
	file = strings.TrimPrefix(file, "\ufeff") // byte order mark
	lines := strings.Split(strings.TrimRight(file, "\r\n"), "\n")
	if file != "" && !strings.HasSuffix(file, "\n") {
		text = newLine
	}
	if strings.TrimSpace(file) != "" && !strings.HasPrefix(lines[len(lines)-1], "---") {
		text += "---" + newLine
	}
	return text
}

// lineBreak returns the line break that a file uses.
func lineBreak(file string) string {
	if strings.Contains(file, "\r\n") {
		return "\r\n"
	}
	return "\n"
}
