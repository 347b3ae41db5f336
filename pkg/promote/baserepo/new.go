package baserepo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Spec is what a new BaseRepo says.
type Spec struct {
	Repo, Branch string
	// Path is "." if empty.
	Path string
	// Commit has 40 hexadecimal digits in lower case.
	Commit string
}

// path is the folder that is read.
func (s Spec) path() string { return cmp.Or(s.Path, ".") }

// New returns the file that holds the BaseRepo "main" of an environment that was never promoted.
func New(spec Spec) []byte {
	return fmt.Appendf(nil, `apiVersion: %s
kind: BaseRepo
metadata:
  name: %s
spec:
  repo: %s
  branch: %s
  path: %s
  commit: %s
`, model.APIVersion, model.MainBase, yamlText(spec.Repo), yamlText(spec.Branch), yamlText(spec.path()), commitText(spec.Commit, 0))
}

var (
	// surelyText is what no YAML reads as anything but a text: it begins with a letter, or is a relative path.
	surelyText = regexp.MustCompile(`^(?:[A-Za-z]|\.\.?/|\.$)(?:[A-Za-z0-9._/@+%~-]|:[A-Za-z0-9._/@+%~-])*$`)
	// yamlWord is what YAML 1.1 reads as something else. https://yaml.org/type/bool.html, https://yaml.org/type/null.html
	yamlWord = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
)

// yamlText writes a text, in quotes if YAML could read something else.
func yamlText(text string) string {
	if surelyText.MatchString(text) && !yamlWord.MatchString(text) {
		return text
	}
	return strconv.Quote(text) // its escapes are among those of YAML
}

// Append returns a file that exists and holds other things with the BaseRepo "main" as its last document. What
// is there stays as it is, but for a line break at its end, and the lines end as those of the file. It is an *EditError if the file cannot be read, or if a
// BaseRepo "main" is in it already.
func Append(file []byte, spec Spec) ([]byte, error) {
	added := New(spec)
	was := readBases(file)
	switch {
	case was.errors > 0:
		return nil, &EditError{Message: "the file has errors, so nothing is added to it", Hint: "mend it first"}
	case slices.ContainsFunc(was.bases, func(b *model.BaseRepo) bool { return b.Name.Value == model.MainBase }):
		return nil, &EditError{Message: fmt.Sprintf("the file holds a BaseRepo %q already", model.MainBase), Hint: "change its commit"}
	}
	newLine := "\n"
	if bytes.Contains(file, []byte("\r\n")) {
		newLine = "\r\n"
	}
	changed := append(bytes.Clone(file), separation(file, newLine)...)
	changed = append(changed, strings.ReplaceAll(string(added), "\n", newLine)...)
	if err := verifyAppended(file, changed, spec); err != nil {
		return nil, &EditError{Message: err.Error(), Hint: fmt.Sprintf("add a BaseRepo %q by hand", model.MainBase)}
	}
	return changed, nil
}

// separation is what is needed behind a file for a document to follow.
func separation(file []byte, newLine string) string {
	lines := strings.TrimPrefix(string(file), byteOrderMark)
	text := ""
	if lines != "" && !strings.HasSuffix(lines, "\n") {
		text = newLine
	}
	all := chunks(file)
	if last := all[len(all)-1]; strings.TrimSpace(last.text) == "" || last.text == "---\n" || last.text == "---\r\n" {
		return text // nothing, or a separator, is before it
	}
	return text + "---" + newLine
}

// verifyAppended checks that a file has one more document, the one that is wanted, and those that it had.
func verifyAppended(before, after []byte, spec Spec) error {
	was, is := readBases(before), readBases(after)
	if is.errors > 0 || len(is.bases) != len(was.bases)+1 {
		return errors.New("a BaseRepo cannot be added to the file")
	}
	base := is.bases[len(is.bases)-1]
	got := Spec{base.Repo.Value, base.Branch.Value, base.Path.Value, base.Commit.Value}
	spec.Path = spec.path()
	if base.Name.Value != model.MainBase || got != spec {
		return errors.New("the BaseRepo would not be read as it is meant")
	}
	a, err := documents(before)
	if err != nil {
		return err
	}
	b, err := documents(after)
	if err != nil {
		return err
	}
	if len(b) != len(a)+1 || !slices.EqualFunc(a, b[:len(a)], sameTree) {
		return errors.New("what the file holds would change")
	}
	return nil
}
