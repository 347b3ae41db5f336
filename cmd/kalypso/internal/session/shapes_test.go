package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/results"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func namedEnvironment(name string) *model.Environment {
	e := &model.Environment{}
	e.Name.Value = name
	return e
}

func TestActionsReportOfSession(t *testing.T) {
	t.Parallel()
	changed := &change.Change{Files: []change.FileChange{{Path: "a/b/namespace.yaml", Action: change.Added}}}
	plan := results.Plan{Summary: "1 target on 1 cluster type, 1 assignment: +1 ~0 -0", Plan: change.Plan{Assignments: 1, Targets: 1, ClusterTypes: 1, Added: 1}}
	s := &Session{Results: []*Result{
		{
			Compiled: &Compiled{Environment: namedEnvironment("dev"), Fleet: &model.Fleet{Sources: []*model.Source{
				{Repo: "https://github.com/acme/control-plane", Commit: strings.Repeat("1", 40), Ref: model.Ref{Branch: "dev"}},
			}}},
			Changes: []*Change{
				{GitOpsRepo: "fleet", Change: changed, Plan: plan, Published: &Published{
					Branch: "deployment/dev", Commit: strings.Repeat("2", 40), PullRequest: &results.PullRequest{Number: 7, URL: "https://h/7", Action: pullrequest.Created, State: pullrequest.Open},
					Closed: []results.PullRequest{{Number: 5, URL: "https://h/5"}},
				}},
				{GitOpsRepo: "mirror", Change: &change.Change{}, Published: &Published{Closed: []results.PullRequest{{Number: 6, URL: "https://h/6"}}}},
			},
		},
		{Compiled: &Compiled{Environment: namedEnvironment("stage")}, Changes: []*Change{{Change: changed}}},
		{Compiled: &Compiled{Environment: namedEnvironment("prod")}},
	}}
	r := s.actionsReport("kalypso render", "1 error", diag.List{{Rule: "r"}})
	commits := actions.Commits{}
	commits.Add(s.Results[0].Fleet.Sources)
	assert.Equal(t, actions.Report{
		Title: "kalypso render", Outcome: "1 error", Diags: diag.List{{Rule: "r"}},
		Commits: commits,
		Results: []actions.Result{
			{
				Environment: "dev", GitOpsRepo: "fleet", Changed: true, Plan: plan, Branch: "deployment/dev", Commit: strings.Repeat("2", 40),
				PullRequest: &actions.PullRequest{Number: 7, URL: "https://h/7", Operation: "created"},
			},
			{Environment: "dev", GitOpsRepo: "mirror", PullRequest: &actions.PullRequest{Number: 6, URL: "https://h/6", Operation: "closed"}},
			{Environment: "stage", Changed: true},
			{Environment: "prod", Uncompared: true},
		},
	}, r)
}
