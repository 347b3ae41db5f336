package githubtest_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-github/v53/github"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

const name = "acme/gitops"

// hub is a server with a repository, and a token that may do everything.
type hub struct {
	*githubtest.Server
	t    *testing.T
	repo *githubtest.Repo
}

// newHub makes a hub whose repository has the branches main and deploy, without content unless the options
// have a folder.
func newHub(t *testing.T, options githubtest.Options, repo githubtest.RepoOptions) *hub {
	t.Helper()
	h := &hub{Server: githubtest.NewServer(t, options), t: t}
	h.repo = h.AddRepo(name, repo)
	if repo.Dir == "" {
		h.repo.SetBranch("main", githubtest.CommitID("main"))
		h.repo.SetBranch("deploy", githubtest.CommitID("deploy"))
	}
	h.AddToken("secret", githubtest.Token{Name: "workflow", Permissions: githubtest.AllPermissions()})
	return h
}

// client is a client with a token, or without if the secret is empty.
func (h *hub) client(secret string) *github.Client {
	h.t.Helper()
	client := github.NewClient(&http.Client{Transport: withToken(secret)})
	base, err := url.Parse(h.URL + "/")
	require.NoError(h.t, err)
	client.BaseURL = base
	return client
}

// withToken sends a secret along.
type withToken string

func (secret withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if secret != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(secret))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// do sends a request as it is.
func (h *hub) do(method, path, body string) (int, string) {
	h.t.Helper()
	status, answer, err := ask(h.t.Context(), "secret", method, h.URL+path, body)
	require.NoError(h.t, err)
	return status, answer
}

// ask sends a request as it is.
func ask(ctx context.Context, secret, method, url, body string) (status int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := withToken(secret).RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response.StatusCode, string(read), err
}

// open opens a pull request from a branch into main.
func (h *hub) open(head string) *github.PullRequest {
	h.t.Helper()
	p, _, err := h.client("secret").PullRequests.Create(h.t.Context(), "acme", "gitops",
		&github.NewPullRequest{Title: new("Deploy"), Head: &head, Base: new("main"), Body: new("all of it")})
	require.NoError(h.t, err)
	return p
}

// refusal reads what GitHub refused with.
func refusal(t *testing.T, err error) (int, string, []github.Error) {
	t.Helper()
	var no *github.ErrorResponse
	require.ErrorAs(t, err, &no)
	return no.Response.StatusCode, no.Message, no.Errors
}

func TestPullRequestFromOpenToClosed(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	ctx, client := t.Context(), h.client("secret")
	opened := h.open("deploy")
	assert.Equal(t, 1, opened.GetNumber())
	assert.Equal(t, "open", opened.GetState())
	assert.Equal(t, "github-actions[bot]", opened.GetUser().GetLogin())
	assert.Equal(t, githubtest.CommitID("deploy"), opened.GetHead().GetSHA())
	assert.Equal(t, name, opened.GetHead().GetRepo().GetFullName())

	edited, _, err := client.PullRequests.Edit(ctx, "acme", "gitops", 1, &github.PullRequest{Title: new("New"), Body: new("b")})
	require.NoError(t, err)
	assert.Equal(t, "New", edited.GetTitle())
	h.repo.SetBranch("deploy", githubtest.CommitID("more"))
	pulls, _, err := client.PullRequests.List(ctx, "acme", "gitops", &github.PullRequestListOptions{
		State: "open", Head: "acme:deploy", Base: "main",
	})
	require.NoError(t, err)
	require.Len(t, pulls, 1)
	assert.Equal(t, githubtest.CommitID("more"), pulls[0].GetHead().GetSHA(), "the head follows its branch")

	_, _, err = client.PullRequests.Edit(ctx, "acme", "gitops", 1, &github.PullRequest{State: new("closed")})
	require.NoError(t, err)
	assert.Empty(t, h.repo.OpenPulls())
	assert.Equal(t, "New", h.repo.Pull(1).Title)
}

func TestLabelsCommentsAssignees(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{Collaborators: map[string]string{"ada": "write"}})
	ctx, client := t.Context(), h.client("secret")
	h.open("deploy")
	_, _, err := client.Issues.CreateLabel(ctx, "acme", "gitops", &github.Label{Name: new("promoted"), Color: new("ff0000")})
	require.NoError(t, err)
	labels, _, err := client.Issues.AddLabelsToIssue(ctx, "acme", "gitops", 1, []string{"Promoted", "new"})
	require.NoError(t, err, "a bare list")
	assert.Len(t, labels, 2)
	_, _, err = client.Issues.AddLabelsToIssue(ctx, "acme", "gitops", 1, []string{"third"})
	require.NoError(t, err)
	_, err = client.Issues.RemoveLabelForIssue(ctx, "acme", "gitops", 1, "third")
	require.NoError(t, err)
	_, _, err = client.Issues.CreateComment(ctx, "acme", "gitops", 1, &github.IssueComment{Body: new("why")})
	require.NoError(t, err)
	_, _, err = client.Issues.AddAssignees(ctx, "acme", "gitops", 1, []string{"ada", "nobody"})
	require.NoError(t, err)

	pull := h.repo.Pull(1)
	assert.Equal(t, []string{"promoted", "new"}, pull.Labels)
	assert.Equal(t, []string{"ada"}, pull.Assignees, "others are passed over")
	assert.Equal(t, "why", pull.Comments[0].Body)
	assert.Len(t, h.repo.Labels(), 3)
	assert.Len(t, h.Writes(), 7)
}

func TestRefusedByTheDescription(t *testing.T) {
	t.Parallel()
	for about, test := range map[string]struct{ method, path, body, want string }{
		"wrong type":         {"POST", "/pulls", `{"title":1,"head":"deploy","base":"main"}`, "at '/title': got number, want string"},
		"missing field":      {"POST", "/pulls", `{"title":"t"}`, "missing properties 'head', 'base'"},
		"unknown field":      {"POST", "/pulls", `{"title":"t","head":"deploy","base":"main","drafft":true}`, "additional properties 'drafft' not allowed"},
		"unknown value":      {"PATCH", "/pulls/1", `{"state":"merged"}`, "/body' - at '/state': value must be one of"},
		"unknown parameter":  {"GET", "/pulls?pre_page=1", "", "query: "},
		"value of parameter": {"GET", "/pulls?state=merged", "", "/query' - at '/state': value must be one of"},
		"not a number":       {"GET", "/pulls/one", "", "/path' - at '/pull_number'"},
		"no JSON":            {"POST", "/pulls", `{`, "body: unexpected EOF"},
		"labels":             {"POST", "/issues/1/labels", `[1]`, "got number, want string"},
		"no endpoint":        {"GET", "/teams", "", "the stand-in has no such endpoint"},
		"other method":       {"DELETE", "/pulls", "", "the stand-in has no such endpoint"},
		"label with a slash": {"DELETE", "/issues/1/labels/a/b", "", "the stand-in has no such endpoint"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			server, err := githubtest.Start(githubtest.Options{})
			require.NoError(t, err)
			defer server.Close()
			h := &hub{Server: server, t: t}
			h.AddRepo(name, githubtest.RepoOptions{})
			h.AddToken("secret", githubtest.Token{Permissions: githubtest.AllPermissions()})
			status, _ := h.do(test.method, "/repos/"+name+test.path, test.body)
			assert.Contains(t, []int{400, 404}, status)
			require.Len(t, server.Violations(), 1)
			assert.Contains(t, server.Violations()[0], test.method+" /repos/"+name)
			assert.Contains(t, server.Violations()[0], test.want)
		})
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{PageSize: 1}, githubtest.RepoOptions{})
	for _, branch := range []string{"a", "b", "c"} {
		h.repo.SetBranch(branch, githubtest.CommitID(branch))
		h.open(branch)
	}
	var heads []string
	options := &github.PullRequestListOptions{ListOptions: github.ListOptions{PerPage: 100}}
	for {
		pulls, response, err := h.client("secret").PullRequests.List(t.Context(), "acme", "gitops", options)
		require.NoError(t, err)
		require.Len(t, pulls, 1)
		heads = append(heads, pulls[0].GetHead().GetRef())
		if response.NextPage == 0 {
			break
		}
		options.Page = response.NextPage
	}
	assert.Equal(t, []string{"c", "b", "a"}, heads, "the newest first")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	comment := func(h *hub, ctx context.Context) error {
		_, _, err := h.client("secret").Issues.CreateComment(ctx, "acme", "gitops", 1, &github.IssueComment{Body: new("x")})
		return err
	}
	for about, test := range map[string]struct {
		fault githubtest.Fault
		want  string
		done  bool
	}{
		"502":            {fault: githubtest.HTTPError(502), want: "502"},
		"502 when done":  {fault: githubtest.HTTPError(502).Late(), want: "502", done: true},
		"reset":          {fault: githubtest.Reset(), want: "connection reset by peer"},
		"lost answer":    {fault: githubtest.LostAnswer(), want: "connection reset by peer", done: true},
		"cut answer":     {fault: githubtest.CutAnswer(), want: "unexpected EOF", done: true},
		"secondary":      {fault: githubtest.SecondaryRateLimit(403, 60e9), want: "403 You have exceeded a secondary rate limit"},
		"secondary, 429": {fault: githubtest.SecondaryRateLimit(429, 0), want: "429 You have exceeded a secondary rate limit"},
		"primary":        {fault: githubtest.PrimaryRateLimit(403, githubtest.Midnight()), want: "403 API rate limit exceeded"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
			h.open("deploy")
			h.Inject(test.fault, githubtest.NthWrite(2))
			err := comment(h, t.Context())
			require.ErrorContains(t, err, test.want)
			assert.Len(t, h.Writes(), 2, "it is recorded")
			assert.Len(t, h.repo.Comments(1), map[bool]int{true: 1}[test.done])
			require.NoError(t, comment(h, t.Context()), "the next is fine")
		})
	}
	t.Run("hang", func(t *testing.T) {
		t.Parallel()
		h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
		h.open("deploy")
		ctx, cancel := context.WithCancel(t.Context())
		comments := githubtest.On("POST", "/repos/*/*/issues/*/comments")
		h.Inject(githubtest.Hang(), func(r githubtest.Request) bool {
			cancel() // now that the request is there
			return comments(r)
		})
		require.ErrorIs(t, comment(h, ctx), context.Canceled)
		assert.Empty(t, h.repo.Comments(1))
	})
}

func TestRateLimitHeaders(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	h.Inject(githubtest.SecondaryRateLimit(403, 60e9), githubtest.Nth(1))
	_, response, err := h.client("secret").Repositories.Get(t.Context(), "acme", "gitops")
	require.Error(t, err)
	assert.Equal(t, "60", response.Header.Get("Retry-After"))
	h.Inject(githubtest.PrimaryRateLimit(403, githubtest.Midnight()), githubtest.First(1, githubtest.Always))
	_, _, err = h.client("secret").Repositories.Get(t.Context(), "acme", "gitops")
	var limited *github.RateLimitError
	require.ErrorAs(t, err, &limited)
	assert.Equal(t, githubtest.Midnight(), limited.Rate.Reset.UTC())
	_, _, err = h.client("secret").Repositories.Get(t.Context(), "acme", "gitops")
	require.NoError(t, err)
}
