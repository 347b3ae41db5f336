package baserepo

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// RuleUnsafeEdit is a BaseRepo whose commit cannot be written without a doubt that something else changes.
const RuleUnsafeEdit = "unsafe-edit"

// EditError is a file that a person must change, because what would come of an edit is not sure. Nothing was written.
type EditError struct {
	// At is the place to change; it is nowhere if only the caller knows the file.
	At diag.Place
	// Message is one line; Hint says what to write.
	Message, Hint string
}

func (e *EditError) Error() string {
	text := e.Message
	if !e.At.IsZero() {
		text = diag.Safe(e.At.String()) + ": " + text
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// SetCommit returns the file in which base was found with another commit in it, and every other byte as it was: only the
// value of spec.commit changes, in the quotes that it has. Where there is none it becomes the last key of spec, written
// as its neighbours are.
//
// The places of base must be those of the file, as model.Parse gives them. commit has 40 hexadecimal digits in lower
// case. What cannot be done surely is an *EditError: a value that an alias uses elsewhere, a spec that is an alias
// itself. What is returned was read again, as the next run will, and differs from the file in that commit alone.
func SetCommit(file []byte, base *model.BaseRepo, commit string) ([]byte, error) {
	if !commitID.MatchString(commit) {
		return nil, fmt.Errorf("%q is not a full commit id of 40 hexadecimal digits in lower case", commit)
	}
	found := baseRepoAt(readBases(file), base.At)
	if found == nil {
		return nil, &EditError{
			At: base.At, Message: fmt.Sprintf("the file is not the one that was read: BaseRepo %q does not begin here", base.Name.Value),
			Hint: "run it again",
		}
	}
	if found.Commit.Value == commit && !found.Broken {
		return bytes.Clone(file), nil
	}
	document, err := locate(file, base.At)
	if err != nil {
		return nil, unsafeEdit(base, commit, err)
	}
	edit, err := document.setCommit(commit)
	if err != nil {
		return nil, unsafeEdit(base, commit, err)
	}
	changed := edit.apply(file)
	if err := verifyCommit(file, changed, base.At, commit); err != nil {
		return nil, unsafeEdit(base, commit, err)
	}
	return changed, nil
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
		Hint:    fmt.Sprintf("write commit: %s into spec of BaseRepo %q by hand", commitText(commit, 0), base.Name.Value),
	}
}

// numeric are the ids that YAML 1.1 reads as numbers: decimal and octal ones, those with an exponent, and binary ones.
// https://yaml.org/type/int.html, https://yaml.org/type/float.html
var numeric = regexp.MustCompile(`^(?:[0-9]+(?:e[0-9]+)?|0b[01]+)$`)

// commitText returns a commit as a YAML scalar in the quotes given; 0 is for none, unless they are needed.
func commitText(commit string, quote byte) string {
	if quote != '\'' && quote != '"' {
		if !numeric.MatchString(commit) {
			return commit
		}
		quote = '"'
	}
	return string(quote) + commit + string(quote)
}
