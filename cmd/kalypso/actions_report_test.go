package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func namedEnvironment(name string) *model.Environment {
	e := &model.Environment{}
	e.Name.Value = name
	return e
}

func TestActionsReportOfSession(t *testing.T) {
	t.Parallel()
	changed := &gitops.Change{Files: []gitops.FileChange{{Path: "a/b/namespace.yaml", Action: gitops.Added}}}
	plan := planResult{Summary: "1 target on 1 cluster type: +1 ~0 -0 =0", Targets: 1, ClusterTypes: 1, Added: 1}
	s := &session{results: []*result{
		{
			compiled: &compiled{environment: namedEnvironment("dev"), fleet: &model.Fleet{Sources: []*model.Source{
				{Repo: controlPlaneURL, Commit: pushedCommit, Ref: model.Ref{Branch: "dev"}},
			}}},
			changes: []*changeResult{
				{GitOpsRepo: "fleet", change: changed, Plan: plan, Published: &publishedResult{
					Branch: "deployment/dev", Commit: otherCommit, PullRequest: &pullRequestResult{7, "https://h/7", gitops.SubmissionCreated, gitops.PullRequestOpen},
					Closed: []pullRequestResult{{Number: 5, URL: "https://h/5"}},
				}},
				{GitOpsRepo: "mirror", change: &gitops.Change{}, Published: &publishedResult{Closed: []pullRequestResult{{Number: 6, URL: "https://h/6"}}}},
			},
		},
		{compiled: &compiled{environment: namedEnvironment("stage")}, changes: []*changeResult{{change: changed}}},
		{compiled: &compiled{environment: namedEnvironment("prod")}},
	}}
	r := s.actionsReport("kalypso render", "1 error", diag.List{{Rule: "r"}})
	assert.Equal(t, actionsReport{
		title: "kalypso render", verdict: "1 error", diags: diag.List{{Rule: "r"}},
		commits: readCommits{{controlPlaneURL, "dev"}: pushedCommit},
		results: []actionsResult{
			{
				Environment: "dev", GitOpsRepo: "fleet", Changed: true, Plan: plan, Branch: "deployment/dev", Commit: otherCommit,
				PullRequest: &actionsPullRequest{7, "https://h/7", "created"},
			},
			{Environment: "dev", GitOpsRepo: "mirror", PullRequest: &actionsPullRequest{6, "https://h/6", "closed"}},
			{Environment: "stage", Changed: true},
			{Environment: "prod", uncompared: true},
		},
	}, r)
}
