package githubtest

import (
	"os"
	"path/filepath"
	"slices"
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
	r.act(func() error {
		if !slices.Contains(r.protected, branch) {
			r.protected = append(r.protected, branch)
		}
		if r.options.Dir == "" {
			return nil // nobody can push to it
		}
		return r.writeHook()
	})
}

// writeHook makes git refuse pushes to protected branches.
func (r *Repo) writeHook() error {
	folder := filepath.Join(r.options.Dir, "hooks")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	protected := ""
	for _, branch := range r.protected {
		protected += "refs/heads/" + branch + "\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "protected"), []byte(protected), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "update"), []byte(hook), 0o755)
}
