package gitobject

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// NewCommit is a commit to be made. The same one is always the same bytes, and so the same id.
type NewCommit struct {
	Tree plumbing.Hash
	// Parents are in order; there are none for the first commit of a branch.
	Parents           []plumbing.Hash
	Author, Committer Identity
	// When is written in UTC and whole seconds, for author and committer.
	When time.Time
	// Message ends in a line break, or gets one.
	Message string
	// Key signs the commit; nil leaves it unsigned.
	Key *SigningKey
}

// Identity is who makes a commit.
type Identity struct{ Name, Email string }

// Object returns the commit as git writes it.
func (c NewCommit) Object() (NewObject, error) {
	author, err := c.Author.line(c.When)
	if err != nil {
		return NewObject{}, fmt.Errorf("the author of the commit: %w", err)
	}
	committer, err := c.Committer.line(c.When)
	if err != nil {
		return NewObject{}, fmt.Errorf("the committer: %w", err)
	}
	if strings.Contains(c.Message, "\x00") {
		return NewObject{}, errors.New("the message of the commit has a NUL byte, which git does not allow")
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "tree %s\n", c.Tree)
	for _, parent := range c.Parents {
		fmt.Fprintf(&head, "parent %s\n", parent)
	}
	fmt.Fprintf(&head, "author %s\ncommitter %s\n", author, committer)
	message := "\n" + strings.ToValidUTF8(c.Message, "\ufffd")
	if !strings.HasSuffix(c.Message, "\n") {
		message += "\n"
	}
	if c.Key != nil {
		signature, err := c.Key.sign(append(bytes.Clone(head.Bytes()), message...))
		if err != nil {
			return NewObject{}, fmt.Errorf("sign the commit: %w", err)
		}
		fmt.Fprintf(&head, "gpgsig %s\n", strings.ReplaceAll(strings.TrimSuffix(signature, "\n"), "\n", "\n "))
	}
	return NewRawObject(plumbing.CommitObject, append(head.Bytes(), message...)), nil
}

// line writes who and when as commits have it. Git leaves the same characters out of names.
func (i Identity) line(when time.Time) (string, error) {
	if when.Unix() < 0 {
		return "", fmt.Errorf("the date %s is before 1970", when.UTC().Format(time.DateOnly))
	}
	name, email := cleanIdentity(i.Name), cleanIdentity(i.Email)
	if name == "" {
		return "", fmt.Errorf("nothing is left of the name %q that a commit may hold", i.Name)
	}
	if email == "" {
		return "", fmt.Errorf("nothing is left of the email address %q that a commit may hold", i.Email)
	}
	return fmt.Sprintf("%s <%s> %d +0000", name, email, when.Unix()), nil
}

// cleanIdentity removes what ends a name in a commit, and at both ends what git takes for crud.
func cleanIdentity(text string) string {
	text = strings.TrimFunc(strings.ToValidUTF8(text, "\ufffd"), func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`,:;<>"\'`, r)
	})
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>\n\x00", r) {
			return -1
		}
		return r
	}, text)
}
