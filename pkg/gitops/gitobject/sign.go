package gitobject

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// signatureNamespace is what git signs for: a signature for something else is none of a commit.
const signatureNamespace = "git"

// SigningKey signs commits, always in the same way: of the kinds of SSH keys only ed25519 needs no chance.
type SigningKey struct{ signer ssh.Signer }

// ParseSigningKey reads a private key as ssh-keygen -t ed25519 writes it. Errors say nothing of what is
// in it.
func ParseSigningKey(file []byte) (*SigningKey, error) {
	if _, _, _, _, err := ssh.ParseAuthorizedKey(file); err == nil {
		return nil, errors.New("it is a public key; the private one is needed, without .pub at the end of its name")
	}
	signer, err := ssh.ParsePrivateKey(file)
	var encrypted *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &encrypted):
		return nil, errors.New("the key is protected by a passphrase, which nobody could enter; make one without")
	case err != nil:
		return nil, errors.New("it is not a private key of the type ssh-ed25519; ssh-keygen -t ed25519 makes one")
	case signer.PublicKey().Type() != ssh.KeyAlgoED25519:
		return nil, fmt.Errorf("it is of the type %s; signatures need ssh-ed25519 to be the same every time", signer.PublicKey().Type())
	}
	return &SigningKey{signer}, nil
}

// sign returns a signature in armour, as it stands in a commit, with a line break at the end.
func (k *SigningKey) sign(payload []byte) (string, error) {
	signature, err := sshsig.Sign(bytes.NewReader(payload), k.signer, sshsig.HashSHA512, signatureNamespace)
	if err != nil {
		return "", err
	}
	return string(sshsig.Armor(signature)), nil
}
