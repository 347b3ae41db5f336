package gitobject

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// NewCommit is a commit to create. The same values always have the same bytes, and so the same id.
type NewCommit struct {
	Tree plumbing.Hash
	// Parents are in order; there are none for the first commit of a branch.
	Parents           []plumbing.Hash
	Author, Committer Identity
	// When is written in UTC and whole seconds, for author and committer. A date before 1970, as that of a commit whose
	// sources have no dates, becomes the first second of 1970.
	When time.Time
	// Message ends in a line break, or gets one.
	Message string
	// Key signs the commit; nil leaves it unsigned.
	Key *SigningKey
}

// Identity is the author and committer of a commit.
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

func (i Identity) line(when time.Time) (string, error) {
	for _, part := range []string{i.Name, i.Email} {
		if strings.TrimSpace(part) == "" || !utf8.ValidString(part) || strings.ContainsAny(part, "<>\n\x00") {
			return "", fmt.Errorf("%q cannot be a name or an email address in a commit", part)
		}
	}
	return fmt.Sprintf("%s <%s> %d +0000", i.Name, i.Email, max(when.Unix(), 0)), nil
}

// signatureNamespace is the namespace of git: a signature for another one is not valid for a commit.
const signatureNamespace = "git"

// SigningKey signs commits. The signature is deterministic: of the types of SSH keys, only ed25519 uses no random numbers.
type SigningKey struct{ signer ssh.Signer }

// ParseSigningKey parses a private key of ssh-keygen -t ed25519. Errors do not contain parts of the key.
func ParseSigningKey(file []byte) (*SigningKey, error) {
	if _, _, _, _, err := ssh.ParseAuthorizedKey(file); err == nil {
		return nil, errors.New("it is a public key; the private one is needed, without .pub at the end of its name")
	}
	signer, err := ssh.ParsePrivateKey(file)
	var encrypted *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &encrypted):
		return nil, errors.New("the key is protected by a passphrase; use a key without one")
	case err != nil:
		return nil, errors.New("it is not a private key of the type ssh-ed25519; ssh-keygen -t ed25519 makes one")
	case signer.PublicKey().Type() != ssh.KeyAlgoED25519:
		return nil, fmt.Errorf("it is of the type %s; signatures need ssh-ed25519 to be the same every time", signer.PublicKey().Type())
	}
	return &SigningKey{signer}, nil
}

// sign returns an armored signature for a commit, with a line break at the end.
func (k *SigningKey) sign(payload []byte) (string, error) {
	signature, err := sshsig.Sign(bytes.NewReader(payload), k.signer, sshsig.HashSHA512, signatureNamespace)
	if err != nil {
		return "", err
	}
	return string(sshsig.Armor(signature)), nil
}

// ParseIdentity parses "Name <email>".
func ParseIdentity(text string) (Identity, error) {
	name, email, err := model.ParseAuthor(text)
	return Identity{name, email}, err
}
