package githubtest_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// TestScript plays sessions with the command "github".
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			githubtest.Setup(env)
			dir := filepath.Join(env.WorkDir, "gitops.git")
			if err := fill(dir); err != nil {
				return err
			}
			parent, err := gitopstest.Git(dir, "rev-parse", "main~")
			env.Setenv("PARENT", strings.TrimSpace(parent))
			env.Setenv("AUTHORIZATION", "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("x:"+githubtest.ScriptToken)))
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"github": githubtest.Command,
			"api":    api,
		},
	})
}

// api METHOD PATH [BODY] asks the stand-in with curl's manners and prints status and answer.
func api(ts *testscript.TestScript, _ bool, args []string) {
	body := ""
	if len(args) > 2 {
		body = args[2]
	}
	status, answer, err := ask(context.Background(), ts.Getenv("GITHUB_TOKEN"), args[0], ts.Getenv("GITHUB_API_URL")+args[1], body)
	ts.Check(err)
	_, err = fmt.Fprintf(ts.Stdout(), "%d\n%s\n", status, answer)
	ts.Check(err)
}
