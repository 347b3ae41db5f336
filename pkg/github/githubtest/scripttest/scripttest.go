// Package scripttest is the command "github" of test scripts, which starts a stand-in for GitHub and acts on it as people do.
package scripttest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kalypso-gitops/kalypso/pkg/github/githubtest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

const (
	// workflowToken is the secret of the token that may do everything. It is in $GITHUB_TOKEN.
	workflowToken = "stand-in-token"
	// aPerson is who acts outside the API.
	aPerson = "a-person"
)

// script is what a test script has of GitHub.
type script struct {
	env     *testscript.Env
	server  *githubtest.Server // nil before it starts
	repo    *githubtest.Repo   // what commands are about
	printed int                // how many tokens of an App were printed
	// started is how many dispatches of a repository were printed.
	started map[*githubtest.Repo]int
}

// scriptKey is where a script's state is in the values of its environment.
type scriptKey struct{}

// Setup prepares a script for Command.
func Setup(env *testscript.Env) {
	env.Values[scriptKey{}] = &script{env: env, started: map[*githubtest.Repo]int{}}
}

// Command is the command "github" of test scripts:
//
//	github start OWNER/NAME=DIR.git…            serves bare repositories; sets GITHUB_API_URL, GITHUB_SERVER_URL, GITHUB_TOKEN
//	github use OWNER/NAME                       makes the rest about another than the first repository
//	github pulls                                prints the open pull requests: #1 head -> base: title [labels]
//	github pull N                               prints the settings of a pull request, one in a line
//	github people LOGIN… team/SLUG…             lets them review and be assigned; auto-merge waits for a status
//	github body N                               prints the body of an issue or a pull request
//	github comments N                           prints the comments
//	github issues                               prints the open issues: #1 title [labels]
//	github open HEAD BASE TITLE                 opens a pull request, as a person
//	github merge N [METHOD]                     merges it: merge, squash or rebase; the branch stays
//	github comment N TEXT
//	github status [-as LOGIN] REF CONTEXT STATE [TEXT]
//	                                            sets a status of a commit or of the tip of a branch, as a person
//	github statuses [-urls] REF                 prints the newest of each context, the newest first: context: state description <url>
//	github dispatches                           prints what workflows were started, and forgets them: cd.yaml on main: a=b c=d
//	                                            (they are known if they are in .github/workflows of the default branch)
//	github token SECRET PERMISSION=ACCESS…      makes a token known: github token s contents=write pull_requests=read;
//	                                            expires=72h is when it expires
//	github app KEYFILE OWNER PERMISSION=ACCESS… makes the App 17 known, installed by OWNER (with all permissions, if none are
//	                                            given), and writes its private key
//	github tokens                               prints the tokens that it was given, and forgets them: owner/a owner/b: contents=read
//	github private OWNER/NAME…                  hides repositories from those without a token
//	github set SETTING…                         changes the repository: auto-merge, squash=PR_BODY, protected=BRANCH,
//	                                            rule=BRANCH:TYPE, bypass=LOGIN, actions=write, actions=no-pull-requests
//	github writes                               prints how many writing requests there were, and forgets them
//	github requests                             prints the requests, and forgets them
//
// The script fails at its end if a request did not fit GitHub's description. What commands print is what
// "stdout" looks at.
func Command(ts *testscript.TestScript, neg bool, args []string) {
	s, prepared := ts.Value(scriptKey{}).(*script)
	switch {
	case !prepared:
		ts.Fatalf("github: Setup was not called")
	case neg:
		ts.Fatalf("github cannot be negated")
	case len(args) == 0:
		ts.Fatalf("usage: github COMMAND ARGUMENTS…")
	case s.server == nil && args[0] != "start":
		ts.Fatalf("github start comes first")
	}
	command, known := commands()[args[0]]
	if !known {
		ts.Fatalf("there is no command github %s", args[0])
	}
	if given := len(args) - 1; given < command.least || given > command.most {
		ts.Fatalf("github %s: wrong number of arguments", args[0])
	}
	ts.Stdout() // else that of the command before stays, if this one prints nothing
	command.run(s, ts, args[1:])
}

// scriptCommand is a command, and how many arguments it has.
type scriptCommand struct {
	least, most int
	run         func(s *script, ts *testscript.TestScript, args []string)
}

func commands() map[string]scriptCommand {
	return map[string]scriptCommand{
		"start":      {1, 100, (*script).start},
		"use":        {1, 1, (*script).use},
		"pulls":      {0, 0, (*script).pulls},
		"pull":       {1, 1, (*script).pull},
		"people":     {1, 20, (*script).people},
		"body":       {1, 1, (*script).body},
		"comments":   {1, 1, (*script).comments},
		"issues":     {0, 0, (*script).issues},
		"open":       {3, 3, (*script).open},
		"merge":      {1, 2, (*script).merge},
		"comment":    {2, 2, (*script).comment},
		"status":     {3, 6, (*script).status},
		"statuses":   {1, 2, (*script).statuses},
		"dispatches": {0, 0, (*script).dispatches},
		"token":      {1, 20, (*script).token},
		"app":        {2, 20, (*script).app},
		"tokens":     {0, 0, (*script).tokens},
		"private":    {1, 100, (*script).private},
		"set":        {1, 20, (*script).set},
		"writes":     {0, 0, (*script).writes},
		"requests":   {0, 0, (*script).requests},
	}
}

func (s *script) start(ts *testscript.TestScript, args []string) {
	if s.server != nil {
		ts.Fatalf("github start: it runs already")
	}
	server, err := githubtest.Start(githubtest.Options{Now: time.Now, Fail: ts.Check})
	ts.Check(err)
	s.server = server
	ts.Defer(func() {
		server.Close()
		if violations := server.Violations(); len(violations) > 0 {
			s.env.T().Fatal("GitHub stand-in:\n" + strings.Join(violations, "\n"))
		}
	})
	for _, arg := range args {
		name, dir, ok := strings.Cut(arg, "=")
		if _, err := os.Stat(ts.MkAbs(dir)); !ok || err != nil {
			ts.Fatalf("github start: %s is not OWNER/NAME=DIR.git", arg)
		}
		repo := server.AddRepo(name, githubtest.RepoOptions{Dir: ts.MkAbs(dir)})
		if s.repo == nil {
			s.repo = repo
		}
	}
	server.AddToken(workflowToken, githubtest.Token{Name: "workflow", Permissions: githubtest.AllPermissions()})
	ts.Setenv("GITHUB_API_URL", server.URL)
	ts.Setenv("GITHUB_SERVER_URL", server.WebURL)
	ts.Setenv("GITHUB_TOKEN", workflowToken)
}

func (s *script) use(ts *testscript.TestScript, args []string) {
	if s.repo = s.server.Repo(args[0]); s.repo == nil {
		ts.Fatalf("github use: there is no %s", args[0])
	}
}

// number is an argument that numbers an issue or a pull request.
func (s *script) number(ts *testscript.TestScript, arg string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(arg, "#"))
	ts.Check(err)
	return n
}

func (s *script) pulls(ts *testscript.TestScript, _ []string) {
	for _, p := range s.repo.OpenPulls() {
		fmt.Fprintln(ts.Stdout(), p)
	}
}

func (s *script) pull(ts *testscript.TestScript, args []string) {
	p := s.repo.Pull(s.number(ts, args[0]))
	fmt.Fprintf(ts.Stdout(), "title: %s\nhead: %s\ndraft: %t\nlabels: %s\nreviewers: %s\nteams: %s\nassignees: %s\nauto-merge: %s\n", p.Title, p.Head, p.Draft,
		strings.Join(p.Labels, ","), strings.Join(p.Reviewers, ","), strings.Join(p.Teams, ","), strings.Join(p.Assignees, ","), p.AutoMerge)
}

func (s *script) people(_ *testscript.TestScript, args []string) {
	s.repo.SetOptions(func(o *githubtest.RepoOptions) {
		o.AllowAutoMerge, o.RequiredChecks, o.Collaborators = true, []string{"test"}, map[string]string{}
		for _, name := range args {
			if team, is := strings.CutPrefix(name, "team/"); is {
				o.Teams = append(o.Teams, team)
			} else {
				o.Collaborators[name] = "write"
			}
		}
	})
}

func (s *script) body(ts *testscript.TestScript, args []string) {
	fmt.Fprintln(ts.Stdout(), strings.TrimSuffix(s.repo.Pull(s.number(ts, args[0])).Body, "\n"))
}

func (s *script) comments(ts *testscript.TestScript, args []string) {
	for _, comment := range s.repo.Comments(s.number(ts, args[0])) {
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", comment.Author, strings.TrimSuffix(comment.Body, "\n"))
	}
}

func (s *script) issues(ts *testscript.TestScript, _ []string) {
	for _, issue := range s.repo.Issues() {
		if issue.Open {
			fmt.Fprintln(ts.Stdout(), issue)
		}
	}
}

func (s *script) open(ts *testscript.TestScript, args []string) {
	p := s.repo.OpenPull(githubtest.Pull{Issue: githubtest.Issue{Title: args[2], Author: aPerson}, Head: args[0], Base: args[1]})
	fmt.Fprintln(ts.Stdout(), p)
}

func (s *script) merge(ts *testscript.TestScript, args []string) {
	method := "merge"
	if len(args) > 1 {
		method = args[1]
	}
	fmt.Fprintln(ts.Stdout(), s.repo.MergePull(s.number(ts, args[0]), method))
}

func (s *script) comment(ts *testscript.TestScript, args []string) {
	s.repo.Comment(s.number(ts, args[0]), aPerson, args[1])
}

func (s *script) token(ts *testscript.TestScript, args []string) {
	permissions, expires := map[string]string{}, time.Time{}
	for _, arg := range args[1:] {
		name, access, ok := strings.Cut(arg, "=")
		if name == "expires" {
			left, err := time.ParseDuration(access)
			ts.Check(err)
			expires = time.Now().Add(left)
			continue
		}
		if !ok || access != "read" && access != "write" {
			ts.Fatalf("github token: %s is not PERMISSION=read or PERMISSION=write", arg)
		}
		permissions[name] = access
	}
	s.server.AddToken(args[0], githubtest.Token{Name: args[0], Permissions: permissions, Expires: expires})
}

func (s *script) writes(ts *testscript.TestScript, _ []string) {
	fmt.Fprintln(ts.Stdout(), len(s.server.Writes()))
	s.server.Forget()
}

func (s *script) requests(ts *testscript.TestScript, _ []string) {
	for _, request := range s.server.Requests() {
		fmt.Fprintln(ts.Stdout(), request)
	}
	s.server.Forget()
}

// app makes an App known, and writes its private key.
func (s *script) app(ts *testscript.TestScript, args []string) {
	key, err := rsa.GenerateKey(rand.Reader, 1024) // the smallest, as it takes long to make one
	ts.Check(err)
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(block), 0o600))
	app := githubtest.App{
		ID: 17, Slug: "kalypso", Bot: 4711, Key: &key.PublicKey, Owner: args[1], Installation: 5,
		Permissions: githubtest.AllPermissions(),
	}
	if len(args) > 2 {
		app.Permissions = map[string]string{}
	}
	for _, arg := range args[2:] {
		name, access, _ := strings.Cut(arg, "=")
		app.Permissions[name] = access
	}
	s.server.AddApp(app)
}

// private hides repositories from those without a token.
func (s *script) private(ts *testscript.TestScript, args []string) {
	for _, name := range args {
		repo := s.server.Repo(name)
		if repo == nil {
			ts.Fatalf("github private: there is no %s", name)
		}
		repo.SetOptions(func(o *githubtest.RepoOptions) { o.Private = true })
	}
}

// set changes the settings of the repository.
func (s *script) set(ts *testscript.TestScript, args []string) {
	s.repo.SetOptions(func(o *githubtest.RepoOptions) {
		for _, arg := range args {
			name, value, _ := strings.Cut(arg, "=")
			switch name {
			case "auto-merge":
				o.AllowAutoMerge = true
			case "squash":
				o.SquashMessage = value
			case "protected":
				o.Protected = append(o.Protected, value)
			case "bypass":
				o.MayBypass = append(o.MayBypass, value)
			case "rule":
				branch, kind, _ := strings.Cut(value, ":")
				if o.Rules == nil {
					o.Rules = map[string][]string{}
				}
				o.Rules[branch] = append(o.Rules[branch], kind)
			case "actions":
				o.WorkflowsWrite = o.WorkflowsWrite || value == "write"
				o.ActionsMayNotOpenPulls = o.ActionsMayNotOpenPulls || value == "no-pull-requests"
			default:
				ts.Fatalf("github set: there is no setting %s", name)
			}
		}
	})
}

// tokens prints what tokens an App was given since it was asked last, in order.
func (s *script) tokens(ts *testscript.TestScript, _ []string) {
	minted := s.server.Minted()
	for _, token := range minted[s.printed:] {
		fmt.Fprintln(ts.Stdout(), token)
	}
	s.printed = len(minted)
}

// commit is the commit that an argument names, by a branch or by its id.
func (s *script) commit(ts *testscript.TestScript, ref string) string {
	commit, err := gitopstest.FindCommit(s.repo.Dir(), ref)
	if err != nil {
		ts.Fatalf("github: there is no branch or commit %s in %s", ref, s.repo.Name)
	}
	return commit.ID
}

// status sets a status of a commit.
func (s *script) status(ts *testscript.TestScript, args []string) {
	author := aPerson
	if args[0] == "-as" {
		author, args = args[1], args[2:]
	}
	if len(args) < 3 || len(args) > 4 {
		ts.Fatalf("github status: wrong number of arguments")
	}
	status := githubtest.Status{Commit: s.commit(ts, args[0]), Context: args[1], State: args[2], Author: author}
	if !slices.Contains([]string{"error", "failure", "pending", "success"}, status.State) {
		ts.Fatalf("github status: there is no state %s", status.State)
	}
	if len(args) > 3 {
		status.Description = args[3]
	}
	s.repo.SetStatus(status)
}

// statuses prints the newest statuses of a commit.
func (s *script) statuses(ts *testscript.TestScript, args []string) {
	urls := args[0] == "-urls"
	for _, status := range s.repo.NewestStatuses(s.commit(ts, args[len(args)-1])) {
		line := status.String()
		if urls {
			line += " <" + status.TargetURL + ">"
		}
		fmt.Fprintln(ts.Stdout(), line)
	}
}

// dispatches prints which workflows were started since it was asked last.
func (s *script) dispatches(ts *testscript.TestScript, _ []string) {
	all := s.repo.Dispatches()
	for _, dispatch := range all[s.started[s.repo]:] {
		fmt.Fprintln(ts.Stdout(), dispatch)
	}
	s.started[s.repo] = len(all)
}
