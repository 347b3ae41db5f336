package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

// look looks once, through a program of TestProgram.
func look(t *testing.T, environ []string, name string, args ...string) ([]promote.ReconcilerStatus, error) {
	t.Helper()
	f, err := New(programText(t, name, args...), api.Options{Environ: environ})
	require.NoError(t, err)
	return f.Query(t.Context(), programDeployment())
}

func TestFleet(t *testing.T) {
	t.Parallel()
	seen, err := look(t, programEnviron(), "print", `{"clusters": [
		{"name": "edge-1", "commit": "8D1F2C3B4A5968778695A4B3C2D1E0F123456789", "state": "compliant", "message": null},
		{"name": "edge-2", "state": "pending"},
		{"name": "edge-2", "commit": "", "state": "failed", "message": "no space\nleft", "clusterType": "drone", "reconciler": "flux/apps"}
	]}`)
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{
		{Cluster: "edge-1", Commit: "8d1f2c3b4a5968778695a4b3c2d1e0f123456789", State: promote.Compliant},
		{Cluster: "edge-2", State: promote.Pending},
		{Cluster: "edge-2", Reconciler: "flux/apps", ClusterType: "drone", State: promote.Failed, Message: "no space\nleft"},
	}, seen)
}

func TestWithoutClusters(t *testing.T) {
	t.Parallel()
	seen, err := look(t, programEnviron(), "print", `{"clusters": []}`)
	require.NoError(t, err)
	assert.Empty(t, seen)
}

func TestString(t *testing.T) {
	t.Parallel()
	f, err := New(`./state.sh --all "a b"`, api.Options{})
	require.NoError(t, err)
	assert.Equal(t, "command:./state.sh", f.String(), "an argument may be a secret")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":      "the command is empty: name a program",
		`./a "`: "not closed",
	} {
		_, err := New(text, api.Options{})
		assert.ErrorContains(t, err, want, text)
	}
}

// What the shell would read as more than text is text: nothing is run, no file is written, no variable is read.
func TestHasNoShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"$HOME", "`id`", "$(id)", ";", "touch", dir + "/x", "|", "&&", "*", "> " + dir + "/y", "a b", "'", "--"}
	text := programText(t, "args", args...)
	words, err := Split(text)
	require.NoError(t, err)
	printed := &boundedOutput{limit: 1 << 20}
	require.NoError(t, run(t.Context(), process{Args: words, Environ: programEnviron(), Stdout: printed}))
	assert.Equal(t, strings.Join(args, "\n"), string(printed.kept))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	// It prints no JSON: what it printed is looked at where it is.
	f, err := New(programText(t, "environ"), api.Options{Environ: programEnviron("GH_TOKEN=hush", "KALYPSO_GITOPS_TOKEN=hush")})
	require.NoError(t, err)
	c := f.(*fleet)
	printed := &boundedOutput{limit: 1 << 20}
	require.NoError(t, run(t.Context(), process{
		Args: c.args, Environ: append(c.environ, deploymentFacts(programDeployment())...), Stdout: printed,
	}))
	lines := strings.Split(string(printed.kept), "\n")
	assert.Contains(t, lines, "KALYPSO_FLEET_BRANCH=stage")
	assert.NotContains(t, string(printed.kept), "hush")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		program   []string
		message   string
		temporary bool
	}{
		"exit code":     {[]string{"fail", "curl: (6) x", "could not resolve host", ""}, "ended with exit code 7: could not resolve host", true},
		"silent":        {[]string{"fail"}, "ended with exit code 7", true},
		"no program":    {[]string{"missing"}, "ended with exit code 127", false},
		"signal":        {[]string{"signal"}, "", true},
		"nothing":       {[]string{"print"}, "its output is empty or truncated", true},
		"cut off":       {[]string{"print", `{"clusters":[{"name":"a"`}, "its output is empty or truncated", true},
		"no JSON":       {[]string{"print", "all is well"}, "invalid output: ", false},
		"unknown field": {[]string{"print", `{"clusters":[{"name":"a","comit":"","state":"pending"}]}`}, `unknown field "clusters[0].comit"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, err := look(t, programEnviron(), test.program[0], test.program[1:]...)
			assert.Nil(t, seen)
			var failure *promote.FleetError
			require.ErrorAs(t, err, &failure)
			assert.Contains(t, failure.Message, test.message)
			assert.NotContains(t, failure.Message, "\n")
			assert.Equal(t, test.temporary, failure.Temporary, failure.Message)
		})
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	_, err := Find("./no-such-file.sh --all")
	require.ErrorContains(t, err, "./no-such-file.sh cannot be started: ")
	require.ErrorContains(t, err, "relative to the working directory")
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	f, err := New(programText(t, "print", "x"), api.Options{Environ: programEnviron()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Query(ctx, programDeployment())
	require.ErrorIs(t, err, context.Canceled)
	var failure *promote.FleetError
	require.ErrorAs(t, err, &failure)
	assert.True(t, failure.Temporary)
}

func TestPrintsTooMuch(t *testing.T) {
	t.Parallel()
	f, err := New(programText(t, "flood"), api.Options{Environ: programEnviron()})
	require.NoError(t, err)
	f.(*fleet).limit = 1 << 20
	_, err = f.Query(t.Context(), programDeployment())
	var failure *promote.FleetError
	require.ErrorAs(t, err, &failure)
	assert.False(t, failure.Temporary)
	assert.Contains(t, failure.Message, "was stopped: its output exceeds 1 MiB")
}

func TestAnswerRefused(t *testing.T) {
	t.Parallel()
	const commit = "8d1f2c3b4a5968778695a4b3c2d1e0f123456789"
	for printed, want := range map[string]string{
		`[]`:                              "the output must not be a JSON array",
		`null`:                            `the list "clusters" is missing`,
		`{}`:                              `the list "clusters" is missing`,
		`{"clusters":null}`:               `the list "clusters" is missing`,
		`{"clusters":{}}`:                 "must not be a JSON object",
		`{"clusters":["a"]}`:              "must not be a JSON string",
		`{"clusters":[null]}`:             "clusters[0]: the name is empty or missing",
		`{"Clusters":[]}`:                 `unknown field "Clusters"`,
		`{"clusters":[],"next":"x"}`:      `unknown field "next"`,
		`{"clusters":[]} {"clusters":[]}`: "after top-level value",
		`{"clusters":[]} done`:            "after top-level value",
		`{"clusters":[]}]`:                "after top-level value",
		`{"clusters":[{}]}`:               "clusters[0]: the name is empty or missing",
		`{"clusters":[{"name":7}]}`:       "must not be a JSON number",
		`{"clusters":[{"name":""}]}`:      "the name is empty",
		`{"clusters":[{"name":"a"}]}`:     `clusters[0]: "a": the state is empty or missing: one of compliant, pending, failed`,
		`{"clusters":[{"name":"a","state":"Compliant"}]}`:                                                               `unknown state "Compliant" (did you mean "compliant"?)`,
		`{"clusters":[{"name":"a","state":"ok"}]}`:                                                                      `unknown state "ok" (one of compliant, pending, failed)`,
		`{"clusters":[{"name":"a","state":"pending","commit":"8d1f2c3"}]}`:                                              `the commit "8d1f2c3" is not 40 hex digits`,
		`{"clusters":[{"name":"a","state":"pending","commit":"main@sha1:` + commit + `"}]}`:                             "is not 40 hex digits",
		`{"clusters":[{"name":"a","state":"pending"},{"name":"a","state":"failed"}]}`:                                   `clusters[1]: "a" is a duplicate of clusters[0]`,
		`{"clusters":[{"name":"a","state":"failed","state":"compliant"}]}`:                                              `duplicate field "clusters[0].state"`,
		`{"clusters":[],"clusters":[{"name":"a","state":"compliant"}]}`:                                                 `duplicate field "clusters"`,
		`{"clusters":[{"name":"a","state":"pending","reconciler":"x"},{"name":"a","state":"failed","reconciler":"x"}]}`: "is a duplicate of clusters[0]",
	} {
		seen, err := readAnswer([]byte(printed))
		require.ErrorContains(t, err, want, printed)
		assert.Nil(t, seen, printed)
		assert.NotErrorIs(t, err, errCutAnswer, printed)
	}
}

// Wherever an answer ends too early, it is not taken for a short one.
func TestAnswerCutAnywhere(t *testing.T) {
	t.Parallel()
	const whole = `{"clusters":[{"name":"a","state":"pending","commit":null},{"name":"b","state":"compliant"}]}`
	for end := range len(whole) {
		_, err := readAnswer([]byte(whole[:end]))
		require.ErrorIs(t, err, errCutAnswer, whole[:end])
	}
	_, err := readAnswer([]byte(" " + whole + "\n\n"))
	require.NoError(t, err)
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"clusters":[{"name":"a","state":"pending","commit":"8d1f2c3b4a5968778695a4b3c2d1e0f123456789","reconciler":"r"}]}`,
		`{"clusters":[{"name":"a","state":"failed","message":"\u202e\n::error::"},{"name":"b","state":"compliant"}]}`,
		`{"clusters":[{"name":1}]}`, `{"clusters":[`, `[]`, `null`, ``, `{"clusters":[]}x`, `{"clusters":[],"clusters":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, printed []byte) {
		seen, err := readAnswer(printed)
		if err != nil {
			if seen != nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, with %d clusters", err, len(seen))
			}
			return
		}
		if err := checkStatuses(seen); err != nil {
			t.Error(err)
		}
	})
}

// checkStatuses returns what is wrong with the statuses of a fleet.
func checkStatuses(seen []promote.ReconcilerStatus) error {
	all := map[string]bool{}
	for _, s := range seen {
		key := s.Cluster + "\x00" + s.Reconciler
		switch {
		case s.Cluster == "":
			return errors.New("a cluster without a name")
		case !regexp.MustCompile(`^([0-9a-f]{40})?$`).MatchString(s.Commit):
			return fmt.Errorf("the commit %q", s.Commit)
		case s.State != promote.Compliant && s.State != promote.Pending && s.State != promote.Failed:
			return fmt.Errorf("the state %q", s.State)
		case all[key]:
			return fmt.Errorf("%q twice", key)
		}
		all[key] = true
	}
	return nil
}
