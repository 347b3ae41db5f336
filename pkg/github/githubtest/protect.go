package githubtest

import (
	"os"
	"path/filepath"
	"strings"
)

// hook is run by git for every branch that is pushed. What it says is what GitHub says.
const hook = `#!/bin/sh
grep -qxF -e "$1" hooks/protected || exit 0
echo "error: GH013: Repository rule violations found for $1." >&2
echo >&2
echo "- Changes must be made through a pull request." >&2
exit 1
`

// Protect makes a rule that a branch is changed by pull requests only: pushes to it are refused, by whomever.
func (r *Repo) Protect(branch string) {
	r.act(func() {
		r.protected = append(r.protected, "refs/heads/"+branch)
		if r.options.Dir == "" {
			return // nobody can push to it
		}
		hooks := filepath.Join(r.options.Dir, "hooks")
		check(os.MkdirAll(hooks, 0o755))
		check(os.WriteFile(filepath.Join(hooks, "protected"), []byte(strings.Join(r.protected, "\n")+"\n"), 0o644))
		check(os.WriteFile(filepath.Join(hooks, "update"), []byte(hook), 0o755))
	})
}
