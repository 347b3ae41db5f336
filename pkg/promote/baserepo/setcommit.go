package baserepo

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

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
		return nil, fmt.Errorf("%q is not a full commit id of 40 hexadecimal digits in lower case", commit)
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
	// key stands before a commit that is added: a blank, or the beginning of its line.
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

// emptyCommit matches a line with a commit that is null; what null stands for is its group.
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
		return slot{}, errors.New("spec has no commit yet, and its last field is not a line of its own")
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

// unsafeEdit says what to do by hand.
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
