package githubtest

import (
	"fmt"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
)

// commit is the commit that an argument names, by a branch or by its id.
func (s *script) commit(ts *testscript.TestScript, ref string) string {
	commit := read(s.repo, func() string { return s.repo.resolve(ref) })
	if commit == "" {
		ts.Fatalf("github: there is no branch or commit %s in %s", ref, s.repo.Name)
	}
	return commit
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
	status := Status{Commit: s.commit(ts, args[0]), Context: args[1], State: args[2], Author: author}
	if !slices.Contains([]string{"error", "failure", "pending", "success"}, status.State) {
		ts.Fatalf("github status: there is no state %s", status.State)
	}
	if len(args) > 3 {
		status.Description = args[3]
	}
	s.repo.SetStatus(status)
}

// statuses prints the statuses of a commit.
func (s *script) statuses(ts *testscript.TestScript, args []string) {
	last := len(args) - 1
	commit, flags := s.commit(ts, args[last]), args[:last]
	statuses := s.repo.NewestStatuses(commit)
	if slices.Contains(flags, "-all") {
		statuses = s.repo.Statuses(commit)
	}
	for _, status := range statuses {
		line := status.String()
		if slices.Contains(flags, "-urls") {
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
