package giturl

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNormalURL(t *testing.T) {
	t.Parallel()
	const shop = "https://github.com/acme/shop"
	for name, want := range map[string]string{
		"https://github.com/acme/shop":                 shop,
		"https://github.com/acme/shop.git":             shop,
		"https://github.com/acme/shop/":                shop,
		"https://github.com/acme/shop.git/":            shop,
		"https://github.com/acme/shop//":               shop,
		"https://github.com//acme//shop":               shop,
		"HTTPS://GitHub.COM/acme/shop":                 shop,
		"https://github.com./acme/shop":                shop,
		"https://github.com:443/acme/shop":             shop,
		"https://me@github.com/acme/shop":              shop,
		"git@github.com:acme/shop.git":                 shop,
		"git@github.com:/acme/shop":                    shop,
		"git@GITHUB.com:acme/shop/":                    shop,
		"github.com:acme/shop":                         shop,
		"ssh://git@github.com/acme/shop":               shop,
		"ssh://github.com:22/acme/shop.git":            shop,
		"https://github.com/Acme/Shop":                 "https://github.com/Acme/Shop",
		"https://github.com/acme/shop.github.io":       "https://github.com/acme/shop.github.io",
		"https://example.com:8443/shop":                "https://example.com:8443/shop",
		"ssh://git@example.com:2222/acme/shop.git":     "ssh://example.com:2222/acme/shop",
		"git@example.com:~me/shop":                     "https://example.com/~me/shop",
		"https://[2001:DB8::1]:8443/shop":              "https://[2001:db8::1]:8443/shop",
		"git@[2001:db8::1]:shop":                       "https://[2001:db8::1]/shop",
		"https://xn--bcher-kva.example/shop":           "https://xn--bcher-kva.example/shop",
		"https://git.example.com/b%C3%BCcher/shop":     "https://git.example.com/b%C3%BCcher/shop",
		"https://org@dev.azure.com/org/proj/_git/shop": "https://dev.azure.com/org/proj/_git/shop",
		"git@ssh.dev.azure.com:v3/org/proj/shop":       "https://dev.azure.com/org/proj/_git/shop",
		"http://git.internal:80/shop.git":              "http://git.internal/shop",
		"file:///srv/git/shop.git/":                    "file:///srv/git/shop.git",
		"file:///C:/git/a%20b":                         "file:///C:/git/a%20b",
		"../shop/":                                     "../shop",
		"./shop":                                       "shop",
		"/srv/git/shop.git":                            "/srv/git/shop.git",
		"C:/git/shop":                                  "C:/git/shop",
		"./with:colon":                                 "./with:colon",
	} {
		got, err := NormalURL(name)
		if assert.NoError(t, err, name) {
			assert.Equal(t, want, got, name)
			again, err := NormalURL(got)
			assert.NoError(t, err, name)
			assert.Equal(t, want, again, "the normal form of %s is its own", name)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, rule, repo, want string }{
		{"whole", "https://github.com/acme/shop=../shop", "https://github.com/acme/shop", "../shop"},
		{"other spelling of the rule", "git@github.com:acme/shop.git=../shop", "https://github.com/acme/shop", "../shop"},
		{"without scheme", "github.com/acme/shop=../shop", "https://github.com/acme/shop", "../shop"},
		{"star", "https://github.com/acme/*=../*", "https://github.com/acme/shop", "../shop"},
		{"star takes slashes", "https://github.com/*=/srv/*.git", "https://github.com/acme/shop", "/srv/acme/shop.git"},
		{"two stars", "https://github.com/*/*=../*-*", "https://github.com/acme/shop", "../acme-shop"},
		{"star left alone", "https://github.com/acme/*=../all", "https://github.com/acme/shop", "../all"},
		{"any host", "*/shop=../shop", "https://github.com/acme/shop", "../shop"},
		{"all", "*=../all", "https://github.com/acme/shop", "../all"},
		{"to a URL", "https://github.com/*=https://mirror.example.com/*", "https://github.com/acme/shop", "https://mirror.example.com/acme/shop"},
		{"first equals sign", "https://github.com/acme/shop=/srv/a=b", "https://github.com/acme/shop", "/srv/a=b"},
		{"drive", `https://github.com/acme/shop=C:\git\shop`, "https://github.com/acme/shop", `C:\git\shop`},
		{"star is not empty", "https://github.com/acme/shop*=../x", "https://github.com/acme/shop", ""},
		{"no other", "https://github.com/acme/shop=../shop", "https://github.com/acme/shop2", ""},
		{"dots are no wildcards", "https://github.com/acme/a.b=../x", "https://github.com/acme/axb", ""},
		{"star does not climb", "*=./repos/*", "../../etc", ""},
	} {
		rules, err := parseReplacements([]string{tc.rule})
		require.NoError(t, err, tc.name)
		got, ok := replace(rules, tc.repo)
		assert.Equal(t, tc.want, got, tc.name)
		assert.Equal(t, tc.want != "", ok, tc.name)
	}
}

func TestReplaceTakesTheFirst(t *testing.T) {
	t.Parallel()
	rules, err := parseReplacements([]string{"https://a.example/x=1", "https://a.example/*=2", "*=3"})
	require.NoError(t, err)
	for repo, want := range map[string]string{"https://a.example/x": "1", "https://a.example/y": "2", "https://b.example/x": "3"} {
		got, _ := replace(rules, repo)
		assert.Equal(t, want, got)
	}
}

func FuzzNormalURL(f *testing.F) {
	for _, seed := range []string{"https://github.com/acme/shop.git", "git@github.com:acme/shop", "ssh://git@h:2/x", "file:///x", "../x", "ext::x", "C:/x", "https://[::1]/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		normal, err := NormalURL(name)
		if err != nil {
			return
		}
		again, err := NormalURL(normal)
		require.NoError(t, err, "%q from %q", normal, name)
		require.Equal(t, normal, again)
	})
}

// Whatever --replace says, a name that it replaces is never read from outside the folder that the
// command line names, and never by a form that is refused.
func FuzzReplace(f *testing.F) {
	for _, file := range []string{"../../../testdata/fleets/harvest/in/replace.txt", "../../../testdata/seeds/in/replace.txt"} {
		list, err := os.ReadFile(file)
		require.NoError(f, err)
		for rule := range strings.Lines(string(list)) {
			repo, _, _ := strings.Cut(rule, "=")
			f.Add(strings.TrimSpace(rule), repo+".git")
			f.Add("https://github.com/*=./checkouts/*", repo)
		}
	}
	for _, rule := range []string{
		"https://github.com/acme/*=../checkouts/*", "git@github.com:acme/shop=../shop", "*/shop=C:\\shop", "*=https://mirror.example/*",
		"ssh://git@h:2/x=/srv/git/x.git", "*/*=../*/*", "a=b=c", "acme/*=x*y", "https://a.example/x=-x", "x=ext::sh",
	} {
		f.Add(rule, "https://github.com/acme/shop")
		f.Add(rule, "git@github.com:acme/../../etc")
	}
	f.Fuzz(func(t *testing.T, rule, repo string) {
		rules, err := parseReplacements([]string{rule})
		if err != nil {
			require.NotContains(t, err.Error(), "\x1b")
			return
		}
		name, err := NormalURL(repo)
		if err != nil {
			return
		}
		target, ok := replace(rules, name)
		if !ok {
			return
		}
		again, _ := replace(rules, name)
		require.Equal(t, target, again)
		_, given, _ := strings.Cut(rule, "=")
		given = strings.TrimSpace(given)
		if !strings.Contains(given, "*") {
			require.Equal(t, given, target)
			return
		}
		fixed, _, _ := strings.Cut(given, "*")
		require.True(t, strings.HasPrefix(target, fixed))
		climbing := func(text string) int { return strings.Count("/"+strings.ReplaceAll(text, `\`, "/")+"/", "/../") }
		require.LessOrEqual(t, climbing(target), climbing(given), "a name leads out: %q", target)
	})
}
