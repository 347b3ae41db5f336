package remote

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestS10RefusedURLs(t *testing.T) {
	t.Parallel()
	r := newReader(t, Options{})
	for name, want := range map[string]string{
		// What runs programs.
		"ext::sh -c touch% /tmp/x":               `"::" would run a remote helper`,
		"ext::ssh -oProxyCommand=x %S foo":       `"::" would run a remote helper`,
		"fd::17":                                 `"::" would run a remote helper`,
		"--upload-pack=touch x":                  `must not start with "-"`,
		"-oProxyCommand=x":                       `must not start with "-"`,
		"ssh://-oProxyCommand=x/shop":            "host is missing or malformed",
		"ssh://git@-oProxyCommand=x/shop":        "host is missing or malformed",
		"-oProxyCommand=x:shop":                  `must not start with "-"`,
		"git@-oProxyCommand=x:shop":              "host is missing or malformed",
		"git@github.com:--upload-pack=x":         `the path must not start with "-"`,
		"ssh://-x@github.com/acme/shop":          "not a user name",
		"https://github.com/acme/shop --depth=1": "blank",
		"git@github.com:acme/shop; touch x":      "blank",
		"https://github.com/acme/$(touch x)":     "blank",
		"ssh://git@exa`id`mple.com/shop":         "host is missing or malformed",
		"git@$(id).com:shop":                     "host is missing or malformed",
		"https://github.com/acme\n/shop":         "control or an invisible character",
		"https://github.com/acme\x00/shop":       "control or an invisible character",
		"https://github.com/acme/shop\x1b[31m":   "control or an invisible character",
		"https://github.com/acme/\u202eshop":     "control or an invisible character",
		"https://github.com/acme/sh\u200bop":     "control or an invisible character",
		"https://github.com/acme/\xffshop":       "control or an invisible character",
		// What leads to this machine.
		"file:///etc":            "only https and ssh are read, not file",
		"FILE:///etc":            "only https and ssh are read, not file",
		"file://localhost/etc":   "only https and ssh are read, not file",
		"file:/etc":              `"file:" is neither a host nor a scheme`,
		"file://example.com/etc": "three slashes",
		"/etc":                   "only be given on the command line",
		"../control-plane":       "only be given on the command line",
		"~/shop":                 "only be given on the command line",
		".":                      "only be given on the command line",
		"shop":                   "only be given on the command line",
		"github.com/acme/shop":   "only be given on the command line",
		`C:\shop`:                "only be given on the command line",
		`\\server\share`:         "only be given on the command line",
		"//server/share":         "only be given on the command line",
		// Other schemes.
		"http://github.com/acme/shop":        "only https and ssh are read, not http",
		"http://127.0.0.1/shop":              "only https and ssh are read, not http",
		"git://github.com/acme/shop":         `scheme "git" is not supported`,
		"ftp://example.com/shop":             `scheme "ftp" is not supported`,
		"git+ssh://git@github.com/acme/shop": `scheme "git+ssh" is not supported`,
		"javascript:alert(1)":                `"javascript:" is neither`,
		"data:text/plain,x":                  `"data:" is neither`,
		"://github.com/acme/shop":            "neither a URL",
		// Secrets, and what looks like one host and is another.
		"https://me:hunter2@github.com/acme/shop":               "a password must not be in a URL",
		"https://:hunter2@github.com/acme/shop":                 "a password must not be in a URL",
		"https://ghp_0123456789abcdefghij@github.com/acme/shop": "a token must not be in a URL",
		"https://x-access-token@github.com/acme/shop":           "a token must not be in a URL",
		"https://github.com@evil.example@x.com/shop":            "not a user name",
		"https://github.com%2f@evil.example/shop":               "not a user name",
		"https://github.com\\@evil.example/shop":                "not a user name",
		"https://gіthub.com/acme/shop":                          "punycode", // the i is Cyrillic
		// Malformed ones.
		"":                                   "the name is empty",
		"https://":                           "host is missing",
		"https:///acme/shop":                 "host is missing",
		"https://github.com":                 "name of the repository is missing",
		"https://github.com/":                "name of the repository is missing",
		"https://github.com/.git":            "name of the repository is missing",
		"git@github.com:":                    "name of the repository is missing",
		"https://github.com:0/acme/shop":     "not a port",
		"https://github.com:99999/acme/shop": "not a port",
		"https://github.com:x/acme/shop":     "not a port",
		"https://github.com/acme/../../etc":  `must not have "." or ".."`,
		"https://github.com/acme/%2e%2e/etc": `must not have "." or ".."`,
		"git@github.com:../etc":              `must not have "." or ".."`,
		"https://github.com/acme/shop?x=1":   `"?"`,
		"https://github.com/acme/shop#x":     `"#"`,
		"https://github.com/acme/%0ashop":    "control character",
		"https://github.com/acme/%zzshop":    "malformed %",
		"https://git..example.com/shop":      "host is missing or malformed",
		"https://[::1/shop":                  "",
	} {
		d := readError(t, r, model.Ref{Repo: name, Branch: "main", At: yamlPlace(), Subject: `WorkloadRegistration "shop"`})
		assert.Equal(t, giterror.RuleRefusedURL, d.Rule, name)
		assert.Contains(t, d.Message, `WorkloadRegistration "shop": the repository `, name)
		assert.Contains(t, d.Message, want, name)
		assert.NotContains(t, d.Message, "hunter2", name)
		assert.NotContains(t, d.Message, "ghp_", name)
		assert.NotContains(t, d.Message, "\x1b", name)
	}
}

func TestS10WhatTheCommandLineMayName(t *testing.T) {
	t.Parallel()
	r := newReader(t, Options{})
	d := readError(t, r, model.Ref{Repo: "http://git.example.com/shop", Branch: "main", Subject: "flag --control-plane"})
	assert.Equal(t, giterror.RuleRefusedURL, d.Rule)
	assert.Contains(t, d.Message, "http is not encrypted")
	for _, name := range []string{"ext::sh -c x", "-x", "git://example.com/x", "https://a:b@example.com/x"} {
		assert.Equal(t, giterror.RuleRefusedURL, readError(t, r, model.Ref{Repo: name}).Rule, name)
	}
	assert.True(t, giturl.IsLocal("../shop"))
	assert.True(t, giturl.IsLocal("file:///srv/shop"))
	assert.False(t, giturl.IsLocal("https://github.com/acme/shop"))
	assert.False(t, giturl.IsLocal("ext::sh"))
}

func TestReplaceWrongUsage(t *testing.T) {
	t.Parallel()
	_, err := NewReader(Options{Replace: []string{
		"https://github.com/acme/shop", "=../x", "https://a.example/x=", "https://a.example/x=../*",
		"https://a.example/x=http://b.example/x", "https://a.example/x=ext::sh", "https://a.example/x=-x", "ok=../ok",
	}})
	require.Error(t, err)
	assert.Equal(t, `--replace "https://github.com/acme/shop": "=" is missing; write REPO=PATH
--replace "=../x": the repository before the "=" is missing
--replace "https://a.example/x=": the path or URL after the "=" is missing
--replace "https://a.example/x=../*": more "*" after the "=" than before it
--replace "https://a.example/x=http://b.example/x": "http://b.example/x" cannot be read: http is not encrypted; write https
--replace "https://a.example/x=ext::sh": "ext::sh" cannot be read: "::" would run a remote helper
--replace "https://a.example/x=-x": "-x" cannot be read: a name must not start with "-"`, err.Error())
}

func TestReadReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	gitopstest.Write(t, folder, gitopstest.Files{"shop/workload.yaml": "kind: Workload\n"})
	r := newReader(t, Options{Replace: []string{"https://github.com/acme/*=" + folder + "/*"}})
	source := readOne(t, r, model.Ref{Repo: " git@github.com:acme/shop.git\n", Branch: "main", At: yamlPlace()})
	assert.Equal(t, "https://github.com/acme/shop", source.Repo)
	assert.Equal(t, "kind: Workload\n", gitopstest.Content(t, source.FS, "workload.yaml"))
	assert.True(t, r.IsLocal("https://github.com/acme/shop"))
	assert.False(t, r.IsLocal("https://github.com/other/shop"))

	d := readError(t, r, model.Ref{Repo: "https://github.com/acme/shop", Branch: "main", Path: "worklod.yaml", At: yamlPlace()})
	assert.Equal(t, giterror.RulePathNotFound, d.Rule)
	assert.Contains(t, d.Message, "https://github.com/acme/shop (read from "+folder+"/shop) has no path")
	assert.Equal(t, `did you mean "workload.yaml"?`, d.Hint)

	d = readError(t, r, model.Ref{Repo: "https://x:hunter2@github.com/acme/shop", Branch: "main", At: yamlPlace()})
	assert.Equal(t, giterror.RuleRefusedURL, d.Rule, "what is replaced must be a name too")
}

func TestStandFor(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	gitopstest.Write(t, folder, gitopstest.Files{"dev/cluster.yaml": "a: 1\n"})
	r := newReader(t, Options{})
	r.StandFor("https://github.com/acme/control-plane", folder)
	source := readOne(t, r, model.Ref{Repo: "https://github.com/acme/control-plane.git", Branch: "dev", At: yamlPlace()})
	assert.Equal(t, "a: 1\n", gitopstest.Content(t, source.FS, "cluster.yaml"))
}
