package gitobject

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha512"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

func parsedKey(t testing.TB) *SigningKey {
	t.Helper()
	file, _ := gitopstest.SigningKey(t)
	key, err := ParseSigningKey(file)
	require.NoError(t, err)
	return key
}

// TestSignature takes a signature apart as PROTOCOL.sshsig of OpenSSH describes it.
func TestSignature(t *testing.T) {
	t.Parallel()
	_, public := gitopstest.SigningKey(t)
	payload := []byte("what is signed")
	armored, err := parsedKey(t).sign(payload)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(armored, "-----BEGIN SSH SIGNATURE-----\n"))
	assert.True(t, strings.HasSuffix(armored, "\n-----END SSH SIGNATURE-----\n"))
	block, rest := pem.Decode([]byte(armored))
	assert.Empty(t, rest)

	data, found := bytes.CutPrefix(block.Bytes, []byte("SSHSIG"))
	require.True(t, found)
	var outer struct {
		Version                                        uint32
		Key, Namespace, Reserved, Algorithm, Signature string
	}
	require.NoError(t, ssh.Unmarshal(data, &outer))
	assert.Equal(t, []any{uint32(1), "git", "", "sha512"}, []any{outer.Version, outer.Namespace, outer.Reserved, outer.Algorithm})
	var key, signature struct{ Kind, Data string }
	require.NoError(t, ssh.Unmarshal([]byte(outer.Key), &key))
	require.NoError(t, ssh.Unmarshal([]byte(outer.Signature), &signature))
	assert.Equal(t, []string{"ssh-ed25519", "ssh-ed25519", string(public)}, []string{key.Kind, signature.Kind, key.Data})

	sum := sha512.Sum512(payload)
	signed := append([]byte("SSHSIG"), ssh.Marshal(struct{ Namespace, Reserved, Algorithm, Sum string }{"git", "", "sha512", string(sum[:])})...)
	assert.True(t, ed25519.Verify(public, signed, []byte(signature.Data)))

	again, err := parsedKey(t).sign(payload)
	require.NoError(t, err)
	assert.Equal(t, armored, again, "the same every time")
}

// TestSignedCommit has git and ssh-keygen verify a commit.
func TestSignedCommit(t *testing.T) {
	t.Parallel()
	c := testCommit()
	unsigned, err := c.Object()
	require.NoError(t, err)
	c.Key = parsedKey(t)
	object, err := c.Object()
	require.NoError(t, err)
	data := object.Content.Append(nil)
	signature, err := c.Key.sign(unsigned.Content.Append(nil))
	require.NoError(t, err)
	header := "gpgsig " + strings.ReplaceAll(strings.TrimSpace(signature), "\n", "\n ") + "\n"
	assert.Equal(t, string(unsigned.Content.Append(nil)), strings.Replace(string(data), header, "", 1), "what is signed is the rest")
	parsed, err := ParseCommit(data)
	require.NoError(t, err)
	assert.Equal(t, c.Tree, parsed.Tree)

	dir, _ := gitopstest.NewBare(t)
	gitopstest.RunGit(t, dir, "hash-object", "-t", "tree", "-w", os.DevNull)
	assert.Equal(t, object.ID.String(), gitIn(t, dir, bytes.NewBuffer(data), "hash-object", "-t", "commit", "--stdin", "-w"))
	gitopstest.RunGit(t, dir, "update-ref", "refs/heads/main", object.ID.String())
	gitopstest.RunGit(t, dir, "fsck", "--strict", "--full")

	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	signers := filepath.Join(t.TempDir(), "signers")
	require.NoError(t, os.WriteFile(signers, append([]byte("me@example.com "), ssh.MarshalAuthorizedKey(c.Key.signer.PublicKey())...), 0o600))
	out := gitIn(t, dir, nil, "-c", "gpg.ssh.allowedSignersFile="+signers, "verify-commit", "main")
	assert.Contains(t, out, `Good "git" signature for me@example.com with ED25519 key`)

	file := filepath.Join(t.TempDir(), "signature")
	require.NoError(t, os.WriteFile(file, []byte(signature), 0o600))
	verify := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "me@example.com", "-n", "git", "-s", file)
	verify.Stdin = bytes.NewReader(unsigned.Content.Append(nil))
	said, err := verify.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

func TestSigningKeyRefused(t *testing.T) {
	t.Parallel()
	_, public := gitopstest.SigningKey(t)
	seed := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(seed, "", []byte("secret"))
	require.NoError(t, err)
	curve, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{1}, 32))
	require.NoError(t, err)
	sshPublic, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	for want, file := range map[string][]byte{
		"protected by a passphrase":                       pem.EncodeToMemory(locked),
		"it is of the type ecdsa-sha2-nistp256;":          gitopstest.PrivateKeyFile(t, curve),
		"it is a public key":                              ssh.MarshalAuthorizedKey(sshPublic),
		"it is not a private key of the type ssh-ed25519": []byte("hello"),
	} {
		_, err := ParseSigningKey(file)
		require.ErrorContains(t, err, want)
	}
	_, err = ParseSigningKey(nil)
	require.ErrorContains(t, err, "it is not a private key of the type ssh-ed25519")
	good, _ := gitopstest.SigningKey(t)
	_, err = ParseSigningKey(good[:len(good)/2])
	require.ErrorContains(t, err, "it is not a private key of the type ssh-ed25519")
}

// FuzzSigningKey reads any file: it is refused, or it signs.
func FuzzSigningKey(f *testing.F) {
	file, _ := gitopstest.SigningKey(f)
	f.Add(file)
	f.Add([]byte("ssh-ed25519 AAAA"))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := ParseSigningKey(data)
		if err != nil {
			return
		}
		_, err = key.sign(data)
		require.NoError(t, err)
	})
}
