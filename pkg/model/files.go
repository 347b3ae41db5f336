package model

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	// The rules of .gitignore, as Flux applies them: Flux uses this package too. It is the only
	// part of go-git that the pure stages may see.
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	ignoreFile = ".sourceignore"
	// EnvironmentsFolder holds the Environments of a control plane.
	EnvironmentsFolder = ".environments"
)

// fluxExclusions are the files that Flux leaves out of every source unless .sourceignore brings
// them back. https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions
var fluxExclusions = []string{
	".git/", ".gitignore", ".gitmodules", ".gitattributes",
	"*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip",
	".github/", ".circleci/", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml",
	"cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml",
	"**/.goreleaser.yml", "**/.sops.yaml", "**/.flux.yaml",
}

// walker finds the files of a source that are read.
type walker struct {
	source              *Source
	limits              Limits
	ignoreKustomization bool
	// ignored is false below EnvironmentsFolder, which .sourceignore usually excludes.
	ignored  bool
	patterns []gitignore.Pattern
	diags    *diag.List
	found    []string
}

// files returns the paths of the YAML files below the source's path, in order.
func files(source *Source, limits Limits, ignoreKustomization bool) ([]string, diag.List) {
	var diags diag.List
	w := &walker{
		source: source, limits: limits, ignoreKustomization: ignoreKustomization,
		ignored: source.Ref.Role != Main, diags: &diags,
	}
	root := cleanPath(source.Ref.Path)
	if source.Ref.Role == Main {
		root = path.Join(root, EnvironmentsFolder)
		if _, err := fs.Stat(source.FS, root); errors.Is(err, fs.ErrNotExist) {
			return nil, diags
		}
	}
	if info, err := fs.Stat(source.FS, root); err == nil && info.Mode().IsRegular() {
		return []string{root}, diags
	}
	w.inherit(root)
	if err := fs.WalkDir(source.FS, root, w.visit); err != nil && !errors.Is(err, fs.SkipAll) {
		diags.Error("unreadable", diag.Place{File: source.File(root)}, "the folder cannot be read: "+err.Error())
	}
	return w.found, diags
}

// cleanPath turns a path as people write it ("./workload/") into what fs.FS takes.
func cleanPath(p string) string {
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	if p == "" {
		return "."
	}
	return p
}

// inherit reads the .sourceignore files between the root of the repository and the folder read.
func (w *walker) inherit(root string) {
	for _, pattern := range fluxExclusions {
		w.patterns = append(w.patterns, gitignore.ParsePattern(pattern, nil))
	}
	folder := "."
	for _, name := range segments(root) {
		w.readIgnoreFile(folder)
		folder = path.Join(folder, name)
	}
}

func segments(p string) []string {
	if p == "." {
		return nil
	}
	return strings.Split(p, "/")
}

func (w *walker) readIgnoreFile(folder string) {
	content, err := fs.ReadFile(w.source.FS, path.Join(folder, ignoreFile))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
			w.patterns = append(w.patterns, gitignore.ParsePattern(line, segments(folder)))
		}
	}
}

// excluded reports whether .sourceignore excludes a file: the last pattern that matches decides.
func (w *walker) excluded(p string, isDir bool) bool {
	if !w.ignored {
		return false
	}
	return gitignore.NewMatcher(w.patterns).Match(segments(p), isDir)
}

func (w *walker) visit(p string, entry fs.DirEntry, err error) error {
	if err != nil {
		w.diags.Error("unreadable", w.at(p), "the file or folder cannot be read: "+err.Error())
		return nil
	}
	if entry.IsDir() {
		if strings.HasPrefix(entry.Name(), ".") && p != cleanPath(w.source.Ref.Path) && entry.Name() != EnvironmentsFolder ||
			entry.Name() == EnvironmentsFolder && w.source.Ref.Role != Main {
			return fs.SkipDir
		}
		w.readIgnoreFile(p)
		return nil
	}
	if w.excluded(p, false) {
		return nil
	}
	if !entry.Type().IsRegular() {
		w.notFollowed(p, entry)
		return nil
	}
	return w.file(p)
}

func (w *walker) at(p string) diag.Place { return diag.Place{File: w.source.File(p)} }

// notFollowed reports a symbolic link or submodule in a place that is read: what it stands for is
// not known, and unknown is not empty.
func (w *walker) notFollowed(p string, entry fs.DirEntry) {
	switch {
	case entry.Type()&fs.ModeSymlink == 0:
		w.diags.Warning("submodule", w.at(p), "submodules are not read",
			diag.Hint("exclude it with .sourceignore if that is meant"))
	case isYAML(p) || path.Ext(p) == "":
		w.diags.Error("symlink", w.at(p), "symbolic links are not followed",
			diag.Hint("put a copy of the file there, or exclude the link with .sourceignore"))
	}
}

func isYAML(p string) bool {
	ext := path.Ext(p)
	return ext == ".yaml" || ext == ".yml"
}

func (w *walker) file(p string) error {
	switch path.Base(p) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		if !w.ignoreKustomization {
			w.diags.Error("kustomization", w.at(p), "kustomize is not run, so the patches of this file would be lost",
				diag.Hint("exclude it with .sourceignore, or give --ignore-kustomization if that is meant"))
		}
		return nil
	}
	if !isYAML(p) {
		return nil
	}
	if w.limits.Files > 0 && len(w.found) >= w.limits.Files {
		w.diags.Error("too-many-files", w.source.subjectPlace(),
			fmt.Sprintf("%s holds more than %d YAML files below %q", w.source.Repo, w.limits.Files, w.source.Ref.Path))
		return fs.SkipAll
	}
	w.found = append(w.found, p)
	return nil
}

// subjectPlace is where to point if a source as a whole is at fault: the value that asked for it.
func (s *Source) subjectPlace() diag.Place {
	if s.Ref.At.IsZero() {
		return diag.Place{File: s.File("")}
	}
	return s.Ref.At
}

const lfsPointer = "version https://git-lfs.github.com/spec/"

// readFile returns the content of a file within limits; ok is false if it cannot be used.
func readFile(source *Source, p string, limits Limits, diags *diag.List) (content []byte, ok bool) {
	at := diag.Place{File: source.File(p)}
	info, err := fs.Stat(source.FS, p)
	if err == nil && limits.FileBytes > 0 && info.Size() > limits.FileBytes {
		diags.Error("file-too-large", at, fmt.Sprintf("the file is %d bytes large, %d at most are allowed", info.Size(), limits.FileBytes))
		return nil, false
	}
	content, err = fs.ReadFile(source.FS, p)
	if err != nil {
		diags.Error("unreadable", at, "the file cannot be read: "+err.Error())
		return nil, false
	}
	if strings.HasPrefix(string(content[:min(len(content), len(lfsPointer))]), lfsPointer) {
		diags.Error("lfs-pointer", at, "the file is a Git LFS pointer; what it points to is not read",
			diag.Hint("commit the file itself, without LFS"))
		return nil, false
	}
	return content, true
}
