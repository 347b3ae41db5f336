package flux

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux/fluxtest"
)

// world is a kubeconfig and what a fleet needs of the machine.
type world struct {
	env    map[string]string
	mu     sync.Mutex
	naps   []time.Duration
	served []fluxtest.Context
}

// newWorld serves clusters with TLS, in contexts of these names.
func newWorld(t *testing.T, clusters map[string]*fluxtest.Cluster, names ...string) *world {
	t.Helper()
	w := &world{env: map[string]string{}}
	for _, name := range names {
		server := httptest.NewUnstartedServer(clusters[name])
		server.Config.ErrorLog = quiet()
		server.StartTLS()
		t.Cleanup(server.Close)
		w.served = append(w.served, fluxtest.ContextOf(name, server))
	}
	w.write(t)
	return w
}

// one serves one cluster, in the context "edge".
func one(t *testing.T, cluster *fluxtest.Cluster) *world {
	t.Helper()
	return newWorld(t, map[string]*fluxtest.Cluster{"edge": cluster}, "edge")
}

// write makes the kubeconfig.
func (w *world) write(t *testing.T) {
	t.Helper()
	w.env["KUBECONFIG"] = file(t, fluxtest.Kubeconfig(w.served...))
}

// file makes a file of its own.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// fleet is the one that --fleet TEXT means in this world.
func (w *world) fleet(t *testing.T, text string) *fleet {
	t.Helper()
	_, argument, _ := strings.Cut(text, ":")
	f, err := New(argument, api.Options{
		Env:       func(name string) string { return w.env[name] },
		UserAgent: "kalypso/test",
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.naps = append(w.naps, d)
			return ctx.Err()
		},
	})
	require.NoError(t, err)
	assert.Equal(t, text, f.String())
	return f.(*fleet)
}

func wanted() promote.Deployment {
	return promote.Deployment{Repo: gitopsURL, Branch: "dev", Path: "clusters", Commit: newCommit, Environment: "dev"}
}

// deployed are the objects of a cluster that has a commit.
func deployed(commit string) *fluxtest.Cluster {
	return fluxtest.NewFluxCluster(
		fluxtest.GitRepository(gitopsURL, "dev", commit),
		fluxtest.Kustomization("./clusters/edge", "dev@sha1:"+commit),
	)
}

func compliant(cluster, commit string) promote.ReconcilerStatus {
	return promote.ReconcilerStatus{
		Cluster: cluster, Reconciler: "flux-system/flux-system", ClusterType: "edge",
		Commit: commit, State: promote.Compliant,
	}
}

// refusedFleet is the error of a look.
func refusedFleet(t *testing.T, f *fleet) *promote.FleetError {
	t.Helper()
	statuses, err := f.Query(t.Context(), wanted())
	assert.Empty(t, statuses)
	var refused *promote.FleetError
	require.ErrorAs(t, err, &refused)
	return refused
}

func TestLook(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	w := one(t, cluster)
	f := w.fleet(t, "flux:edge")
	statuses, err := f.Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", oldCommit)}, statuses)
	assert.Equal(t, []string{
		"/apis/source.toolkit.fluxcd.io/v1/gitrepositories?limit=100",
		"/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations?limit=100",
	}, cluster.Requests())

	cluster.Put(fluxtest.Kustomization("./clusters/edge", "dev@sha1:"+newCommit))
	statuses, err = f.Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", newCommit)}, statuses)
}

// TestSeveral: each context is a cluster, in the order in which they are named.
func TestSeveral(t *testing.T) {
	t.Parallel()
	clusters := map[string]*fluxtest.Cluster{}
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("edge-%02d", i)
		names = append(names, name)
		clusters[name] = deployed(oldCommit)
	}
	w := newWorld(t, clusters, names...)
	statuses, err := w.fleet(t, "flux:"+strings.Join(names, ",")).Query(t.Context(), wanted())
	require.NoError(t, err)
	require.Len(t, statuses, len(names))
	for i, name := range names {
		assert.Equal(t, compliant(name, oldCommit), statuses[i])
	}
}

// TestSideBySide: clusters are asked at the same time, but not more of them than is allowed.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	arrived, present, most := 0, 0, 0
	gate := make(chan struct{})
	meet := func(http.ResponseWriter, *http.Request) bool {
		mu.Lock()
		arrived, present = arrived+1, present+1
		most = max(most, present)
		mine := gate
		if arrived%maxConcurrent == 0 {
			close(gate)
			gate = make(chan struct{})
		}
		mu.Unlock()
		<-mine // nobody passes alone
		mu.Lock()
		present--
		mu.Unlock()
		return false
	}
	clusters := map[string]*fluxtest.Cluster{}
	names := make([]string, 2*maxConcurrent)
	for i := range names {
		names[i] = fmt.Sprintf("edge-%02d", i)
		name := names[i]
		clusters[name] = fluxtest.NewFluxCluster()
		clusters[name].Fail(meet)
	}
	f := newWorld(t, clusters, names...).fleet(t, "flux:"+strings.Join(names, ","))
	statuses, err := f.Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Len(t, statuses, len(names))
	assert.Equal(t, maxConcurrent, most)
}

func TestOurs(t *testing.T) {
	t.Parallel()
	repository := fluxtest.GitRepository("ssh://git@github.com/acme/gitops.git", "dev", oldCommit)
	applier := fluxtest.Kustomization("./clusters/edge", "dev@sha1:"+oldCommit)
	named := func(o fluxtest.Object, namespace, name string) fluxtest.Object {
		return o.With("metadata.namespace", namespace).With("metadata.name", name)
	}
	from := func(o fluxtest.Object, namespace, name string) fluxtest.Object {
		return o.With("spec.sourceRef.namespace", namespace).With("spec.sourceRef.name", name)
	}
	cluster := fluxtest.NewFluxCluster(
		repository,
		named(repository, "tenants", "ours").With("spec.ref", map[string]any{"name": "refs/heads/dev"}),
		named(repository, "other", "stage").With("spec.ref.branch", "stage"),
		named(repository, "other", "pinned").With("spec.ref.commit", oldCommit),
		named(repository, "other", "foreign").With("spec.url", "https://github.com/acme/app"),
		named(repository, "other", "idle"),
		applier,
		from(named(applier, "tenants", "cross"), "flux-system", "flux-system").With("spec.path", "./clusters/hub/apps"),
		from(named(applier, "tenants", "own"), "", "ours"),
		from(named(applier, "other", "stage"), "", "stage"),
		from(named(applier, "other", "pinned"), "", "pinned"),
		from(named(applier, "other", "foreign"), "", "foreign"),
		from(named(applier, "other", "missing"), "", "missing"),
		named(applier, "flux-system", "chart").With("spec.sourceRef.kind", "OCIRepository"),
	)
	statuses, err := one(t, cluster).fleet(t, "flux:edge").Query(t.Context(), wanted())
	require.NoError(t, err)
	var seen []string
	for _, s := range statuses {
		seen = append(seen, strings.TrimSpace(strings.Join([]string{s.Reconciler, s.ClusterType, string(s.State), s.Message}, " ")))
	}
	assert.Equal(t, []string{
		"GitRepository/other/idle  pending no Kustomization applies it",
		"flux-system/flux-system edge compliant",
		"tenants/cross hub compliant",
		"tenants/own edge compliant",
	}, seen)
}

// TestVersions: clusters with an older Flux serve v1beta2 only.
func TestVersions(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	cluster.Serve("v1beta2")
	statuses, err := one(t, cluster).fleet(t, "flux").Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", oldCommit)}, statuses)
}

// TestPages: a list is read to its end, whatever the size of a page.
func TestPages(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	for i := range 249 {
		cluster.Put(fluxtest.Kustomization("./clusters/edge", "dev@sha1:"+oldCommit).With("metadata.name", fmt.Sprintf("app-%03d", i)))
	}
	f := one(t, cluster).fleet(t, "flux:edge")
	statuses, err := f.Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Len(t, statuses, 250)
	assert.Len(t, cluster.Requests(), 1+3)
}

// TestExpired: a list whose token is too old is no list, and may be the next time.
func TestExpired(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	for i := range pageSize {
		cluster.Put(fluxtest.Kustomization("./clusters/edge", "dev@sha1:"+oldCommit).With("metadata.name", fmt.Sprintf("app-%03d", i)))
	}
	change := func(http.ResponseWriter, *http.Request) bool {
		cluster.Put(fluxtest.Kustomization("./clusters/edge", "dev@sha1:"+newCommit))
		return false
	}
	pass := func(http.ResponseWriter, *http.Request) bool { return false }
	cluster.Fail(pass, pass, change) // the third request is for the second page of Kustomizations
	refused := refusedFleet(t, one(t, cluster).fleet(t, "flux:edge"))
	assert.Equal(t, `the cluster of context "edge" answers 410 Gone: The provided continue parameter is too old to display a consistent list result.`, refused.Message)
	assert.True(t, refused.Temporary)
}

// TestNothingThere: a context that was named is expected to have something to tell; the current one is not.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	without := fluxtest.NewFluxCluster()
	without.Serve("")
	for name, test := range map[string]struct {
		cluster *fluxtest.Cluster
		fleet   string
		message string
	}{
		"no Flux":             {without, "flux:edge", "has no Flux: it does not know gitrepositories.source.toolkit.fluxcd.io"},
		"no Flux, not named":  {without, "flux", ""},
		"not ours":            {fluxtest.NewFluxCluster(fluxtest.GitRepository(gitopsURL, "stage", oldCommit)), "flux:edge", "no GitRepository there follows this repository and branch"},
		"not ours, not named": {fluxtest.NewFluxCluster(fluxtest.GitRepository(gitopsURL, "stage", oldCommit)), "flux", ""},
		"nothing at all":      {fluxtest.NewFluxCluster(), "flux:edge", "no GitRepository there follows this repository and branch"},
		"nothing, unnamed":    {fluxtest.NewFluxCluster(), "flux", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			statuses, err := one(t, test.cluster).fleet(t, test.fleet).Query(t.Context(), wanted())
			require.NoError(t, err)
			if test.message == "" {
				assert.Empty(t, statuses)
				return
			}
			assert.Equal(t, []promote.ReconcilerStatus{{Cluster: "edge", State: promote.Pending, Message: test.message}}, statuses)
		})
	}
}

// TestOneAway: a cluster that cannot be asked is pending, and does not hide the others.
func TestOneAway(t *testing.T) {
	t.Parallel()
	denied := deployed(oldCommit)
	denied.Deny("kustomizations")
	locked := deployed(oldCommit)
	locked.Require("another")
	clusters := map[string]*fluxtest.Cluster{"here": deployed(oldCommit), "denied": denied, "locked": locked}
	w := newWorld(t, clusters, "here", "denied", "locked")
	gone := httptest.NewTLSServer(deployed(oldCommit))
	w.served = append(w.served, fluxtest.ContextOf("gone", gone))
	gone.Close()
	w.write(t)

	statuses, err := w.fleet(t, "flux:gone,denied,here,locked").Query(t.Context(), wanted())
	require.NoError(t, err)
	require.Len(t, statuses, 4)
	assert.Regexp(t, `^cannot be reached: dial tcp 127\.0\.0\.1:\d+: connect: connection refused$`, statuses[0].Message)
	assert.Equal(t, `answers 403 Forbidden: `+
		`kustomizations.kustomize.toolkit.fluxcd.io is forbidden: User "kalypso" cannot list resource "kustomizations" in API group "kustomize.toolkit.fluxcd.io" at the cluster scope; `+
		hints()[http.StatusForbidden], statuses[1].Message)
	assert.Equal(t, compliant("here", oldCommit), statuses[2])
	assert.Equal(t, "answers 401 Unauthorized: Unauthorized; log in again, or check the user of the context in the kubeconfig", statuses[3].Message)
	for _, i := range []int{0, 1, 3} {
		assert.Equal(t, promote.Pending, statuses[i].State)
		assert.Empty(t, statuses[i].Commit)
		assert.Empty(t, statuses[i].Reconciler)
	}
}

// TestNobody: if no cluster can be asked at all, that is an error.
func TestNobody(t *testing.T) {
	t.Parallel()
	denied := deployed(oldCommit)
	denied.Deny("gitrepositories")
	busy := deployed(oldCommit)
	busy.Fail(answering(http.StatusTooManyRequests, "60"))
	w := newWorld(t, map[string]*fluxtest.Cluster{"denied": denied, "busy": busy}, "denied", "busy")

	refused := refusedFleet(t, w.fleet(t, "flux:denied"))
	assert.False(t, refused.Temporary)
	assert.True(t, strings.HasPrefix(refused.Message, `the cluster of context "denied" answers 403 Forbidden: gitrepositories.`), refused.Message)
	assert.Contains(t, refused.Hint, "ClusterRole")

	refused = refusedFleet(t, w.fleet(t, "flux:denied,busy"))
	assert.True(t, refused.Temporary)
	assert.Equal(t, time.Minute, refused.Wait)
	assert.True(t, strings.HasPrefix(refused.Message, `none of the 2 clusters can be queried: that of context "denied" answers 403`), refused.Message)
	assert.Empty(t, w.naps, "a minute is not waited here")
}

func answering(code int, wait string) fluxtest.Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if wait != "" {
			w.Header().Set("Retry-After", wait)
		}
		fluxtest.Refuse(w, code, "", "try later")
		return true
	}
}

func writing(text string) fluxtest.Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte(text))
		return true
	}
}

func breakingOff(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write([]byte(`{"kind":"GitRepositoryList","items":[`))
	return true
}

// TestFaults: what passes is asked again a few times, as the server wishes; what does not is told at once.
func TestFaults(t *testing.T) {
	t.Parallel()
	busy := answering(http.StatusTooManyRequests, "4")
	broken := answering(http.StatusInternalServerError, "")
	list := func(text string) fluxtest.Fault {
		return writing(`{"kind":"GitRepositoryList","apiVersion":"source.toolkit.fluxcd.io/v1",` + text + `}`)
	}
	for name, test := range map[string]struct {
		faults    []fluxtest.Fault
		naps      []time.Duration
		want      string // empty: it answers after all
		temporary bool
	}{
		"busy":              {faults: []fluxtest.Fault{busy}, naps: []time.Duration{4 * time.Second}},
		"broken twice":      {faults: []fluxtest.Fault{broken, broken}, naps: []time.Duration{time.Second, 2 * time.Second}},
		"cut":               {faults: []fluxtest.Fault{breakingOff}, naps: []time.Duration{time.Second}},
		"broken":            {[]fluxtest.Fault{broken, broken, broken}, []time.Duration{time.Second, 2 * time.Second}, "answers 500 Internal Server Error: try later", true},
		"cut for good":      {[]fluxtest.Fault{breakingOff, breakingOff, breakingOff}, []time.Duration{time.Second, 2 * time.Second}, "closed the connection early", true},
		"busy for long":     {[]fluxtest.Fault{answering(http.StatusTooManyRequests, "3600")}, nil, "answers 429 Too Many Requests: try later", true},
		"strange wait":      {faults: []fluxtest.Fault{answering(http.StatusServiceUnavailable, "soon")}, naps: []time.Duration{time.Second}},
		"no JSON":           {[]fluxtest.Fault{writing("<html>log in</html>")}, nil, "returned something other than a list of gitrepositories", false},
		"JSON, but no list": {[]fluxtest.Fault{writing("{}")}, nil, "returned something other than a list of gitrepositories", false},
		"another list":      {[]fluxtest.Fault{writing(`{"kind":"SecretList","items":[]}`)}, nil, "returned something other than a list of gitrepositories", false},
		"wrong types":       {[]fluxtest.Fault{list(`"items":[{"spec":{"url":7}}]`)}, nil, "returned something other than a list of gitrepositories", false},
		"without end":       {slices.Repeat([]fluxtest.Fault{list(`"metadata":{"continue":"a"},"items":[]`)}, maxPages), nil, "does not finish listing its gitrepositories", false},
		"not for us":        {[]fluxtest.Fault{answering(http.StatusTeapot, "")}, nil, "answers 418 I'm a teapot: try later", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := deployed(oldCommit)
			cluster.Fail(test.faults...)
			w := one(t, cluster)
			f := w.fleet(t, "flux:edge")
			if test.want != "" {
				refused := refusedFleet(t, f)
				assert.Equal(t, `the cluster of context "edge" `+test.want, refused.Message)
				assert.Equal(t, test.temporary, refused.Temporary)
			} else {
				statuses, err := f.Query(t.Context(), wanted())
				require.NoError(t, err)
				assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", oldCommit)}, statuses)
			}
			assert.Equal(t, test.naps, w.naps)
		})
	}
}

// TestEveryRequest: whichever request fails, and goes on to, nothing is taken for an answer that is none.
func TestEveryRequest(t *testing.T) {
	t.Parallel()
	for n := range 2 {
		cluster := deployed(newCommit)
		for range n {
			cluster.Fail(func(http.ResponseWriter, *http.Request) bool { return false })
		}
		for range 3 {
			cluster.Fail(answering(http.StatusBadGateway, ""))
		}
		refused := refusedFleet(t, one(t, cluster).fleet(t, "flux:edge"))
		assert.True(t, refused.Temporary)
		assert.Len(t, cluster.Requests(), n+3)
	}
}

// TestRedirect: credentials do not follow a server to another host.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := deployed(newCommit)
	elsewhere := httptest.NewTLSServer(other)
	t.Cleanup(elsewhere.Close)
	cluster := deployed(newCommit)
	cluster.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	})
	refused := refusedFleet(t, one(t, cluster).fleet(t, "flux:edge"))
	assert.Equal(t, `the cluster of context "edge" answers 307 Temporary Redirect`, refused.Message)
	assert.Empty(t, other.Requests())
}

// TestSilent: a look that is interrupted ends.
func TestSilent(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	cluster := deployed(newCommit)
	cluster.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		cancel()
		return silent(w, r)
	})
	_, err := one(t, cluster).fleet(t, "flux:edge").Query(ctx, wanted())
	require.ErrorIs(t, err, context.Canceled)
	var refused *promote.FleetError
	require.ErrorAs(t, err, &refused)
}
