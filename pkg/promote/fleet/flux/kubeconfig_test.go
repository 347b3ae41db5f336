package flux

import (
	"context"
	"fmt"
	"io"
	"log" //nolint:depguard // http.Server wants it
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux/fluxtest"
)

func TestArgument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "flux",
		"edge-1":                            "flux:edge-1",
		"a , b":                             "flux:a,b",
		"arn:aws:eks:eu-west-1:1:cluster/x": "flux:arn:aws:eks:eu-west-1:1:cluster/x",
	} {
		f, err := New(text, api.Options{})
		require.NoError(t, err, text)
		assert.Equal(t, want, f.String())
	}
	for text, want := range map[string]string{
		"a,,b": "flux:a,,b has an empty context name (write flux:context1,context2)",
		"a,":   "flux:a, has an empty context name (write flux:context1,context2)",
		"a,a":  `flux:a,a names the context "a" twice`,
	} {
		_, err := New(text, api.Options{})
		require.EqualError(t, err, want)
	}
}

// TestContexts: a context that does not exist is an error.
func TestContexts(t *testing.T) {
	t.Parallel()
	w := &world{env: map[string]string{}, served: []fluxtest.Context{{Name: "edge-1", Server: "https://127.0.0.1:1"}, {Name: "hub", Server: "https://127.0.0.1:1"}}}
	w.write(t)
	refused := refusedFleet(t, w.fleet(t, "flux:edge-2,hub,moon"))
	assert.Equal(t, `the kubeconfig has no context "edge-2" (did you mean "edge-1"?)`, refused.Message)
	assert.False(t, refused.Temporary)

	w.env["KUBECONFIG"] = file(t, strings.Replace(fluxtest.Kubeconfig(w.served...), "current-context: edge-1", "", 1))
	refused = refusedFleet(t, w.fleet(t, "flux"))
	assert.Equal(t, "the kubeconfig has no current context", refused.Message)
	assert.Contains(t, refused.Hint, "kubectl config get-contexts")
}

// TestKubeconfigFiles: the files are those of kubectl, and the first to name something has it.
func TestKubeconfigFiles(t *testing.T) {
	t.Parallel()
	clusters := map[string]*fluxtest.Cluster{"edge": deployed(oldCommit), "hub": deployed(newCommit)}
	w := newWorld(t, clusters, "edge", "hub")
	first := file(t, fluxtest.Kubeconfig(w.served[0]))
	second := file(t, fluxtest.Kubeconfig(w.served[1], fluxtest.Context{Name: "edge", Server: "https://127.0.0.1:1"}))
	missing := filepath.Join(t.TempDir(), "missing")
	w.env["KUBECONFIG"] = strings.Join([]string{missing, first, "", second}, string(filepath.ListSeparator))
	statuses, err := w.fleet(t, "flux:edge,hub").Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", oldCommit), compliant("hub", newCommit)}, statuses)

	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".kube"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".kube", "config"), []byte(fluxtest.Kubeconfig(w.served[0])), 0o600))
	w.env = map[string]string{"HOME": home}
	statuses, err = w.fleet(t, "flux").Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", oldCommit)}, statuses)
}

// TestKubeconfigWrong: what is wrong with a kubeconfig is told without what is in it.
func TestKubeconfigWrong(t *testing.T) {
	t.Parallel()
	const secret = "99887766554433"
	valid := fluxtest.Kubeconfig(fluxtest.Context{Name: "edge", Server: "https://127.0.0.1:1", Token: secret})
	directory := t.TempDir()
	for name, test := range map[string]struct {
		text, path, want, hint string
	}{
		"none":              {path: filepath.Join(directory, "none"), want: "kubeconfig not found in " + filepath.Join(directory, "none"), hint: "KUBECONFIG"},
		"a directory":       {path: directory, want: directory + " is not a kubeconfig", hint: "kubectl config view"},
		"no YAML":           {text: "a: b: " + secret, want: "is not a kubeconfig", hint: "kubectl config view"},
		"a number as token": {text: strings.Replace(valid, `"`+secret+`"`, secret, 1), want: "is not a kubeconfig", hint: "kubectl config view"},
		"another kind":      {text: "kind: Secret\napiVersion: v1\n", want: "is not a kubeconfig"},
		"cluster missing":   {text: strings.Replace(valid, "- name: edge\n  cluster:", "- name: other\n  cluster:", 1), want: `context "edge": cluster "edge" not found`},
		"user missing":      {text: strings.Replace(valid, "- name: edge\n  user:", "- name: other\n  user:", 1), want: `context "edge": user "edge" not found`},
		"proxy":             {text: strings.Replace(valid, "  cluster:\n", "  cluster:\n    proxy-url: ftp://me:"+secret+"@proxy\n", 1), want: `invalid 'proxy-url' "ftp://***@proxy"`},
		"authority":         {text: strings.Replace(valid, "  cluster:\n", "  cluster:\n    certificate-authority: none.pem\n", 1), want: "none.pem"},
		"bad authority":     {text: strings.Replace(valid, "  cluster:\n", "  cluster:\n    certificate-authority-data: eA==\n", 1), want: `context "edge": `},
		"old plugin":        {text: strings.Replace(valid, `{token: "`+secret+`"}`, "{auth-provider: {name: azure}}", 1), want: `context "edge": `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := test.path
			if path == "" {
				path = file(t, test.text)
			}
			w := &world{env: map[string]string{"KUBECONFIG": path}}
			refused := refusedFleet(t, w.fleet(t, "flux:edge"))
			assert.Contains(t, refused.Message, test.want)
			assert.Contains(t, refused.Hint, test.hint)
			assert.False(t, refused.Temporary)
			assert.NotContains(t, refused.Message+refused.Hint, secret)
		})
	}
}

func TestNoKubeconfig(t *testing.T) {
	t.Parallel()
	f, err := New("", api.Options{})
	require.NoError(t, err)
	refused := refusedFleet(t, f.(*fleet))
	assert.Equal(t, "kubeconfig not found", refused.Message)
}

// TestInCluster: in a pod without a kubeconfig, the cluster around it is asked.
func TestInCluster(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	cluster.Require("of-the-pod")
	server := httptest.NewTLSServer(cluster)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	w := &world{env: map[string]string{"KUBERNETES_SERVICE_HOST": at.Hostname(), "KUBERNETES_SERVICE_PORT": at.Port()}}
	f := w.fleet(t, "flux")
	f.account = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(f.account, "ca.crt"), fluxtest.ContextOf("", server).Authority, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(f.account, "token"), []byte("of-the-pod\n"), 0o600))
	statuses, err := f.Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("in-cluster", oldCommit)}, statuses)
}

// TestToken: the credentials of the context are sent, are read anew for each look, and are in no message.
func TestToken(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	cluster.Require("s3cr3t-token")
	w := one(t, cluster)
	f := w.fleet(t, "flux:edge")
	w.served[0].Token = "wrong-token"
	w.write(t)
	refused := refusedFleet(t, f)
	assert.NotContains(t, refused.Message, "wrong-token")

	w.served[0].Token = "s3cr3t-token"
	w.write(t)
	_, err := f.Query(t.Context(), wanted())
	require.NoError(t, err)

	cluster.Fail(writingRefusal("token s3cr3t-token is bad"))
	refused = refusedFleet(t, f)
	assert.Contains(t, refused.Message, "token *** is bad")
}

// TestAuthority: a server that the authority of the context did not sign is not spoken to.
func TestAuthority(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	server := httptest.NewUnstartedServer(cluster)
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	w := &world{env: map[string]string{}, served: []fluxtest.Context{{Name: "edge", Server: strings.Replace(server.URL, "https://", "https://me:hunter22@", 1)}}}
	w.write(t)
	refused := refusedFleet(t, w.fleet(t, "flux:edge"))
	assert.Contains(t, refused.Message, `the cluster of context "edge" is not trusted: `)
	assert.NotContains(t, refused.Message, "hunter22")
	assert.Contains(t, refused.Hint, "certificate-authority")
	assert.False(t, refused.Temporary)
	assert.Empty(t, cluster.Requests())
}

// TestPrefix: an API server may be below a path of another server, as Rancher has it.
func TestPrefix(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.StripPrefix("/k8s/clusters/c-1", deployed(oldCommit)))
	t.Cleanup(server.Close)
	at := fluxtest.ContextOf("edge", server)
	at.Server += "/k8s/clusters/c-1"
	w := &world{env: map[string]string{}, served: []fluxtest.Context{at}}
	w.write(t)
	statuses, err := w.fleet(t, "flux:edge").Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", oldCommit)}, statuses)
}

// plugin has the context get its credentials from a shell script.
func (w *world) plugin(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	w.env["KUBECONFIG"] = file(t, strings.Replace(fluxtest.Kubeconfig(w.served...), `{token: ""}`, fmt.Sprintf(
		"{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: sh, args: [-c, %q]}}", script), 1))
}

// TestPlugin: a credential plugin is run.
func TestPlugin(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	cluster.Require("from-plugin")
	w := one(t, cluster)
	w.plugin(t, `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'`)
	statuses, err := w.fleet(t, "flux:edge").Query(t.Context(), wanted())
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{compliant("edge", oldCommit)}, statuses)
}

func TestPluginFails(t *testing.T) {
	t.Parallel()
	cluster := deployed(oldCommit)
	w := one(t, cluster)
	w.plugin(t, "exit 3")
	refused := refusedFleet(t, w.fleet(t, "flux:edge"))
	assert.Contains(t, refused.Message, `the cluster of context "edge" cannot be reached: getting credentials: exec: `)
	assert.Contains(t, refused.Message, "exit code 3")
	assert.Empty(t, cluster.Requests())
}

// TestPluginHangs: a plugin that waits for something does not keep a look that is interrupted from ending.
func TestPluginHangs(t *testing.T) {
	t.Parallel()
	w := one(t, deployed(oldCommit))
	begun, end := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "end")
	w.plugin(t, "echo >"+begun+"; read line <"+end)
	require.NoError(t, exec.Command("mkfifo", begun, end).Run())
	ctx, cancel := context.WithCancel(t.Context())
	f := w.fleet(t, "flux:edge")
	ended := make(chan error)
	go func() {
		_, err := f.Query(ctx, wanted())
		ended <- err
	}()
	_, err := os.ReadFile(begun) // waits for the plugin
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, os.WriteFile(end, []byte("\n"), 0o600)) // lets it go
}

func writingRefusal(message string) fluxtest.Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		fluxtest.Refuse(w, http.StatusForbidden, "Forbidden", message)
		return true
	}
}

// quiet is for servers that clients are expected to hang up on.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
