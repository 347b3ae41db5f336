package github_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// deployed is a status with all that a status has.
func deployed() promote.Status {
	return promote.Status{
		Context: "stage environment", State: promote.StatusPending, Description: "Deploying, 3 of 5 clusters",
		TargetURL: "https://github.com/acme/control/actions/runs/1",
	}
}

func TestStatusThatIsSetIsRead(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]githubtest.Options{"github.com": {}, "Enterprise": {Enterprise: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, options, nil)
			none, err := f.repo.Statuses(t.Context(), commit("0"))
			require.NoError(t, err)
			assert.Empty(t, none)

			require.NoError(t, f.repo.SetStatus(t.Context(), commit("0"), deployed()))
			assert.Len(t, f.hub.Requests(), 2, "nothing is asked before it is set")
			found, err := f.repo.Statuses(t.Context(), commit("0"))
			require.NoError(t, err)
			want := deployed()
			want.Creator = "github-actions[bot]"
			assert.Equal(t, []promote.Status{want}, found)

			other, err := f.repo.Statuses(t.Context(), commit("1"))
			require.NoError(t, err)
			assert.Empty(t, other, "of another commit")
		})
	}
}

// TestStatusesAreTheNewest: of each context, in any case, and in order, although most are of one second.
func TestStatusesAreTheNewest(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	for _, s := range []struct{ context, state string }{
		{"dev environment", "pending"}, {"ci", "success"}, {"dev environment", "success"}, {"Dev Environment", "failure"}, {"docs", "error"},
	} {
		f.remote.SetStatus(githubtest.Status{Commit: commit("0"), Context: s.context, State: s.state})
	}
	f.hub.Advance(time.Hour)
	f.remote.SetStatus(githubtest.Status{Commit: commit("0"), Context: "ci", State: "pending"})
	found, err := f.repo.Statuses(t.Context(), commit("0"))
	require.NoError(t, err)
	var lines []string
	for _, s := range found {
		lines = append(lines, s.Context+" "+string(s.State))
	}
	assert.Equal(t, []string{"ci pending", "docs error", "Dev Environment failure"}, lines)
}

// zero is commit("0").
const zero = "0000000000000000000000000000000000000000"

// TestStatusesOfAnyOrder: what GitHub says of their order is of another request.
func TestStatusesOfAnyOrder(t *testing.T) {
	t.Parallel()
	const one = `{"id":%d,"context":%q,"state":%q,"created_at":"2026-01-01T00:00:%02dZ","url":"https://x/statuses/` + zero + `"}`
	statuses := strings.Join([]string{
		fmt.Sprintf(one, 2, "a", "failure", 5), fmt.Sprintf(one, 9, "b", "pending", 1), fmt.Sprintf(one, 3, "A", "success", 5),
		fmt.Sprintf(one, 3, "A", "success", 5), // on two pages
	}, ",")
	repo := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "[%s]", statuses)
	})
	found, err := repo.Statuses(t.Context(), commit("0"))
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.Equal(t, "A", found[0].Context)
	assert.Equal(t, promote.StatusSuccess, found[0].State)
	assert.Equal(t, "b", found[1].Context)
}

// TestR13AllStatusesAreRead: however many there are, and never a part of them.
func TestR13AllStatusesAreRead(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	for n := range 230 {
		f.remote.SetStatus(githubtest.Status{Commit: commit("0"), Context: fmt.Sprint("check ", n), State: "success"})
	}
	found, err := f.repo.Statuses(t.Context(), commit("0"))
	require.NoError(t, err)
	assert.Len(t, found, 230)
	assert.Len(t, f.hub.Requests(), 3)
	assert.Equal(t, "check 229", found[0].Context)
	assert.Equal(t, "check 0", found[229].Context)
}

func TestR13StatusesThatAreNotWhole(t *testing.T) {
	t.Parallel()
	const (
		url    = `"url":"https://x/statuses/` + zero + `"`
		status = `{"id":1,"context":"a","state":"success","created_at":"2026-01-01T00:00:00Z",` + url + `}`
	)
	for name, answer := range map[string]string{
		"no id":           `[{"context":"a","state":"success",` + url + `}]`,
		"no state":        `[{"id":1,"context":"a",` + url + `}]`,
		"no context":      `[{"id":1,"state":"success",` + url + `}]`,
		"another commit":  strings.ReplaceAll(`[`+status+`]`, zero, commit("1")),
		"null in it":      `[` + status + `,null]`,
		"something else":  `{"message":"hello"}`,
		"a web page":      `<html>`,
		"nothing at all":  ``,
		"null":            `null`,
		"cut in the list": `[` + status,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
			found, err := repo.Statuses(t.Context(), commit("0"))
			var failed *github.Error
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, github.Unavailable, failed.Kind)
			assert.Equal(t, "read the statuses of 000000000000", failed.Act)
			assert.Empty(t, found)
		})
	}
}

// TestWhatGitHubRefusesIsLeftOut: texts are untrusted, and the fake server refuses what GitHub refuses.
func TestWhatGitHubRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ given, want string }{
		"fits":               {"Deployed", "Deployed"},
		"nothing":            {"", ""},
		"longest":            {strings.Repeat("ü", 140), strings.Repeat("ü", 140)},
		"too long":           {strings.Repeat("ü", 141), strings.Repeat("ü", 139) + "…"},
		"cut after a word":   {strings.Repeat("a", 138) + " bcd", strings.Repeat("a", 138) + "…"},
		"very long":          {strings.Repeat("long ", 100_000), strings.TrimSpace(strings.Repeat("long ", 28)[:139]) + "…"},
		"lines":              {"one\r\n\ttwo\x00", "one two"},
		"colours":            {"\x1b[31mred\u202e", "[31mred"},
		"not a text":         {"a\xffb", "a\uFFFDb"},
		"beyond three bytes": {"a \U0001f41b b", "a \uFFFD b"},
		"a secret":           {"denied: " + secret, "denied: ***"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			_, err := f.repo.Statuses(t.Context(), commit("0")) // the token is known from then on
			require.NoError(t, err)
			status := deployed()
			status.Description = test.given
			require.NoError(t, f.repo.SetStatus(t.Context(), commit("0"), status))
			set := f.remote.Statuses(commit("0"))[0].Description
			assert.Equal(t, test.want, set)
			assert.LessOrEqual(t, utf8.RuneCountInString(set), promote.MaxDescription)
		})
	}
	for name, target := range map[string]string{
		"none": "", "a file": "file:///etc/passwd", "a script": "javascript:alert(1)", "no host": "https:///x", "no URL": "https://a b%",
		"a user": "https://ann:pass@example.com/", "a secret": "https://example.com/?token=" + secret,
	} {
		t.Run("page: "+name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			_, err := f.repo.Statuses(t.Context(), commit("0"))
			require.NoError(t, err)
			status := deployed()
			status.TargetURL = target
			require.NoError(t, f.repo.SetStatus(t.Context(), commit("0"), status))
			assert.Empty(t, f.remote.Statuses(commit("0"))[0].TargetURL)
		})
	}
}

// TestStatusOfUnknownOutcome: a thousand is all that GitHub takes, so that none is added if it is the newest already.
func TestStatusOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	same := githubtest.Status{
		Context: "Stage Environment", State: "pending", Author: "github-actions[bot]", Description: "Deploying, 3 of 5 clusters", TargetURL: deployed().TargetURL,
	}
	other := func(change func(*githubtest.Status)) *githubtest.Status {
		status := same
		change(&status)
		return &status
	}
	for name, test := range map[string]struct {
		fault  githubtest.Fault
		before *githubtest.Status
		writes int
	}{
		"it was added":                  {githubtest.LostAnswer(), nil, 1},
		"it was added to another":       {githubtest.LostAnswer(), other(func(s *githubtest.Status) { s.State = "success" }), 1},
		"it was not added":              {githubtest.Reset(), nil, 2},
		"the newest is like it":         {githubtest.Reset(), &same, 1},
		"a person's is like it":         {githubtest.Reset(), other(func(s *githubtest.Status) { s.Author = "octocat" }), 2},
		"the newest has another state":  {githubtest.Reset(), other(func(s *githubtest.Status) { s.State = "success" }), 2},
		"the newest has another text":   {githubtest.Reset(), other(func(s *githubtest.Status) { s.Description = "Deploying" }), 2},
		"the newest has another page":   {githubtest.Reset(), other(func(s *githubtest.Status) { s.TargetURL = "" }), 2},
		"another context has one alike": {githubtest.Reset(), other(func(s *githubtest.Status) { s.Context = "dev environment" }), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t, githubtest.Options{}, nil)
			if test.before != nil {
				test.before.Commit = commit("0")
				f.remote.SetStatus(*test.before)
			}
			f.hub.Inject(test.fault, githubtest.First(1, githubtest.NthWrite(1)))
			require.NoError(t, f.repo.SetStatus(t.Context(), commit("0"), deployed()))
			assert.Len(t, f.hub.Writes(), test.writes)
			assert.Len(t, f.hub.Requests(), test.writes+2, "it is read once whose statuses are ours, and whether it is there")
			newest := f.remote.NewestStatuses(commit("0"))[0]
			assert.Equal(t, "pending Deploying, 3 of 5 clusters", newest.State+" "+newest.Description)
		})
	}
}

// TestStatusOfUnknownOutcomeThatDidNotFit: what is compared is what was sent.
func TestStatusOfUnknownOutcomeThatDidNotFit(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	f.hub.Inject(githubtest.LostAnswer(), githubtest.First(1, githubtest.NthWrite(1)))
	long := deployed()
	long.Description, long.TargetURL = strings.Repeat("\U0001f41b ", 200), "ftp://example.com"
	require.NoError(t, f.repo.SetStatus(t.Context(), commit("0"), long))
	assert.Len(t, f.hub.Writes(), 1)
}

func TestAThousandStatuses(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	for range 999 {
		f.remote.SetStatus(githubtest.Status{Commit: commit("0"), Context: "stage environment", State: "pending"})
	}
	require.NoError(t, f.repo.SetStatus(t.Context(), commit("0"), deployed()))
	err := f.repo.SetStatus(t.Context(), commit("0"), deployed())
	require.ErrorContains(t, err, `set the status "stage environment" of 000000000000 in acme/gitops: GitHub takes no more than 1000 statuses of it`)
	var failed *github.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, github.Invalid, failed.Kind)
	assert.Equal(t, "promote a newer commit", failed.Hint)
	f.hub.Forget()
	found, err := f.repo.Statuses(t.Context(), commit("0"))
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

// TestR13NobodyHidesTheStatusesOfOthers: a status is found regardless of the number of other statuses before and after it.
func TestR13NobodyHidesTheStatusesOfOthers(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	require.NoError(t, f.repo.SetStatus(t.Context(), commit("0"), deployed()))
	for range 999 {
		f.remote.SetStatus(githubtest.Status{Commit: commit("0"), Context: "STAGE environment", State: "success", Author: "mallory"})
	}
	for range 999 {
		f.remote.SetStatus(githubtest.Status{Commit: commit("0"), Context: "ci", State: "success", Author: "mallory"})
	}
	found, err := f.repo.Statuses(t.Context(), commit("0"))
	require.NoError(t, err)
	var lines []string
	for _, s := range found {
		lines = append(lines, fmt.Sprintf("%s: %s %s", s.Creator, s.Context, s.State))
	}
	assert.Equal(t, []string{"mallory: ci success", "mallory: STAGE environment success", "github-actions[bot]: stage environment pending"}, lines)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for _, login := range []string{"github-actions[bot]", "kalypso[bot]", "octocat"} {
		f := setup(t, githubtest.Options{}, nil)
		f.hub.AddToken(secret, githubtest.Token{Login: login})
		for range 2 {
			found, err := f.repo.Login(t.Context())
			require.NoError(t, err)
			assert.Equal(t, login, found)
		}
		assert.Len(t, f.hub.Requests(), 1)
		assert.Empty(t, f.hub.Writes())
	}
}

func TestLoginUnavailable(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing": `{}`, "null": `{"data":null}`, "nobody": `{"data":{"viewer":{"login":""}}}`,
		"an error": `{"data":null,"errors":[{"type":"FORBIDDEN","message":"Resource not accessible by integration"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
			login, err := repo.Login(t.Context())
			require.ErrorContains(t, err, "read the login of the token's owner in acme/gitops: GitHub")
			assert.Empty(t, login)
		})
	}
}

func TestStatusesOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	f := withHistory(t)
	for name, test := range map[string]struct{ commit, want string }{
		"unknown":     {commit("9"), "999999999999 in acme/control: commit not found"},
		"a branch":    {"main", `main in acme/control: "main" is not a full commit SHA`},
		"abbreviated": {"0123456", `0123456 in acme/control: "0123456" is not a full commit SHA`},
		"nothing":     {"", `in acme/control: "" is not a full commit SHA`},
		"a path":      {"../../../user", `"../../../user" is not a full commit SHA`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := f.control.Statuses(t.Context(), test.commit)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, f.control.SetStatus(t.Context(), test.commit, deployed()), test.want)
		})
	}
}

func TestStatusOfAGitHubThatSaysNotFound(t *testing.T) {
	t.Parallel()
	f := setup(t, githubtest.Options{}, nil)
	f.hub.Inject(githubtest.Refusal(http.StatusNotFound, "Not Found"), githubtest.Always)
	err := f.repo.SetStatus(t.Context(), commit("0"), deployed())
	var failed *github.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, github.NotFound, failed.Kind)
	assert.Equal(t, "statuses: write", failed.Permission)
	assert.Len(t, f.hub.Requests(), 1)
	require.NotErrorIs(t, err, giterror.ErrConflict)
}
