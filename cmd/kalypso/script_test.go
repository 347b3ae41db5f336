package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest/scripttest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"kalypso": main, "clusters": clusters})
}

// TestScript runs the sessions in testdata/script against real repositories and real git servers: "exec kalypso" is the real
// binary, "run kalypso" runs it in this process, in the directory of the session. That is why only sessions run beside each other.
func TestScript(t *testing.T) {
	fleets, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := filepath.Abs("testdata/script")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 sessions,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Condition: func(condition string) (bool, error) {
			if condition != "race" {
				return false, fmt.Errorf("there is no condition %q", condition)
			}
			return raceDetector, nil
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("TESTDATA", fleets)
			env.Setenv("FLEET", filepath.Join(fleets, "fleets", "harvest", "in"))
			env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			env.Values[scriptVariables{}] = env.Vars
			scripttest.Setup(env)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"github":    scripttest.Command,
			"cmptree":   cmptree,
			"commit":    commit,
			"copyfleet": copyFleet,
			"gitrepo":   gitRepo,
			"gitserver": gitServer,
			"regexsub":  regexSub,
			"run":       runHere,
			"signingkey": func(ts *testscript.TestScript, _ bool, args []string) {
				_, err := writeKey(ts.MkAbs(args[0]))
				ts.Check(err)
			},
		},
	})
}

// scriptVariables is where a script has the variables that it began with.
type scriptVariables struct{}

// runHere kalypso ARGUMENTS… runs kalypso in this process, where waiting takes no time.
func runHere(ts *testscript.TestScript, neg bool, args []string) {
	if code := codeHere(ts, args[1:]); neg != (code != cli.ExitDone) {
		ts.Fatalf("exit code %d", code)
	}
}

// codeHere is the exit code of such a run.
func codeHere(ts *testscript.TestScript, args []string) int {
	began, _ := ts.Value(scriptVariables{}).([]string)
	var environ []string
	for _, variable := range began {
		name, _, _ := strings.Cut(variable, "=")
		environ = append(environ, name+"="+ts.Getenv(name))
	}
	host := cli.System()
	host.Stderr, host.Env = ts.Stderr(), ts.Getenv
	host.Environ = func() []string { return environ }
	var stdout bytes.Buffer
	host.Stdout = io.MultiWriter(ts.Stdout(), &stdout)
	code := runIn(ts.MkAbs("."), args, host)
	ts.Check(checkOutput(args, stdout.Bytes()))
	return code
}

// exits CODE PROGRAM ARGUMENTS… runs a program that must end with the code: kalypso in this process.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if args[1] == "kalypso" {
		got = codeHere(ts, args[2:])
	} else {
		var exit *exec.ExitError
		if err = ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
			got = exit.ExitCode()
		} else {
			ts.Check(err)
		}
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmptree A B compares two directories.
func cmptree(ts *testscript.TestScript, neg bool, args []string) {
	files := func(dir string) map[string]string {
		found, err := gitopstest.FromFS(os.DirFS(ts.MkAbs(dir)))
		ts.Check(err)
		if len(found) == 0 {
			ts.Fatalf("%s is empty", dir)
		}
		return found
	}
	a, b := files(args[0]), files(args[1])
	differences := differing(a, b)
	if neg == (len(differences) == 0) {
		ts.Fatalf("%s and %s: %d differences: %s", args[0], args[1], len(differences), strings.Join(differences, " "))
	}
}

// copyFleet FROM TO copies a fleet to where it can be changed.
func copyFleet(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
}

// gitRepo NAME.git BRANCH=FOLDER… makes a bare repository, or adds commits to one, and sets
// $COMMIT_<branch> to the id of each branch's last commit.
func gitRepo(ts *testscript.TestScript, _ bool, args []string) {
	var commits []gitopstest.Commit
	for _, arg := range args[1:] {
		branch, directory, _ := strings.Cut(arg, "=")
		files, err := gitopstest.FromFS(os.DirFS(ts.MkAbs(directory)))
		ts.Check(err)
		commits = append(commits, gitopstest.Commit{Branch: branch, Files: files})
	}
	dir := ts.MkAbs(args[0])
	write := gitopstest.Bare
	if _, err := os.Stat(dir); err == nil {
		write = gitopstest.Add
	} else if !errors.Is(err, fs.ErrNotExist) {
		ts.Check(err)
	}
	ids, err := write(dir, commits...)
	ts.Check(err)
	for i, commit := range commits {
		ts.Setenv("COMMIT_"+commit.Branch, ids[i])
	}
}

// commit NAME REPOSITORY REVISION sets $NAME to the id of a commit, of which git knows the revision.
func commit(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command("git", "-C", ts.MkAbs(args[1]), "rev-parse", "--verify", args[2])
	id, err := cmd.Output()
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimSpace(string(id)))
}

// gitServer FOLDER serves the bare repositories in a directory over http, and sets $SERVER. With
// --password=SECRET only who knows it may read.
func gitServer(ts *testscript.TestScript, _ bool, args []string) {
	handler, err := gitopstest.Handler(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(args) > 1 {
		handler = gitopstest.BasicAuth(strings.TrimPrefix(args[1], "--password="), handler)
	}
	server := httptest.NewServer(handler)
	ts.Defer(server.Close)
	ts.Setenv("SERVER", server.URL)
}

// regexSub PATTERN REPLACEMENT FILE changes a file.
func regexSub(ts *testscript.TestScript, _ bool, args []string) {
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	path := ts.MkAbs(args[2])
	before := ts.ReadFile(path)
	after := pattern.ReplaceAllString(before, args[1])
	if before == after {
		ts.Fatalf("%s: nothing matches %s", args[2], args[0])
	}
	ts.Check(os.WriteFile(path, []byte(after), 0o644))
}

// clusters is a program that stands for a fleet: "clusters edge-1 'edge-2=failed:no space' edge-3=pending@COMMIT:why" prints
// what clusters say, as --fleet command: wants it. Without "@" they have what they are asked about.
func clusters() {
	all := []cluster{}
	for _, arg := range os.Args[1:] {
		all = append(all, newCluster(arg, os.Getenv("KALYPSO_FLEET_COMMIT")))
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"clusters": all}); err != nil {
		os.Exit(1)
	}
}

// cluster is what a cluster says.
type cluster struct {
	Name    string `json:"name"`
	Commit  string `json:"commit"`
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
}

// newCluster reads NAME[=STATE[@COMMIT][:MESSAGE]]. Without a commit the cluster has the one that it is asked about.
func newCluster(text, asked string) cluster {
	name, says, _ := strings.Cut(text, "=")
	says, message, _ := strings.Cut(says, ":")
	state, commit, other := strings.Cut(says, "@")
	if !other {
		commit = asked
	}
	return cluster{name, commit, cmp.Or(state, "compliant"), message}
}
