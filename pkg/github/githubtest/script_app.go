package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ScriptApp is the id of the App of a script. Its slug is "kalypso", and its user has the id 4711.
const ScriptApp = 17

// app makes an App known, and writes its private key.
func (s *script) app(ts *testscript.TestScript, args []string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	ts.Check(err)
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(block), 0o600))
	app := App{
		ID: ScriptApp, Slug: "kalypso", Bot: 4711, Key: &key.PublicKey, Owner: args[1], Installation: 5,
		Permissions: AllPermissions(),
	}
	if len(args) > 2 {
		app.Permissions = map[string]string{}
	}
	for _, arg := range args[2:] {
		name, access, _ := strings.Cut(arg, "=")
		app.Permissions[name] = access
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.apps = []*App{&app} // the one before is gone
}

// private hides repositories from those without a token.
func (s *script) private(ts *testscript.TestScript, args []string) {
	for _, name := range args {
		repo := s.server.Repo(name)
		if repo == nil {
			ts.Fatalf("github private: there is no %s", name)
		}
		s.server.mu.Lock()
		repo.options.Private = true
		s.server.mu.Unlock()
	}
}

// tokens prints what tokens an App was given since it was asked last, in order.
func (s *script) tokens(ts *testscript.TestScript, _ []string) {
	minted := s.server.Minted()
	for _, token := range minted[s.printed:] {
		fmt.Fprintln(ts.Stdout(), token)
	}
	s.printed = len(minted)
}

// Minted are the tokens that Apps were given so far, in order, in lines such as
// "acme/a acme/b: contents=read".
func (s *Server) Minted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for n := range s.minted {
		token := s.tokens[mintedSecret(n+1)]
		var permissions []string
		for _, name := range slices.Sorted(maps.Keys(token.Permissions)) {
			permissions = append(permissions, name+"="+token.Permissions[name])
		}
		lines = append(lines, strings.Join(token.Repos, " ")+": "+strings.Join(permissions, " "))
	}
	return lines
}

// mintedSecret is the secret of the nth token of an App.
func mintedSecret(n int) string { return fmt.Sprintf("ghs_%036d", n) }
