package fluxtest

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"strings"
)

// Context is a context of a kubeconfig. The cluster and user of it are named as it is.
type Context struct {
	Name, Server, Token string
	// Authority is what signed the server's certificate, as PEM; empty if the server has none.
	Authority []byte
}

// ContextOf leads to a server with TLS, whose authority is its own certificate.
func ContextOf(name string, server *httptest.Server) Context {
	return Context{
		Name:      name,
		Server:    server.URL,
		Authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// Kubeconfig is the text of a file with these contexts, of which the first is the current one.
func Kubeconfig(contexts ...Context) string {
	var clusters, users, all strings.Builder
	current := ""
	for i, c := range contexts {
		if i == 0 {
			current = c.Name
		}
		fmt.Fprintf(&clusters, "- name: %s\n  cluster:\n    server: %s\n", c.Name, c.Server)
		if len(c.Authority) > 0 {
			fmt.Fprintf(&clusters, "    certificate-authority-data: %s\n", base64.StdEncoding.EncodeToString(c.Authority))
		}
		fmt.Fprintf(&users, "- name: %s\n  user: {token: %q}\n", c.Name, c.Token)
		fmt.Fprintf(&all, "- name: %s\n  context: {cluster: %s, user: %s}\n", c.Name, c.Name, c.Name)
	}
	return "apiVersion: v1\nkind: Config\ncurrent-context: " + current +
		"\nclusters:\n" + clusters.String() + "users:\n" + users.String() + "contexts:\n" + all.String()
}
