package model

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// found lists the files that are read of a repository with empty files at these paths.
func found(t *testing.T, source *Source) []string {
	t.Helper()
	paths, diags := files(source, DefaultOptions().Platform, false)
	require.Empty(t, shown(diags))
	return paths
}

func emptyFiles(paths ...string) tree {
	files := tree{}
	for _, p := range paths {
		files[p] = ""
	}
	return files
}

// Which files of a repository are read (SPEC 2).
func TestFiles(t *testing.T) {
	t.Parallel()
	repo := emptyFiles(
		"b.yaml", "a.yml", "c.yaml.txt", "d.json", "README.md", "E.YAML", ".dot.yaml", "yaml", ".yaml",
		"sub/x.yaml", "sub/deep/er/y.yml", "sub-2/x.yaml", ".hidden/x.yaml", "sub/.hidden/x.yaml", ".hidden/sub/x.yaml",
		".environments/dev.yaml", ".environments/sub/stage.yml", ".environments/.hidden/prod.yaml", "sub/.environments/x.yaml",
		// Flux leaves these out
		".github/workflows/ci.yaml", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml",
		"codeship-services.yml", "codeship-steps.yml", ".goreleaser.yml", "sub/.goreleaser.yml", ".sops.yaml", "sub/.sops.yaml",
		".flux.yaml", "sub/appveyor.yml",
	)
	for _, c := range []struct {
		name string
		role Role
		path string
		want []string
	}{
		{"the whole repository", Platform, ".", []string{".dot.yaml", ".yaml", "a.yml", "b.yaml", "sub/deep/er/y.yml", "sub/x.yaml", "sub-2/x.yaml"}},
		{"no path", Base, "", []string{".dot.yaml", ".yaml", "a.yml", "b.yaml", "sub/deep/er/y.yml", "sub/x.yaml", "sub-2/x.yaml"}},
		{"root", Tenant, "/", []string{".dot.yaml", ".yaml", "a.yml", "b.yaml", "sub/deep/er/y.yml", "sub/x.yaml", "sub-2/x.yaml"}},
		{"a directory", Tenant, "sub", []string{"sub/deep/er/y.yml", "sub/x.yaml"}},
		{"a directory as people write it", Tenant, "./sub//deep/", []string{"sub/deep/er/y.yml"}},
		{"a dot-folder that is meant", Tenant, ".hidden", []string{".hidden/sub/x.yaml", ".hidden/x.yaml"}},
		{"a dot-folder below one", Tenant, "sub/.hidden", []string{"sub/.hidden/x.yaml"}},
		{"the environments, if they are meant", Tenant, ".environments", []string{".environments/dev.yaml", ".environments/sub/stage.yml"}},
		{"one file", Tenant, "sub/x.yaml", []string{"sub/x.yaml"}},
		{"one file of another name", Tenant, "./d.json", []string{"d.json"}},
		{"the environments of a control plane", Main, ".", []string{".environments/dev.yaml", ".environments/sub/stage.yml"}},
		{"the environments of a control plane in a directory", Main, "sub", []string{"sub/.environments/x.yaml"}},
		{"no environments", Main, "sub-2", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			source := sourceOf(c.role, repo.fs())
			source.Ref.Path = c.path
			assert.Equal(t, c.want, found(t, source))
		})
	}
}

// .sourceignore has gitignore's rules, as Flux applies them: an ignore file speaks of its directory and
// below, and the last pattern that matches a file decides, even below a directory that is excluded.
func TestSourceIgnore(t *testing.T) {
	t.Parallel()
	repo := []string{"a.yaml", "b.yaml", "app/a.yaml", "app/b.yaml", "app/sub/a.yaml", "apps/a.yaml", "cloudbuild.yaml", "x/app/a.yaml"}
	all := "a.yaml app/a.yaml app/b.yaml app/sub/a.yaml apps/a.yaml b.yaml x/app/a.yaml"
	for _, c := range []struct {
		name   string
		ignore map[string]string
		want   string
	}{
		{"none", nil, all},
		{"empty", map[string]string{".": "\n  \n# b.yaml\n"}, all},
		{"a name anywhere", map[string]string{".": "a.yaml"}, "app/b.yaml b.yaml"},
		{"a name at the root", map[string]string{".": "/a.yaml"}, "app/a.yaml app/b.yaml app/sub/a.yaml apps/a.yaml b.yaml x/app/a.yaml"},
		{"a directory anywhere", map[string]string{".": "app/"}, "a.yaml apps/a.yaml b.yaml"},
		{"a directory at the root", map[string]string{".": "/app"}, "a.yaml apps/a.yaml b.yaml x/app/a.yaml"},
		{"a path", map[string]string{".": "app/a.yaml"}, "a.yaml app/b.yaml app/sub/a.yaml apps/a.yaml b.yaml x/app/a.yaml"},
		{"a star", map[string]string{".": "app*/*.yaml"}, "a.yaml app/sub/a.yaml b.yaml x/app/a.yaml"},
		{"two stars", map[string]string{".": "**/sub/**"}, "a.yaml app/a.yaml app/b.yaml apps/a.yaml b.yaml x/app/a.yaml"},
		{"all", map[string]string{".": "*"}, ""},
		{"all but one", map[string]string{".": "/*\n!/b.yaml"}, "b.yaml"},
		{"all but a directory", map[string]string{".": "*\n!app/\n!app/**"}, "app/a.yaml app/b.yaml app/sub/a.yaml x/app/a.yaml"},
		{"the order decides", map[string]string{".": "!b.yaml\nb.yaml"}, "a.yaml app/a.yaml app/sub/a.yaml apps/a.yaml x/app/a.yaml"},
		{"CRLF and blanks", map[string]string{".": "a.yaml  \r\n\r\n# x\r\n/b.yaml\r\n"}, "app/b.yaml"},
		{"what Flux leaves out comes back", map[string]string{".": "!cloudbuild.yaml"}, "a.yaml app/a.yaml app/b.yaml app/sub/a.yaml apps/a.yaml b.yaml cloudbuild.yaml x/app/a.yaml"},
		{"an ignore file in a directory", map[string]string{"app": "a.yaml"}, "a.yaml app/b.yaml apps/a.yaml b.yaml x/app/a.yaml"},
		{"its root is that directory", map[string]string{"app": "/a.yaml"}, "a.yaml app/b.yaml app/sub/a.yaml apps/a.yaml b.yaml x/app/a.yaml"},
		{"it says nothing of its parent", map[string]string{"app/sub": "*", "apps": "*"}, "a.yaml app/a.yaml app/b.yaml b.yaml x/app/a.yaml"},
		{"it wins over its parent", map[string]string{".": "a.yaml", "app": "!a.yaml"}, "app/a.yaml app/b.yaml app/sub/a.yaml b.yaml"},
		{"even if the directory is excluded", map[string]string{".": "app/", "app": "!a.yaml"}, "a.yaml app/a.yaml app/sub/a.yaml apps/a.yaml b.yaml"},
		{"the deepest wins", map[string]string{".": "!a.yaml", "app": "a.yaml", "app/sub": "!a.yaml"}, "a.yaml app/b.yaml app/sub/a.yaml apps/a.yaml b.yaml x/app/a.yaml"},
		{"a bad pattern matches nothing", map[string]string{".": "[\n[a.yaml"}, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := emptyFiles(repo...)
			for directory, content := range c.ignore {
				files[directory+"/"+ignoreFile] = content
			}
			fsys := fstest.MapFS{}
			for name, content := range files {
				fsys[cleanPath(name)] = &fstest.MapFile{Data: []byte(content)}
			}
			source := sourceOf(Base, fsys)
			read := found(t, source)
			assert.Equal(t, c.want, strings.Join(read, " "))
			for _, file := range repo { // Ignores says the same of each
				source.Ref.Path = path.Dir(file)
				assert.Equal(t, !slices.Contains(read, file), Ignores(source, path.Base(file)), file)
			}
		})
	}
}

// Ignore files above the directory that is read count too; in .environments none does.
func TestSourceIgnoreAbove(t *testing.T) {
	t.Parallel()
	repo := tree{
		".sourceignore": "no.yaml\n.environments\nteam/app/root.yaml\n", "team/.sourceignore": "/app/team.yaml\n!no.yaml", "team/app/.sourceignore": "own.yaml",
		"other/.sourceignore": "*", ".environments/.sourceignore": "*", ".environments/no.yaml": "", ".environments/cloudbuild.yaml": "",
		"team/app/no.yaml": "", "team/app/root.yaml": "", "team/app/team.yaml": "", "team/app/own.yaml": "", "team/app/x.yaml": "",
	}
	source := sourceOf(Tenant, repo.fs())
	source.Ref.Path = "team/app"
	assert.Equal(t, []string{"team/app/no.yaml", "team/app/x.yaml"}, found(t, source))
	assert.Equal(t, []string{".environments/cloudbuild.yaml", ".environments/no.yaml"}, found(t, sourceOf(Main, repo.fs())))
}

func TestKustomization(t *testing.T) {
	t.Parallel()
	const refused = ": error: kustomize is not run, so the patches of this file would be lost [kustomization]"
	for name, isOne := range map[string]bool{
		"kustomization.yaml": true, "kustomization.yml": true, "Kustomization": true,
		"kustomization.json": false, "my-kustomization.yaml": false, "kustomization": false,
	} {
		for _, path := range []string{".", "app", "app/" + name} {
			repo := tree{"app/" + name: "resources: []\n", "app/x.yaml": ""}
			source := sourceOf(Tenant, repo.fs())
			source.Ref.Path = path
			_, diags := files(source, DefaultOptions().Tenant, false)
			want := []string{}
			if isOne {
				want = append(want, "repo:app/"+name+refused)
			}
			assert.Equal(t, want, shown(diags), "%s below %s", name, path)

			paths, diags := files(source, DefaultOptions().Tenant, true)
			assert.Empty(t, diags, "--ignore-kustomization")
			isRead := !isOne && (isYAML(name) || path == "app/"+name)
			assert.Equal(t, isRead, slices.Contains(paths, "app/"+name), "%s below %s", name, path)
		}
	}
	repo := tree{".sourceignore": "kustomization.yaml", "app/kustomization.yaml": "", "x.yaml": ""}
	assert.Equal(t, []string{"x.yaml"}, found(t, sourceOf(Tenant, repo.fs())))
}

// linkFS is a repository as package gitops gives it: symbolic links and submodules are listed and
// cannot be opened.
type linkFS struct{ fstest.MapFS }

func (l linkFS) Stat(name string) (fs.FileInfo, error) { return l.MapFS.Lstat(name) }

func (l linkFS) Open(name string) (fs.File, error) {
	if info, err := l.MapFS.Lstat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("not followed")}
	}
	return l.MapFS.Open(name)
}

func (l linkFS) ReadFile(name string) ([]byte, error) {
	if _, err := l.Open(name); err != nil {
		return nil, err
	}
	return l.MapFS.ReadFile(name)
}

// SECURITY S4: nothing is read through a link, and a link where something would be read is reported.
func TestS4LinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	repo := linkFS{fstest.MapFS{
		"a.yaml":                 {Data: []byte("kind: Secret\n")},
		"link.yaml":              {Data: []byte("a.yaml"), Mode: fs.ModeSymlink},
		"out.yml":                {Data: []byte("../../../etc/passwd"), Mode: fs.ModeSymlink},
		"folder":                 {Data: []byte("/etc"), Mode: fs.ModeSymlink},
		"LICENSE.md":             {Data: []byte("x"), Mode: fs.ModeSymlink},
		"ignored/link.yaml":      {Data: []byte("../a.yaml"), Mode: fs.ModeSymlink},
		"module":                 {Mode: fs.ModeIrregular},
		"vendor/module":          {Mode: fs.ModeIrregular},
		".hidden/link.yaml":      {Data: []byte("../a.yaml"), Mode: fs.ModeSymlink},
		".environments/dev.yaml": {Data: []byte("../a.yaml"), Mode: fs.ModeSymlink},
		".sourceignore":          {Data: []byte("ignored/\nvendor/module/\n")},
	}}
	for _, role := range []Role{Tenant, Platform, Base} {
		paths, diags := files(sourceOf(role, repo), DefaultOptions().Tenant, false)
		assert.Equal(t, []string{"a.yaml"}, paths)
		assert.Equal(t, []string{
			"repo:folder: error: symbolic links are not followed [symlink]",
			"repo:link.yaml: error: symbolic links are not followed [symlink]",
			"repo:module: warning: submodules are not read [submodule]",
			"repo:out.yml: error: symbolic links are not followed [symlink]",
		}, shown(diags))
	}
	_, diags := files(sourceOf(Main, repo), DefaultOptions().Platform, false)
	assert.Equal(t, []string{"repo:.environments/dev.yaml: error: symbolic links are not followed [symlink]"}, shown(diags))

	for _, path := range []string{"folder", "link.yaml", "LICENSE.md", "module"} {
		source := sourceOf(Tenant, repo)
		source.Ref.Path = path
		objects, diags := parseSource(source)
		assert.Equal(t, []string{"repo:" + path + ": error: not a directory or file: symbolic links and submodules are not followed [unreadable]"}, shown(diags))
		assert.True(t, objects.Incomplete)
	}
}

// SECURITY S4: a path that a repository names cannot leave it.
func TestS4CleanPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": ".", ".": ".", "/": ".", "./": ".", "a": "a", "./a/": "a", "/a": "a", "a//b": "a/b", "a/./b": "a/b", "a/../b": "b",
		"..": ".", "../x": "x", "a/../../x": "x", "/../../etc": "etc", `..\x`: `..\x`,
	} {
		got := cleanPath(in)
		assert.Equal(t, want, got, "%q", in)
		assert.True(t, fs.ValidPath(got))
	}
}

// SECURITY S4: manifests.path of a tenant stays in its repository, in whatever way it is written.
func TestS4TenantPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"..", "../", "../x", "../../x", "a/../..", "a/../../x", "./../x", "/..", "/../x", "//../x", `..\x`, `a\..\..\x`, `\..\x`, `a/..\../x`,
	} {
		_, diags := parseOne(Tenant, tenantWorkload("manifests: {path: "+`'`+path+`'}`))
		assert.Equal(t, []string{fmt.Sprintf("repo:f.yaml:8:23: error: manifests.path %q points outside its repository [tenant-path]", path)}, shown(diags))
	}
	for _, path := range []string{"", ".", "./", "a", "./a/b", "/a", "a/../b", "..a", "...", "a..b/..c", "/..a", "C:/x", "%2e%2e/x"} {
		_, diags := parseOne(Tenant, tenantWorkload("manifests: {path: "+`'`+path+`'}`))
		assert.Empty(t, shown(diags), path)
	}
}

// tenantWorkload is a workload with one target, line 8 of which is given.
func tenantWorkload(line string) string {
	return api + "kind: Workload\nmetadata: {name: cart}\nspec:\n  deploymentTargets:\n  - name: web\n    environment: dev\n    " + line + "\n"
}

func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"LFS":    {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", ": error: the file is a Git LFS pointer, which is not followed [lfs-pointer]"},
		"NUL":    {"a: 1\x00", ":1:5: error: the file contains a NUL byte, so it is not YAML [not-text]"},
		"Latin":  {"a: \xe9", ":1:4: error: the file is not valid UTF-8 [not-text]"},
		"broken": {"a: [", ":1: error: invalid YAML: did not find expected node content [invalid-yaml]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, diags := parse(Platform, tree{"a.yaml": c.content, "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"})
			assert.Equal(t, []string{"repo:a.yaml" + c.want}, shown(diags))
			assert.True(t, objects.Incomplete, "what was in the file is unknown")
			assert.Len(t, objects.ConfigMaps, 1, "the others are read")
		})
	}
	objects, diags := parseOne(Platform, "version https://git-lfs.github.com/specials\n")
	assert.Empty(t, diags, "a text that only begins alike")
	assert.False(t, objects.Incomplete)
}

// faultyFS fails for some paths.
type faultyFS struct {
	fstest.MapFS
	faults map[string]string
}

func (f faultyFS) fault(op, name string) error {
	if f.faults[name] != op {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("broken pack")}
}

func (f faultyFS) ReadFile(name string) ([]byte, error) {
	if err := f.fault("read", name); err != nil {
		return nil, err
	}
	return f.MapFS.ReadFile(name)
}

func (f faultyFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.fault("readdir", name); err != nil {
		return nil, err
	}
	return f.MapFS.ReadDir(name)
}

// Unknown is not empty: what cannot be read is an error at its place.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	repo := tree{"a.yaml": "[]", "sub/b.yaml": "", "sub/.sourceignore": "b.yaml"}.fs()
	for _, c := range []struct {
		path   string
		faults map[string]string
		want   string
	}{
		{".", map[string]string{"a.yaml": "read"}, "repo:a.yaml: error: the file cannot be read: read a.yaml: broken pack [unreadable]"},
		{".", map[string]string{"sub": "readdir"}, "repo:sub: error: the file or directory cannot be read: readdir sub: broken pack [unreadable]"},
		{".", map[string]string{"sub/.sourceignore": "read"}, "repo:sub/.sourceignore: error: the file cannot be read: read sub/.sourceignore: broken pack [unreadable]"},
		{"missing", nil, "repo:missing: error: the file or directory cannot be read: open missing: file does not exist [unreadable]"},
		{"sub/missing", map[string]string{"sub/.sourceignore": "read"}, "repo:sub/.sourceignore: error: the file cannot be read: read sub/.sourceignore: broken pack [unreadable]"},
	} {
		source := sourceOf(Base, faultyFS{repo, c.faults})
		source.Ref.Path = c.path
		objects, diags := parseSource(source)
		assert.Equal(t, []string{c.want}, shown(diags))
		assert.True(t, objects.Incomplete)
	}
}

// A tenant's few kilobytes of patterns and trees must not take hours.
func TestS8PatternsWithManyStars(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{}
	for i := range 2000 {
		repo[fmt.Sprintf("z/%s%d.yaml", strings.Repeat("a", 196), i)] = &fstest.MapFile{}
	}
	var patterns strings.Builder
	for i := range 900 {
		fmt.Fprintf(&patterns, "*%sb%d\n", strings.Repeat("[a-z]*", 40), i)
	}
	repo[ignoreFile] = &fstest.MapFile{Data: []byte(patterns.String())}
	read, diags := files(sourceOf(Tenant, repo), DefaultOptions().Tenant, false)
	assert.Empty(t, read)
	assert.Equal(t, []string{"repo: error: the .sourceignore patterns of repo have too many wildcards for its files [too-many-patterns]"}, shown(diags))
}

func TestS8EndlessFolders(t *testing.T) {
	t.Parallel()
	for depth, want := range map[int]string{
		4:      `repo: error: repo has more than 1000000 files and directories below "." [too-many-files]`,
		10_000: `repo: error: repo has a path that is longer than 4096 bytes [unreadable]`,
	} {
		read, diags := files(sourceOf(Tenant, endlessFolders{depth}), DefaultOptions().Tenant, false)
		assert.Empty(t, read)
		assert.Equal(t, []string{want}, shown(diags))
	}
}

// endlessFolders is a file system in which each directory holds the same hundred directories.
type endlessFolders struct{ depth int }

func (f endlessFolders) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (f endlessFolders) Stat(name string) (fs.FileInfo, error) {
	if path.Base(name) == ignoreFile {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.FileInfo(folderEntry(path.Base(name))), nil
}

func (f endlessFolders) ReadDir(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	if strings.Count(name, "/") >= f.depth {
		return nil, nil
	}
	for i := range 100 {
		entries = append(entries, folderEntry(fmt.Sprintf("%02d", i)))
	}
	return entries, nil
}

type folderEntry string

func (e folderEntry) Name() string               { return string(e) }
func (e folderEntry) IsDir() bool                { return true }
func (e folderEntry) Type() fs.FileMode          { return fs.ModeDir }
func (e folderEntry) Mode() fs.FileMode          { return fs.ModeDir }
func (e folderEntry) Size() int64                { return 0 }
func (e folderEntry) ModTime() (t time.Time)     { return t }
func (e folderEntry) Sys() any                   { return nil }
func (e folderEntry) Info() (fs.FileInfo, error) { return e, nil }
