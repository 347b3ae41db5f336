package githubtest_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v53/github"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
)

func TestIssuesHavePullRequestsAmongThem(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	ctx, client := t.Context(), h.client("secret")
	h.open("deploy")
	made, _, err := client.Issues.Create(ctx, "acme", "gitops", &github.IssueRequest{
		Title: new("broken"), Body: new("<!-- marker -->"), Labels: &[]string{"kalypso"},
	})
	require.NoError(t, err)
	all, _, err := client.Issues.ListByRepo(ctx, "acme", "gitops", nil)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.False(t, all[0].IsPullRequest())
	assert.True(t, all[1].IsPullRequest())
	labelled, _, err := client.Issues.ListByRepo(ctx, "acme", "gitops", &github.IssueListByRepoOptions{Labels: []string{"kalypso"}})
	require.NoError(t, err)
	require.Len(t, labelled, 1)
	_, _, err = client.Issues.Edit(ctx, "acme", "gitops", made.GetNumber(), &github.IssueRequest{State: new("closed"), StateReason: new("completed"), Body: new("b")})
	require.NoError(t, err)
	closed := h.repo.Issues()[0]
	assert.False(t, closed.Open)
	assert.Equal(t, "completed", closed.StateReason)
	assert.Equal(t, "b", closed.Body)
	comments, _, err := client.Issues.ListComments(ctx, "acme", "gitops", 1, nil)
	require.NoError(t, err)
	assert.Empty(t, comments)
}

func TestRepositoryAndBranches(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{
		Private: true, DefaultBranch: "main",
	})
	ctx, client := t.Context(), h.client("secret")
	h.repo.SetBranch("deployment/dev", githubtest.CommitID("dev"))
	repo, _, err := client.Repositories.Get(ctx, "acme", "gitops")
	require.NoError(t, err)
	assert.Equal(t, "main", repo.GetDefaultBranch())
	assert.True(t, repo.GetPrivate())
	assert.True(t, repo.GetAllowMergeCommit())
	h.AddToken("reader", githubtest.Token{Permissions: map[string]string{"contents": "read"}})
	repo, _, err = h.client("reader").Repositories.Get(ctx, "acme", "gitops")
	require.NoError(t, err)
	assert.Nil(t, repo.AllowMergeCommit, "who may not write is not told")
	ref, _, err := client.Git.GetRef(ctx, "acme", "gitops", "heads/deployment/dev")
	require.NoError(t, err)
	assert.Equal(t, githubtest.CommitID("dev"), ref.GetObject().GetSHA())
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{})
	ctx, client := t.Context(), h.client("secret")
	main := githubtest.CommitID("main")
	for _, step := range []struct{ context, state string }{{"a", "success"}, {"b", "pending"}, {"b", "error"}, {"b", "success"}} {
		_, _, err := client.Repositories.CreateStatus(ctx, "acme", "gitops", main, &github.RepoStatus{
			Context: &step.context, State: &step.state, Description: new("d"), TargetURL: new("https://example.com"),
		})
		require.NoError(t, err)
	}
	statuses, _, err := client.Repositories.ListStatuses(ctx, "acme", "gitops", main, nil)
	require.NoError(t, err)
	require.Len(t, statuses, 4)
	assert.Equal(t, "success", statuses[0].GetState(), "the newest first")
	assert.Len(t, h.repo.Statuses(main), 4)
}

func TestDispatches(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{Workflows: []string{"check.yaml"}})
	_, err := h.client("secret").Actions.CreateWorkflowDispatchEventByFileName(t.Context(), "acme", "gitops", "check.yaml",
		github.CreateWorkflowDispatchEventRequest{Ref: "main", Inputs: map[string]any{"env": "dev"}})
	require.NoError(t, err)
	assert.Equal(t, []githubtest.Dispatch{
		{Workflow: "check.yaml", Ref: "main", Inputs: map[string]string{"env": "dev"}, Author: "github-actions[bot]"},
	}, h.repo.Dispatches())
}

// signed is a claim of an App.
func signed(t *testing.T, key *rsa.PrivateKey, issuer string, issued time.Time, life time.Duration) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: issuer, IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(issued.Add(life)),
	}).SignedString(key)
	require.NoError(t, err)
	return token
}

func TestAppTokens(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{Private: true})
	h.AddRepo("acme/hidden", githubtest.RepoOptions{Private: true})
	h.AddApp(githubtest.App{
		ID: 12, Slug: "kalypso", Key: &key.PublicKey, Owner: "acme", Installation: 34, Repos: []string{name},
		Permissions: map[string]string{"contents": "write", "pull_requests": "write"},
	})
	ctx, now := t.Context(), githubtest.Midnight()
	app := h.client(signed(t, key, "12", now, time.Minute))

	installation, _, err := app.Apps.FindRepositoryInstallation(ctx, "acme", "gitops")
	require.NoError(t, err)
	assert.EqualValues(t, 34, installation.GetID())
	_, _, err = app.Apps.FindRepositoryInstallation(ctx, "acme", "hidden")
	status, _, _ := refusal(t, err)
	assert.Equal(t, 404, status)

	minted, _, err := app.Apps.CreateInstallationToken(ctx, 34, &github.InstallationTokenOptions{
		Repositories: []string{"gitops"}, Permissions: &github.InstallationPermissions{PullRequests: new("write")},
	})
	require.NoError(t, err)
	assert.Equal(t, now.Add(time.Hour), minted.GetExpiresAt().UTC())
	_, _, err = h.client(minted.GetToken()).PullRequests.Create(ctx, "acme", "gitops", pull("t", "deploy", "main"))
	require.NoError(t, err)
	assert.Equal(t, "kalypso[bot]", h.repo.Pull(1).Author)
	assert.Equal(t, "kalypso #1", h.Writes()[1].Token)
	_, _, err = h.client(minted.GetToken()).Git.GetRef(ctx, "acme", "gitops", "heads/main")
	status, _, _ = refusal(t, err)
	assert.Equal(t, 403, status, "narrowed to less than the App has")

	for about, test := range map[string]struct {
		secret  string
		options github.InstallationTokenOptions
		status  int
		want    string
	}{
		"repository": {
			options: github.InstallationTokenOptions{Repositories: []string{"hidden"}, Permissions: &github.InstallationPermissions{PullRequests: new("write")}},
			status:  422, want: "There is at least one repository that does not exist",
		},
		"permission": {
			options: github.InstallationTokenOptions{Repositories: []string{"gitops"}, Permissions: &github.InstallationPermissions{Issues: new("write")}},
			status:  422, want: "The permissions requested are not granted to this installation.",
		},
		"another key":   {secret: signed(t, other, "12", now, time.Minute), status: 401, want: "could not be decoded"},
		"another App":   {secret: signed(t, key, "13", now, time.Minute), status: 401, want: "could not be decoded"},
		"expired":       {secret: signed(t, key, "12", now.Add(-time.Hour), time.Minute), status: 401, want: "expired"},
		"too long":      {secret: signed(t, key, "12", now, time.Hour), status: 401, want: "is too far in the future"},
		"not yet":       {secret: signed(t, key, "12", now.Add(time.Minute), time.Minute), status: 401, want: "used before issued"},
		"a token":       {secret: "secret", status: 401, want: "could not be decoded"},
		"without a key": {secret: "", status: 401, want: "could not be decoded"},
	} {
		client := app
		if test.want != "" && test.options.Repositories == nil && test.options.Permissions == nil {
			client = h.client(test.secret)
		}
		_, _, err := client.Apps.CreateInstallationToken(ctx, 34, &test.options)
		status, message, _ := refusal(t, err)
		assert.Equal(t, test.status, status, about)
		assert.Contains(t, message, test.want, about)
	}
	_, _, err = app.Apps.CreateInstallationToken(ctx, 35, &github.InstallationTokenOptions{})
	status, _, _ = refusal(t, err)
	assert.Equal(t, 404, status)
}

// document is one that the GraphQL API answers.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("graphql", name+".graphql"))
	require.NoError(t, err)
	return string(text)
}

// autoMerge asks for the mutation.
func (h *hub) autoMerge(secret, query string, variables map[string]any) string {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(h.t, err)
	path := "/graphql"
	if h.URL != h.WebURL {
		path = "/api/graphql"
	}
	_, answer, err := ask(h.t.Context(), secret, "POST", h.WebURL+path, string(body))
	require.NoError(h.t, err)
	return answer
}

func TestAutoMerge(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{}, githubtest.RepoOptions{AllowAutoMerge: true, RequiredChecks: []string{"build"}})
	opened := h.open("deploy")
	assert.Equal(t, "blocked", opened.GetMergeableState())
	enable, disable := document(t, "enable"), document(t, "disable")
	variables := map[string]any{"id": opened.GetNodeID(), "method": "SQUASH", "head": opened.GetHead().GetSHA()}
	answer := h.autoMerge("secret", enable, variables)
	assert.JSONEq(t, `{"data":{"enablePullRequestAutoMerge":{"clientMutationId":null}}}`, answer)
	assert.Equal(t, "squash", h.repo.Pull(1).AutoMerge)
	only := map[string]any{"id": opened.GetNodeID()}
	assert.JSONEq(t, `{"data":{"disablePullRequestAutoMerge":{"clientMutationId":null}}}`, h.autoMerge("secret", disable, only))
	assert.Empty(t, h.repo.Pull(1).AutoMerge)
	assert.Contains(t, h.autoMerge("secret", disable, only), "Can't disable auto-merge for this pull request")
	h.autoMerge("secret", enable, variables)
	h.repo.SetStatus(githubtest.Status{Commit: opened.GetHead().GetSHA(), Context: "build", State: "success"})
	assert.True(t, h.repo.Pull(1).Merged, "when what was missing has come")
}

func TestAutoMergeRefused(t *testing.T) {
	t.Parallel()
	for about, test := range map[string]struct {
		prepare func(h *hub)
		secret  string
		input   map[string]any
		want    string
	}{
		"clean":       {want: "Pull request Pull request is in clean status"},
		"unstable":    {want: "Pull request Pull request is in unstable status", prepare: func(h *hub) { h.repo.SetMergeableState(1, "unstable") }},
		"closed":      {want: "Pull request is closed", prepare: func(h *hub) { h.repo.Close(1) }},
		"another":     {want: "Could not resolve to a node with the global id of 'PR_x'", input: map[string]any{"id": "PR_x"}},
		"other head":  {want: "Head branch was modified", input: map[string]any{"head": "x"}},
		"permission":  {secret: "pulls", want: "Resource not accessible by integration"},
		"credentials": {secret: "x", want: "Bad credentials"},
		"anonymous":   {secret: "-", want: "This endpoint requires you to be authenticated."},
		"not allowed": {
			want:    "Auto merge is not allowed for this repository",
			prepare: func(h *hub) { h.repo.SetOptions(func(o *githubtest.RepoOptions) { o.AllowAutoMerge = false }) },
		},
		"method": {
			want: "Merge method merge merging is not allowed on this repository",
			prepare: func(h *hub) {
				h.repo.SetOptions(func(o *githubtest.RepoOptions) { o.MergeMethods = []string{"squash"} })
			},
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, githubtest.Options{Enterprise: true}, githubtest.RepoOptions{AllowAutoMerge: true})
			h.AddToken("pulls", githubtest.Token{Permissions: map[string]string{"pull_requests": "write"}})
			h.open("deploy")
			if test.prepare != nil {
				test.prepare(h)
			}
			secret := map[string]string{"": "secret", "-": ""}[test.secret]
			if secret == "" && test.secret != "-" {
				secret = test.secret
			}
			input := map[string]any{"id": "PR_1_1", "method": "MERGE", "head": githubtest.CommitID("deploy")}
			maps.Copy(input, test.input)
			assert.Contains(t, h.autoMerge(secret, document(t, "enable"), input), test.want)
			assert.Empty(t, h.repo.Pull(1).AutoMerge)
		})
	}
}

func TestGraphqlRefusedByTheSchema(t *testing.T) {
	t.Parallel()
	enable := document(t, "enable")
	for about, test := range map[string]struct {
		query     string
		variables map[string]any
		want      string
	}{
		"unknown document": {query: `query { viewer { login name } }`, want: "does not know this document"},
		"unknown variable": {enable, map[string]any{"id": "x", "method": "SQUASH", "head": "y", "merge": "z"}, `unknown field \"merge\"`},
		"wrong type":       {enable, map[string]any{"id": 1, "method": "SQUASH", "head": "y"}, "cannot unmarshal number"},
		"wrong method":     {enable, map[string]any{"id": "x", "method": "squash", "head": "y"}, "not the variables of the document"},
		"missing variable": {enable, map[string]any{"id": "x", "method": "SQUASH"}, "not the variables of the document"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			server, err := githubtest.Start(githubtest.Options{})
			require.NoError(t, err)
			defer server.Close()
			h := &hub{Server: server, t: t}
			assert.Contains(t, h.autoMerge("secret", test.query, test.variables), test.want)
			assert.Len(t, server.Violations(), 1)
		})
	}
}

// TestEnterprise serves below other paths; github.com's do not exist there.
func TestEnterprise(t *testing.T) {
	t.Parallel()
	h := newHub(t, githubtest.Options{Enterprise: true, PageSize: 1}, githubtest.RepoOptions{})
	client, err := github.NewEnterpriseClient(h.WebURL, h.WebURL, nil)
	require.NoError(t, err)
	h.repo.OpenIssue(githubtest.Issue{Title: "a"})
	h.repo.OpenIssue(githubtest.Issue{Title: "b"})
	issues, response, err := client.Issues.ListByRepo(t.Context(), "acme", "gitops", nil)
	require.NoError(t, err)
	assert.Len(t, issues, 1)
	assert.Equal(t, 2, response.NextPage)
	assert.Contains(t, response.Header.Get("Link"), h.URL+"/repos/acme/gitops/issues?page=2")
	assert.Equal(t, "/repos/acme/gitops/issues", h.Requests()[0].Path)
}
