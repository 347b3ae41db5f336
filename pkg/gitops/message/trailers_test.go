package message

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

const (
	commitA = "4c1f9e2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "b2c3d4ebbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	commitC = "c0ffee1ccccccccccccccccccccccccccccccccc"
)

func someProvenance() Provenance {
	return Provenance{
		Version: "v1.2.0", Environment: "dev",
		Origins: []source.Origin{
			{Role: model.Main, Repo: "https://github.com/acme/control-plane", Branch: "main", Path: ".", Commit: commitA},
			{Role: model.Platform, Repo: "https://github.com/acme/control-plane", Branch: "dev", Path: ".", Commit: commitB},
			{Role: model.Base, Repo: "https://github.com/acme/base", Branch: "main", Path: "services", Commit: commitC},
			{Role: model.Tenant, Repo: "https://github.com/acme/cart", Branch: "main", Path: "deploy/workload.yaml", Commit: commitA},
			{Role: model.Tenant, Repo: "https://github.com/acme/shop", Branch: "feature/new#1", Path: "deploy (old)", Commit: ""},
		},
	}
}

func TestTrailersOfACommit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `Kalypso-Version: v1.2.0
Kalypso-Environment: dev
Kalypso-Environments: https://github.com/acme/control-plane@main:. `+commitA+`
Kalypso-Control-Plane: https://github.com/acme/control-plane@dev:. `+commitB+`
Kalypso-Base: https://github.com/acme/base@main:services `+commitC+`
Kalypso-Workload: https://github.com/acme/cart@main:deploy/workload.yaml `+commitA+`
Kalypso-Workload: https://github.com/acme/shop@feature/new%231:deploy%20%28old%29
`, someProvenance().trailers())
}

// TestTrailersAreThoseOfGit compares with git interpret-trailers.
func TestTrailersAreThoseOfGit(t *testing.T) {
	t.Parallel()
	r := reportOf(oneChange(t))
	r.Quarantined = []QuarantinedRegistration{{Name: "shop", Commit: commitA, Why: "x"}}
	message := Commit(r)
	git := exec.CommandContext(t.Context(), "git", "interpret-trailers", "--parse")
	git.Stdin = strings.NewReader(message)
	out, err := git.Output()
	require.NoError(t, err)
	assert.Equal(t, r.Now.trailers()+"Kalypso-Held: shop "+commitA+"\n", string(out))
}

func TestParseTrailers(t *testing.T) {
	t.Parallel()
	message := Commit(reportOf(oneChange(t)))
	_, body, _ := strings.Cut(message, "\n")
	body = "\n" + body
	for name, test := range map[string]struct {
		message string
		ours    bool
	}{
		"as written":             {message, true},
		"carriage returns":       {strings.ReplaceAll(message, "\n", "\r\n"), true},
		"no line break at end":   {strings.TrimSpace(message), true},
		"blank lines at the end": {message + "\n\n\n", true},
		"squashed alone":         {"dev: 1 target changed (#12)" + body, true},
		"squashed with a merge":  {"dev: 1 target changed (#12)\n\n* " + message + "\n* Merge branch 'dev' into deployment/dev\n", true},
		"co-author next to them": {message + "Co-authored-by: A <a@example.com>\n", true},
		"co-author below them":   {message + "\n---------\n\nCo-authored-by: A <a@example.com>\n", true},
		"signed off":             {message + "\nSigned-off-by: A <a@example.com>\n", true},
		"cherry-picked":          {message + "(cherry picked from commit " + commitA + ")\n", true},

		"empty":                          {"", false},
		"someone else's":                 {"Fix a typo\n\nIt was wrong.\n\nSigned-off-by: A <a@example.com>\n", false},
		"the subject alone":              {"Kalypso-Version: v1\n", false},
		"in the middle of a text":        {"Explain\n\nKalypso-Version: v1\n\nThat is a trailer.\n", false},
		"in a text":                      {"Explain\n\nThis is how it looks:\nKalypso-Version: v1\n", false},
		"quoted":                         {"Explain\n\n    Kalypso-Version: v1\n", false},
		"two versions":                   {"Both\n\nKalypso-Version: v1\nKalypso-Version: v2\n", false},
		"two environments":               {"Both\n\nKalypso-Version: v1\nKalypso-Environment: a\nKalypso-Environment: b\n", false},
		"other kalypso trailers, alone":  {"Explain\n\nKalypso-Environment: dev\n", false},
		"a person's commit squashed too": {message + "\n* Change it by hand\n", false},
		"a revert":                       {"Revert \"Render dev\"\n\nThis reverts commit " + commitA + ".\n", false},
		"a malformed version":            {"Render\n\nKalypso-Version: %zz\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ours := ParseTrailers(test.message)
			assert.Equal(t, test.ours, ours)
			want := Provenance{}
			if test.ours {
				want = someProvenance()
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestParseTrailersLeavesOutWhatIsDamaged(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "x", "https://a/b", "https://a/b@main", "https://a/b:path " + commitA, "https://a/b@main:. abc",
		"https://a/b@main:. " + commitA + " ", "https://a/b@%zz:. " + commitA, "https://a/b@main:. " + commitA + " " + commitA,
	} {
		got, ours := ParseTrailers("Render\n\nKalypso-Version: v1\nKalypso-Workload: " + value + "\nKalypso-Base: https://a/c@main:. " + commitB + "\n")
		assert.True(t, ours, value)
		want := []source.Origin{{Role: model.Base, Repo: "https://a/c", Branch: "main", Path: ".", Commit: commitB}}
		if strings.TrimSpace(value) == "https://a/b@main:. "+commitA {
			want = append(want, source.Origin{Role: model.Tenant, Repo: "https://a/b", Branch: "main", Path: ".", Commit: commitA})
		}
		assert.Equal(t, want, got.Origins, value)
	}
}

func FuzzParseTrailers(f *testing.F) {
	f.Add("Render dev\n\n" + someProvenance().trailers())
	f.Add("\r\n\r\nKalypso-Version:")
	f.Add("a\n\nKalypso-Version: %\nKalypso-Base: @: ")
	f.Fuzz(func(t *testing.T, message string) {
		p, ours := ParseTrailers(message)
		if !ours {
			assert.Empty(t, p)
			return
		}
		p.Quarantined = nil // written elsewhere
		again, ours := ParseTrailers("Render\n\n" + p.trailers())
		assert.True(t, ours)
		assert.Equal(t, p, again)
	})
}

// FuzzTrailers: any names stay in their line and are parsed unchanged.
func FuzzTrailers(f *testing.F) {
	f.Add("v1 (devel)", "dev", "https://github.com/acme/shop", "main", ".")
	f.Add(" v1", "dev ", "C:\\x@y-", "a@b:c\nKalypso-Base: x", "p q\r\n\nKalypso-Version: v2")
	f.Add("%", "", "", "@team", "fixes #1 [skip ci] ***NO_CI*** \u202e\u2028\x00\xff")
	f.Fuzz(func(t *testing.T, version, environment, repo, branch, path string) {
		want := Provenance{Version: version, Environment: environment, Origins: []source.Origin{{Role: model.Tenant, Repo: repo, Branch: branch, Path: path, Commit: commitA}}}
		text := want.trailers()
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if environment == "" {
			assert.Len(t, lines, 2)
		} else {
			assert.Len(t, lines, 3)
		}
		assert.True(t, utf8.ValidString(text))
		assert.NotContains(t, text, "#")
		assert.NotContains(t, text, "[")
		assert.NotContains(t, text, "*")
		assert.Equal(t, 1, strings.Count(text, "@"), "only the one before the branch")
		got, ours := ParseTrailers("Render\n\n" + text)
		assert.True(t, ours)
		assert.Equal(t, want, got)
	})
}
