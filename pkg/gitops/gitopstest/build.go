// Package gitopstest makes git repositories and serves them on loopback, for tests. It needs the git
// program.
package gitopstest

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Files are the regular files of a commit: path → content.
type Files map[string]string

// FromFS returns the regular files of a file system: os.DirFS, a txtar archive, fstest.MapFS.
func FromFS(fsys fs.FS) (Files, error) {
	files := Files{}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		files[name] = string(data)
		return err
	})
	return files, err
}

// Commit is one commit: the whole tree of it, on top of what its branch had.
type Commit struct {
	// Branch is made if it is not there. Empty means "main".
	Branch string
	Files  Files
	// Links are symbolic links: path → target.
	Links map[string]string
	// Submodules are paths with the commit that they point to.
	Submodules map[string]string
	// Message is "test" if it is empty.
	Message string
	// Time is seconds since 1970; 0 means 1700000000 plus one for each commit before.
	Time int64
}

// Bare makes a bare repository in dir with one commit after another, and returns their ids. HEAD is
// the branch of the first one. It can be fetched from and pushed to in every way that git allows;
// see Git for changing that.
func Bare(dir string, commits ...Commit) ([]string, error) {
	head := "main"
	if len(commits) > 0 {
		head = commits[0].branch()
	}
	if _, err := Git("", "init", "--quiet", "--bare", "--initial-branch="+head, dir); err != nil {
		return nil, err
	}
	for _, setting := range []string{
		"uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant", "http.receivepack",
	} {
		if _, err := Git(dir, "config", setting, "true"); err != nil {
			return nil, err
		}
	}
	return Add(dir, commits...)
}

// Add adds commits to a bare repository and returns their ids.
func Add(dir string, commits ...Commit) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	marks := filepath.Join(dir, "test-marks")
	defer os.Remove(marks) //nolint:errcheck // the folder goes with the test
	var stream bytes.Buffer
	seen := map[string]bool{}
	for i, c := range commits {
		parent := ""
		if branch := "refs/heads/" + c.branch(); !seen[branch] {
			if id, err := Git(dir, "rev-parse", "--verify", "--quiet", branch); err == nil {
				parent = strings.TrimSpace(id)
			}
			seen[branch] = true
		}
		c.write(&stream, i+1, parent)
	}
	cmd := command(dir, "fast-import", "--quiet", "--export-marks="+marks)
	cmd.Stdin = &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git fast-import: %w: %s", err, out)
	}
	return readMarks(marks, len(commits))
}

func (c Commit) branch() string {
	if c.Branch == "" {
		return "main"
	}
	return c.Branch
}

// write appends the commit to a stream for git fast-import.
func (c Commit) write(w *bytes.Buffer, mark int, parent string) {
	message, when := c.Message, c.Time
	if message == "" {
		message = "test"
	}
	if when == 0 {
		when = 1_700_000_000 + int64(mark) - 1
	}
	fmt.Fprintf(w, "commit refs/heads/%s\nmark :%d\n", c.branch(), mark)
	fmt.Fprintf(w, "committer Test <test@example.com> %d +0000\ndata %d\n%s\n", when, len(message), message)
	if parent != "" {
		fmt.Fprintf(w, "from %s\n", parent)
	}
	w.WriteString("deleteall\n")
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", name, len(c.Files[name]), c.Files[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Links)) {
		fmt.Fprintf(w, "M 120000 inline %s\ndata %d\n%s\n", name, len(c.Links[name]), c.Links[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Submodules)) {
		fmt.Fprintf(w, "M 160000 %s %s\n", c.Submodules[name], name)
	}
	w.WriteByte('\n')
}

func readMarks(file string, count int) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	ids := make([]string, count)
	for line := range strings.Lines(string(data)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err == nil && mark >= 1 && mark <= count {
			ids[mark-1] = id
		}
	}
	return ids, nil
}

// Clone clones a repository into dir, with a work tree.
func Clone(from, dir string) error {
	_, err := Git("", "clone", "--quiet", from, dir)
	return err
}

// Git runs git in a folder, without the configuration of the machine, and returns what it printed.
func Git(dir string, args ...string) (string, error) {
	cmd := command(dir, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	return out.String(), nil
}

func command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, hermetic()...)
	cmd.Env = append(cmd.Env, identity()...)
	return cmd
}

// hermetic keeps the configuration of the machine out.
func hermetic() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
	}
}

// identity makes the same commits have the same ids everywhere.
func identity() []string {
	return []string{
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
}
