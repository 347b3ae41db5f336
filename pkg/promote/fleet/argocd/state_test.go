package argocd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// Pieces of a status.
const (
	syncedA    = `"sync":{"status":"Synced","revision":"` + commitA + `"}`
	outOfSyncA = `"sync":{"status":"OutOfSync","revision":"` + commitA + `"}`
	healthy    = `"health":{"status":"Healthy"}`
	degraded   = `"health":{"status":"Degraded","message":"pods crash"}`
	at12       = `"reconciledAt":"2026-03-01T12:00:00Z"`
)

// operationOf is the state of a sync of a commit that is over at 11:59.
func operationOf(phase, commit, message string) string {
	return `"operationState":{"phase":"` + phase + `","message":"` + message + `","finishedAt":"2026-03-01T11:59:00Z",
		"operation":{"sync":{"revision":"stage"}},"syncResult":{"revision":"` + commit + `"}}`
}

func TestStates(t *testing.T) {
	t.Parallel()
	join := func(parts ...string) string { return strings.Join(parts, ",") }
	for name, test := range map[string]struct {
		app     string
		commit  string
		state   promote.State
		message string
	}{
		"nothing known yet": {app(``), "", promote.Pending, "Unknown, Unknown"},
		"deployed":          {app(join(syncedA, healthy)), commitA, promote.Compliant, ""},
		"deployed by a sync": {
			app(join(syncedA, healthy, at12, operationOf("Succeeded", commitA, "ok"))), commitA, promote.Compliant, "",
		},
		"the same second": {
			app(join(syncedA, healthy, `"reconciledAt":"2026-03-01T11:59:00Z"`, operationOf("Succeeded", commitA, "ok"))),
			commitA, promote.Compliant, "",
		},
		"nothing to do for it": { // an earlier sync failed; the commit after it made good what was wrong
			app(join(syncedA, healthy, at12, operationOf("Failed", commitB, "no"))), commitA, promote.Compliant, "",
		},

		"not compared since the sync": {
			app(join(syncedA, healthy, `"reconciledAt":"2026-03-01T11:58:59Z"`, operationOf("Succeeded", commitA, "ok"))),
			commitA, promote.Pending, "Argo CD has not compared the cluster since the last sync",
		},
		"never compared since the sync": {
			app(join(syncedA, healthy, operationOf("Succeeded", commitA, "ok"))), commitA, promote.Pending,
			"Argo CD has not compared the cluster since the last sync",
		},
		"about to be compared": {
			strings.Replace(app(join(syncedA, healthy)), `"namespace":"argocd"`,
				`"namespace":"argocd","annotations":{"argocd.argoproj.io/refresh":"normal"}`, 1),
			commitA, promote.Pending, "Argo CD is about to refresh the Application",
		},
		"being deleted": {
			strings.Replace(app(join(syncedA, healthy)), `"namespace":"argocd"`,
				`"namespace":"argocd","deletionTimestamp":"2026-03-01T11:00:00Z"`, 1),
			commitA, promote.Pending, "the Application is being deleted",
		},
		"about to be synced": {
			app(join(syncedA, healthy), `,"operation":{"sync":{"revision":"`+commitA+`"}}`),
			commitA, promote.Pending, "a sync is running",
		},
		"sync running": {
			app(join(outOfSyncA, healthy, `"operationState":{"phase":"Running","message":"waiting for healthy state of apps/Deployment/web"}`)),
			commitA, promote.Pending, "a sync is running: waiting for healthy state of apps/Deployment/web",
		},
		"sync being stopped": {
			app(join(syncedA, healthy, `"operationState":{"phase":"Terminating"}`)), commitA, promote.Pending, "a sync is running",
		},

		"sync failed": {
			app(join(outOfSyncA, healthy, at12, operationOf("Failed", commitA, `one or more objects failed to apply\nx`))),
			commitA, promote.Failed, "the sync failed: one or more objects failed to apply",
		},
		"sync in error": {
			app(join(outOfSyncA, healthy, operationOf("Error", commitA, ""))), commitA, promote.Failed, "the sync failed",
		},
		"sync failed for an object": {
			app(join(outOfSyncA, healthy, `"operationState":{"phase":"Failed","message":"one or more","syncResult":{"revision":"`+commitA+`",
				"resources":[{"kind":"Namespace","name":"a","status":"Synced","message":"created"},{"kind":"Deployment","name":"web","status":"SyncFailed","message":"field is immutable"}]}}`)),
			commitA, promote.Failed, "the sync failed: Deployment web: field is immutable",
		},
		"hook failed": { // all objects are there, but not what must follow them
			app(join(syncedA, healthy, at12, `"operationState":{"phase":"Failed","message":"one or more","syncResult":{"revision":"`+commitA+`",
				"resources":[{"kind":"Job","name":"migrate","hookPhase":"Failed","message":"Job has reached the specified backoff limit"}]}}`)),
			commitA, promote.Failed, "the sync failed: Job migrate: Job has reached the specified backoff limit",
		},
		"sync failed before it began": {
			app(join(outOfSyncA, healthy, `"operationState":{"phase":"Error","message":"no such cluster","operation":{"sync":{"revision":"`+commitA+`"}}}`)),
			commitA, promote.Failed, "the sync failed: no such cluster",
		},
		"sync failed, comparison unknown": {
			app(join(`"sync":{"status":"Unknown","revision":"stage"}`, healthy, operationOf("Failed", commitA, "no"))),
			commitA, promote.Failed, "the sync failed: no",
		},
		"sync of a commit before failed": {
			app(join(outOfSyncA, healthy, at12, operationOf("Failed", commitB, "no"))), commitA, promote.Pending, "OutOfSync, Healthy: no",
		},
		"sync of nobody knows what failed": {
			app(join(outOfSyncA, healthy, at12, operationOf("Failed", "", "no"))), commitA, promote.Pending, "OutOfSync, Healthy: no",
		},
		"dry run failed": {
			app(join(syncedA, healthy, `"operationState":{"phase":"Failed","finishedAt":"2026-03-01T11:59:00Z","operation":{"sync":{"dryRun":true,"revision":"`+commitA+`"}}}`)),
			commitA, promote.Compliant, "",
		},

		"degraded":         {app(join(syncedA, degraded)), commitA, promote.Failed, "Synced, Degraded: pods crash"},
		"degraded, synced": {app(join(outOfSyncA, degraded, at12, operationOf("Succeeded", commitA, "ok"))), commitA, promote.Failed, "OutOfSync, Degraded: pods crash"},
		"degraded before":  {app(join(outOfSyncA, degraded)), commitA, promote.Pending, "OutOfSync, Degraded: pods crash"},
		"degraded, synced another": {
			app(join(outOfSyncA, degraded, at12, operationOf("Succeeded", commitB, "ok"))), commitA, promote.Pending, "OutOfSync, Degraded: pods crash",
		},
		"degraded while syncing": {app(join(syncedA, degraded, `"operationState":{"phase":"Running"}`)), commitA, promote.Pending, "a sync is running"},

		"progressing":    {app(join(syncedA, `"health":{"status":"Progressing"}`)), commitA, promote.Pending, "Synced, Progressing"},
		"missing":        {app(join(syncedA, `"health":{"status":"Missing"}`)), commitA, promote.Pending, "Synced, Missing"},
		"suspended":      {app(join(syncedA, `"health":{"status":"Suspended"}`)), commitA, promote.Pending, "Synced, Suspended"},
		"unknown health": {app(join(syncedA, `"health":{"status":"Unknown"}`)), commitA, promote.Pending, "Synced, Unknown"},
		"no health":      {app(syncedA), commitA, promote.Pending, "Synced, Unknown"},
		"out of sync":    {app(join(outOfSyncA, healthy)), commitA, promote.Pending, "OutOfSync, Healthy"},
		"comparison failed": {
			app(`"sync":{"status":"Unknown","revision":"stage"},"conditions":[{"type":"OrphanedResourceWarning","message":"x"},{"type":"ComparisonError","message":"cannot parse\nline 2"}]`),
			"", promote.Pending, "ComparisonError: cannot parse",
		},
		"not valid": {
			app(join(syncedA, healthy, `"conditions":[{"type":"InvalidSpecError","message":"no such project"}]`)),
			commitA, promote.Pending, "InvalidSpecError: no such project",
		},
		"warned": {app(join(syncedA, healthy, `"conditions":[{"type":"OrphanedResourceWarning","message":"x"}]`)), commitA, promote.Compliant, ""},
		"compared with another source": {
			app(join(`"sync":{"status":"Synced","revision":"`+commitA+`","comparedTo":{"source":{"repoURL":"`+repo+`.git","targetRevision":"dev","path":"drone"}}}`, healthy)),
			"", promote.Pending, "Synced, Healthy",
		},
		"not a commit": {app(join(`"sync":{"status":"Synced","revision":"aaaaaaa"}`, healthy)), "", promote.Pending, "Synced, Healthy"},
		"upper case":   {app(join(`"sync":{"status":"Synced","revision":"`+strings.ToUpper(commitA)+`"}`, healthy)), commitA, promote.Compliant, ""},
		"long message": {
			app(join(syncedA, `"health":{"status":"Progressing","message":"`+strings.Repeat("é", 5000)+`"}`)),
			commitA, promote.Pending, "Synced, Progressing: " + strings.Repeat("é", 278) + "…",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, err := newStandIn(t, test.app).look(t)
			require.NoError(t, err)
			require.Len(t, seen, 1)
			seen[0].Again = false // see TestC3ReconcilesAgain
			assert.Equal(t, []promote.ReconcilerStatus{{
				Cluster: "edge-1", Reconciler: "argocd/drone", ClusterType: "drone",
				Commit: test.commit, State: test.state, Message: test.message,
			}}, seen)
		})
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	const ours = `"repoURL":"https://github.com/acme/gitops","targetRevision":"stage"`
	for name, test := range map[string]struct {
		source, root string
		clusterType  string
		ours         bool
	}{
		"folder":               {source: ours + `,"path":"drone"`, clusterType: "drone", ours: true},
		"target":               {source: ours + `,"path":"drone/app-stage"`, clusterType: "drone", ours: true},
		"dots and slashes":     {source: ours + `,"path":"/./drone//x/"`, clusterType: "drone", ours: true},
		"all":                  {source: ours + `,"path":"."`, ours: true},
		"no path":              {source: ours, ours: true},
		"below the output":     {source: ours + `,"path":"out/drone"`, root: "out", clusterType: "drone", ours: true},
		"the output":           {source: ours + `,"path":"out/"`, root: "out", ours: true},
		"deep output":          {source: ours + `,"path":"a/b/drone"`, root: "a/b", clusterType: "drone", ours: true},
		"beside the output":    {source: ours + `,"path":"outer/drone"`, root: "out"},
		"above the output":     {source: ours + `,"path":"."`, root: "out"},
		"ssh":                  {source: `"repoURL":"ssh://git@github.com:22/acme/gitops.git","targetRevision":"stage","path":"x"`, clusterType: "x", ours: true},
		"full name":            {source: `"repoURL":"https://GitHub.com/acme/gitops/","targetRevision":"refs/heads/stage","path":"x"`, clusterType: "x", ours: true},
		"with a user":          {source: `"repoURL":"https://user@github.com/acme/gitops","targetRevision":"stage","path":"x"`, clusterType: "x", ours: true},
		"another branch":       {source: `"repoURL":"https://github.com/acme/gitops","targetRevision":"dev","path":"x"`},
		"HEAD":                 {source: `"repoURL":"https://github.com/acme/gitops","targetRevision":"HEAD","path":"x"`},
		"no branch":            {source: `"repoURL":"https://github.com/acme/gitops","path":"x"`},
		"a tag":                {source: `"repoURL":"https://github.com/acme/gitops","targetRevision":"refs/tags/stage","path":"x"`},
		"another repository":   {source: `"repoURL":"https://github.com/acme/gitops2","targetRevision":"stage","path":"x"`},
		"another host":         {source: `"repoURL":"https://github.com.example.com/acme/gitops","targetRevision":"stage","path":"x"`},
		"no repository":        {source: `"repoURL":"","targetRevision":"stage","path":"x"`},
		"not a repository":     {source: `"repoURL":"ext::sh -c x","targetRevision":"stage","path":"x"`},
		"a chart":              {source: ours + `,"chart":"gitops"`},
		"lends its files only": {source: ours + `,"ref":"values"`},
		"lends and pulls":      {source: ours + `,"ref":"values","path":"drone"`, clusterType: "drone", ours: true},
	} {
		var source source
		require.NoError(t, json.Unmarshal([]byte("{"+test.source+"}"), &source), name)
		wanted := deployment()
		if test.root != "" {
			wanted.Path = test.root
		}
		clusterType, ours := source.pulls(wanted)
		assert.Equal(t, test.ours, ours, name)
		assert.Equal(t, test.clusterType, clusterType, name)
	}
}

func TestSeveralSources(t *testing.T) {
	t.Parallel()
	source := func(path string) string {
		return `{"repoURL":"` + repo + `","targetRevision":"stage","path":"` + path + `"}`
	}
	app := `{"metadata":{"name":"both"},"spec":{"project":"","destination":{},"source":` + source("ignored") +
		`,"sources":[` + source("drone") + `,` + source("large") + `,` + source("new") + `]},
		"status":{` + healthy + `,"sync":{"status":"Synced","revisions":["` + commitA + `","` + commitB + `"]}}}`
	seen, err := newStandIn(t, app).look(t)
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{
		{Cluster: "?", Reconciler: "both", ClusterType: "drone", Commit: commitA, State: promote.Compliant},
		{Cluster: "?", Reconciler: "both (source 2)", ClusterType: "large", Commit: commitB, State: promote.Compliant},
		{Cluster: "?", Reconciler: "both (source 3)", ClusterType: "new", State: promote.Pending, Message: "Synced, Healthy"},
	}, seen)
}

func TestSkipsHydratedApplications(t *testing.T) {
	t.Parallel()
	app := `{"metadata":{"name":"dry"},"spec":{"project":"","destination":{"name":"a"},"sourceHydrator":{
		"drySource":{"repoURL":"` + repo + `","targetRevision":"stage","path":"drone"},"syncSource":{"targetBranch":"env/x","path":"drone"}}}}`
	seen, err := newStandIn(t, app).look(t)
	require.NoError(t, err)
	assert.Empty(t, seen)
}

func FuzzApplications(f *testing.F) {
	for _, seed := range []string{
		app(syncedA + "," + healthy), app(outOfSyncA + "," + degraded + "," + operationOf("Failed", commitA, "x")),
		`{"metadata":{"name":"a"},"spec":{"sources":[{"repoURL":"https://github.com/acme/gitops","targetRevision":"stage"},{"repoURL":"https://github.com/acme/gitops","targetRevision":"stage","path":"../x"}]}}`,
		`{"spec":{"sourceHydrator":{}}}`, `null`, `{}`, `[`,
	} {
		f.Add([]byte(`{"metadata":{},"items":[` + seed + `]}`))
	}
	f.Add([]byte(`{"items":null}`))
	f.Add([]byte(`{"metadata":{"continue":"x"}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		var list applicationList
		if json.Unmarshal(answer, &list) != nil {
			return
		}
		for i := range list.Items {
			reconcilers := map[string]bool{}
			for _, s := range list.Items[i].statuses(deployment()) {
				assert.NotEmpty(t, s.Cluster)
				assert.False(t, reconcilers[s.Reconciler], "%q twice", s.Reconciler)
				reconcilers[s.Reconciler] = true
				assert.Regexp(t, "^([0-9a-f]{40})?$", s.Commit)
				assert.Contains(t, []promote.State{promote.Compliant, promote.Pending, promote.Failed}, s.State)
				assert.NotContains(t, s.Message, "\n")
				assert.LessOrEqual(t, len(s.Message), 4096)
				assert.Equal(t, s.State == promote.Compliant, s.Message == "", s)
			}
		}
	})
}
