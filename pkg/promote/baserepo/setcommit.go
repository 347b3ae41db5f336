package baserepo

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RuleUnsafeEdit is a BaseRepo whose commit cannot be replaced without a risk that something else changes.
const RuleUnsafeEdit = "unsafe-edit"

// EditError is a file that a person must change. Nothing was written.
type EditError struct {
	// At is the place to change; zero if only the caller knows the file.
	At diag.Place
	// Message is one line; Hint says what to write.
	Message, Hint string
}

func (e *EditError) Error() string { return e.Message }

// SetCommit returns the file in which base was found with another spec.commit and every other byte unchanged. The value
// keeps its quotes. If there is none, a line with it follows the last field of spec.
//
// The places of base must be those of the file, as model.Parse gives them. commit has 40 hexadecimal digits in lower
// case. A file that cannot be edited safely is an *EditError: a value that is not one plain or quoted scalar on one line,
// or that an alias uses elsewhere.
func SetCommit(file []byte, base *model.BaseRepo, commit string) ([]byte, error) {
	if !commitID.MatchString(commit) {
		return nil, fmt.Errorf("%q is not a full commit SHA of 40 hexadecimal digits in lower case", commit)
	}
	if base.Commit.Value == commit && !base.Broken {
		return bytes.Clone(file), nil
	}
	s, err := findSlot(string(file), base)
	if err != nil {
		return nil, unsafeEdit(base, commit, err)
	}
	changed := []byte(s.fill(string(file), s.quote+commit+s.quote))
	if err := verifyCommit(file, changed, base.At, commit); err != nil {
		return nil, unsafeEdit(base, commit, err)
	}
	return changed, nil
}

// OnlyCommitChanged reports whether two versions of a file differ in nothing but spec.commit of BaseRepos. It is false if
// a version has errors or holds no BaseRepo. A commit that changes nothing else is not promoted, so that an environment
// that shares a branch with its base does not promote its own promotions.
func OnlyCommitChanged(before, after []byte) bool {
	was, ok := withSameCommits(before)
	if !ok {
		return false
	}
	is, ok := withSameCommits(after)
	return ok && was == is
}

// withSameCommits returns a file in which every BaseRepo has the same commit. ok is false if it holds no BaseRepo or has
// errors.
func withSameCommits(file []byte) (text string, ok bool) {
	bases, problems := readBases(file)
	if problems > 0 || len(bases) == 0 {
		return "", false
	}
	text = string(file)
	for _, base := range slices.Backward(bases) { // so that the places of the others stay valid
		if s, err := findSlot(text, base); err == nil {
			text = s.fill(text, "commit")
		}
	}
	return text, true
}

// slot is where a file holds a commit, or where one can be added.
type slot struct {
	// from and to enclose the value with its quotes.
	from, to int
	// quote is the quote of the value; empty for a plain scalar.
	quote string
	// key precedes a commit that is added: a blank, or the beginning of its line.
	key string
}

// fill returns the text with a value in the slot.
func (s slot) fill(text, value string) string { return text[:s.from] + s.key + value + text[s.to:] }

// findSlot finds the commit of a BaseRepo. A tag, an anchor, an alias, a block scalar and a value of several lines do not
// begin with the text of the value, so they are errors.
func findSlot(file string, base *model.BaseRepo) (slot, error) {
	if base.Commit.At.IsZero() {
		if m := emptyCommit.FindStringSubmatchIndex(file); m != nil {
			return slot{from: m[2], to: m[3], key: " "}, nil
		}
		return slotBelowFields(file, base)
	}
	at := offset(file, base.Commit.At)
	for _, quote := range []string{`"`, "'", ""} {
		if old := quote + base.Commit.Value + quote; old != "" && strings.HasPrefix(file[at:], old) {
			return slot{from: at, to: at + len(old), quote: quote}, nil
		}
	}
	return slot{}, errors.New("spec.commit is not a plain or quoted text on one line")
}

// emptyCommit matches a line with a commit that is null; its group is the null value.
var emptyCommit = regexp.MustCompile(`(?m)^ +commit *:([ \t]+(?:null|~)|[ \t]*)(?:[ \t]+#.*)?[ \t]*\r?$`)

// field matches a line that begins with a field of a BaseRepo in block style.
var field = regexp.MustCompile(`^( +)(?:repo|branch|path) *:`)

// slotBelowFields returns a new line below the last field of spec.
func slotBelowFields(file string, base *model.BaseRepo) (slot, error) {
	last := max(base.Repo.At.Line, base.Branch.At.Line, base.Path.At.Line)
	start := offset(file, diag.Place{Line: last, Column: 1})
	line, _, _ := strings.Cut(file[start:], "\n")
	match := field.FindStringSubmatch(line)
	if match == nil {
		return slot{}, errors.New("spec has no commit yet, and its last field is not on a separate line")
	}
	end := start + len(strings.TrimSuffix(line, "\r"))
	return slot{from: end, to: end, key: lineBreak(file) + match[1] + "commit: "}, nil
}

// offset returns the position of a place, whose columns count characters.
func offset(file string, at diag.Place) int {
	lines := strings.SplitAfter(file, "\n")
	n := max(min(at.Line, len(lines)), 1) - 1
	line := []rune(lines[n])
	return len(strings.Join(lines[:n], "")) + len(string(line[:max(min(at.Column-1, len(line)), 0)]))
}

// commitID is a full id as git writes it.
var commitID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// unsafeEdit returns the error of a file that must be edited by hand.
func unsafeEdit(base *model.BaseRepo, commit string, reason error) error {
	at := base.Commit.At
	if at.IsZero() {
		at = base.At
	}
	return &EditError{
		At:      at,
		Message: reason.Error(),
		Hint:    fmt.Sprintf("write commit: %s into spec of BaseRepo %q by hand", commit, base.Name.Value),
	}
}

// BaseRepoFile is the file that a BaseRepo is written to if there is none yet.
const BaseRepoFile = "base-repo.yaml"

// Spec is the spec of a new BaseRepo; its path is the root of the repository.
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
		model.APIVersion, "BaseRepo",
		struct{ Name string }{model.MainBase},
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
		return nil, &EditError{Message: "the file has errors, so nothing is added to it", Hint: "fix it first"}
	case slices.ContainsFunc(bases, func(b *model.BaseRepo) bool { return b.Name.Value == model.MainBase }):
		return nil, &EditError{Message: fmt.Sprintf("the file already has a BaseRepo %q", model.MainBase), Hint: "change its commit"}
	}
	newLine := lineBreak(string(file))
	changed := append(bytes.Clone(file), separation(string(file), newLine)...)
	changed = append(changed, strings.ReplaceAll(string(New(spec)), "\n", newLine)...)
	was, errBefore := documents(file)
	is, errAfter := documents(changed)
	_, problems = readBases(changed)
	if cmp.Or(errBefore, errAfter) != nil || problems > 0 || len(is) != len(was)+1 || !slices.EqualFunc(was, is[:len(was)], reflect.DeepEqual) {
		return nil, &EditError{Message: "other contents of the file would change", Hint: fmt.Sprintf("add a BaseRepo %q by hand", model.MainBase)}
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
		return errors.New("the BaseRepo has errors: fix them first")
	case bases[i].Commit.Value != commit:
		return errors.New("the commit would be read with another value")
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

// documents returns the values of all documents of a file but empty ones, with aliases replaced by their values.
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
