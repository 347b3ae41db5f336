package model

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	// The rules of .gitignore, as Flux applies them: Flux uses a copy of this package. It is the only
	// part of go-git that the pure stages may see.
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

const (
	ignoreFile = ".sourceignore"
	// EnvironmentsDirectory holds the Environments of a control plane.
	EnvironmentsDirectory = ".environments"
)

// fluxExclusions are the files that Flux excludes from every source unless .sourceignore includes
// them. https://fluxcd.io/flux/components/source/gitrepositories/#default-exclusions
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
	// root is the path that is read.
	root string
	// ignored is false below EnvironmentsDirectory, which .sourceignore usually excludes.
	ignored bool
	// patterns are those in force, general ones first. scopes are the directories that set them.
	patterns []gitignore.Pattern
	scopes   []scope
	// weight estimates the cost of matching one byte of a path against all patterns.
	weight int
	// visited is the number of files and directories so far, and matching the cost of matching them.
	visited, matching int
	diags             *diag.List
	found             []string
}

// scope is a directory with an ignore file, and the number and weight of the patterns that were in force outside it.
type scope struct {
	directory              string
	outside, outsideWeight int
}

// files returns the paths of the YAML files below the source's path, in order.
func files(source *Source, limits Limits, ignoreKustomization bool) ([]string, diag.List) {
	var diags diag.List
	w := &walker{
		source: source, limits: limits, ignoreKustomization: ignoreKustomization,
		root: cleanPath(source.Ref.Path), ignored: source.Ref.Role != Main, diags: &diags,
	}
	if source.Ref.Role == Main {
		w.root = path.Join(w.root, EnvironmentsDirectory)
	}
	info, err := fs.Stat(source.FS, w.root)
	switch {
	case source.Ref.Role == Main && errors.Is(err, fs.ErrNotExist):
		return nil, diags
	case err == nil && info.Mode().IsRegular():
		if w.kustomization(w.root) {
			return nil, diags
		}
		return []string{w.root}, diags
	case err == nil && !info.IsDir():
		diags.Error("unreadable", w.at(w.root), "not a directory or file: symbolic links and submodules are not followed")
		return nil, diags
	}
	if !w.inherit() {
		return nil, diags
	}
	if err := fs.WalkDir(source.FS, w.root, w.visit); err != nil && !errors.Is(err, fs.SkipAll) {
		diags.Error("unreadable", w.at(w.root), "the directory cannot be read: "+err.Error())
	}
	return w.found, diags
}

// cleanPath returns a path such as "./workload/" in the form of fs.FS.
func cleanPath(p string) string {
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	if p == "" {
		return "."
	}
	return p
}

// inherit reads the .sourceignore files between the root of the repository and the directory read.
func (w *walker) inherit() bool {
	for _, pattern := range fluxExclusions {
		w.patterns = append(w.patterns, gitignore.ParsePattern(pattern, nil))
	}
	directory := "."
	for _, name := range segments(w.root) {
		if !w.readIgnoreFile(directory) {
			return false
		}
		directory = path.Join(directory, name)
	}
	return true
}

// Ignores reports whether .sourceignore keeps a file from being read that is, or would be, right in the directory of a source.
func Ignores(source *Source, name string) bool {
	w := &walker{
		source: source, limits: DefaultOptions().limits(source.Ref.Role), root: cleanPath(source.Ref.Path),
		ignored: source.Ref.Role != Main, diags: &diag.List{},
	}
	return !w.inherit() || !w.readIgnoreFile(w.root) || w.excluded(path.Join(w.root, name), false)
}

func segments(p string) []string {
	if p == "." {
		return nil
	}
	return strings.Split(p, "/")
}

// Bounds on what is matched against every file: a real .sourceignore has a few dozen short lines.
const (
	mostPatterns   = 1000
	longestPattern = 250
)

// Bounds on walking through a source. A few small trees and patterns can take hours: trees contain the same tree many
// times, and a pattern with many stars is matched in as many ways.
const (
	mostVisited  = 1_000_000
	longestPath  = 4096            // as Linux has it
	mostMatching = 200_000_000_000 // a second or two; 100,000 files and 100 patterns with two stars take a tenth of it
)

// readIgnoreFile adds the patterns of a directory. It returns false if the patterns cannot be known, so
// that nothing should be read.
func (w *walker) readIgnoreFile(directory string) bool {
	p := path.Join(directory, ignoreFile)
	if _, err := fs.Stat(w.source.FS, p); !w.ignored || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	content, ok := readFile(w.source, p, w.limits, w.diags)
	if !ok {
		return false
	}
	w.scopes = append(w.scopes, scope{directory, len(w.patterns), w.weight})
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		if len(w.patterns) >= mostPatterns || len(line) > longestPattern {
			w.diags.Error("too-many-patterns", diag.Place{File: w.source.File(p), Line: number},
				fmt.Sprintf("more than %d patterns apply here, or this pattern is longer than %d bytes", mostPatterns, longestPattern))
			return false
		}
		w.patterns = append(w.patterns, gitignore.ParsePattern(line, segments(directory)))
		w.weight += len(line) * strings.Count(line, "*")
	}
	return true
}

// leave drops the patterns of the directories that p is not in.
func (w *walker) leave(p string) {
	for i := len(w.scopes) - 1; i >= 0; i-- {
		directory := w.scopes[i].directory
		if directory == "." || p == directory || strings.HasPrefix(p, directory+"/") {
			return
		}
		w.patterns, w.weight, w.scopes = w.patterns[:w.scopes[i].outside], w.scopes[i].outsideWeight, w.scopes[:i]
	}
}

// excluded reports whether .sourceignore excludes a file: the last pattern that matches decides.
func (w *walker) excluded(p string, isDir bool) bool {
	if !w.ignored {
		return false
	}
	w.leave(p)
	w.matching += w.weight * len(p)
	return gitignore.NewMatcher(w.patterns).Match(segments(p), isDir)
}

func (w *walker) visit(p string, entry fs.DirEntry, err error) error {
	if err != nil {
		w.diags.Error("unreadable", w.at(p), "the file or directory cannot be read: "+err.Error())
		return nil
	}
	if w.visited++; w.visited > mostVisited {
		return w.stop("too-many-files", fmt.Sprintf("%s has more than %d files and directories below %q", w.source.Repo, mostVisited, w.source.Ref.Path))
	}
	if len(p) > longestPath {
		return w.stop("unreadable", fmt.Sprintf("%s has a path that is longer than %d bytes", w.source.Repo, longestPath))
	}
	if w.matching > mostMatching {
		return w.stop("too-many-patterns", fmt.Sprintf("the .sourceignore patterns of %s have too many wildcards for its files", w.source.Repo))
	}
	if entry.IsDir() {
		return w.directory(p, entry.Name())
	}
	isLink, isSubmodule := entry.Type()&fs.ModeSymlink != 0, entry.Type()&fs.ModeIrregular != 0
	matters := isYAML(p) || isKustomization(p) || isSubmodule || isLink && path.Ext(p) == ""
	if !matters || w.excluded(p, isSubmodule) {
		return nil
	}
	if !entry.Type().IsRegular() {
		w.notFollowed(p, isLink)
		return nil
	}
	return w.file(p)
}

// stop reports why the source is not read.
func (w *walker) stop(rule, message string) error {
	w.diags.Error(rule, w.source.subjectPlace(), message)
	w.found = nil
	return fs.SkipAll
}

// directory reports whether to read a directory, and reads its patterns.
func (w *walker) directory(p, name string) error {
	isEnvironments := name == EnvironmentsDirectory && w.source.Ref.Role == Main
	if p != w.root && strings.HasPrefix(name, ".") && !isEnvironments {
		return fs.SkipDir
	}
	w.leave(p)
	if !w.readIgnoreFile(p) {
		w.found = nil
		return fs.SkipAll
	}
	return nil
}

func (w *walker) at(p string) diag.Place { return diag.Place{File: w.source.File(p)} }

// notFollowed reports a symbolic link or submodule in a place that is read: its target is unknown, and must
// not be treated as empty.
func (w *walker) notFollowed(p string, isLink bool) {
	if strings.ContainsRune(p, utf8.RuneError) { // io/fs has no way to name it
		w.diags.Error("unreadable", w.at(p), "the file name is not valid UTF-8", diag.Hint("rename it"))
		return
	}
	if !isLink {
		w.diags.Warning("submodule", w.at(p), "submodules are not read",
			diag.Hint("exclude it with .sourceignore if this is intended"))
		return
	}
	w.diags.Error("symlink", w.at(p), "symbolic links are not followed",
		diag.Hint("replace the link with a copy of the file, or exclude it with .sourceignore"))
}

func isYAML(p string) bool {
	ext := path.Ext(p)
	return ext == ".yaml" || ext == ".yml"
}

func isKustomization(p string) bool {
	switch path.Base(p) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	}
	return false
}

// kustomization reports whether a file is a kustomization, which is an error unless they are ignored.
func (w *walker) kustomization(p string) bool {
	if !isKustomization(p) {
		return false
	}
	if !w.ignoreKustomization {
		w.diags.Error("kustomization", w.at(p), "kustomize is not run, so the patches of this file would be lost",
			diag.Hint("exclude it with .sourceignore, or use --ignore-kustomization if this is intended"))
	}
	return true
}

func (w *walker) file(p string) error {
	if w.kustomization(p) {
		return nil
	}
	if w.limits.Files > 0 && len(w.found) >= w.limits.Files {
		w.diags.Error("too-many-files", w.source.subjectPlace(),
			fmt.Sprintf("%s has more than %d YAML files below %q", w.source.Repo, w.limits.Files, w.source.Ref.Path))
		return fs.SkipAll
	}
	w.found = append(w.found, p)
	return nil
}

// ErrTooLarge is the error, possibly wrapped, of reading a file that is too large to be loaded and whose size is
// unknown.
var ErrTooLarge = errors.New("the file is too large")

const lfsPointer = "version https://git-lfs.github.com/spec/"

// readFile returns the content of a file within limits; ok is false if it cannot be used.
func readFile(source *Source, p string, limits Limits, diags *diag.List) (content []byte, ok bool) {
	at := diag.Place{File: source.File(p)}
	info, err := fs.Stat(source.FS, p)
	if err == nil && limits.FileBytes > 0 && info.Size() > limits.FileBytes {
		diags.Error("file-too-large", at, fmt.Sprintf("the file has %d bytes, more than %d", info.Size(), limits.FileBytes))
		return nil, false
	}
	content, err = fs.ReadFile(source.FS, p)
	if errors.Is(err, ErrTooLarge) && limits.FileBytes > 0 {
		diags.Error("file-too-large", at, fmt.Sprintf("the file has more than %d bytes", limits.FileBytes))
		return nil, false
	}
	if err != nil {
		diags.Error("unreadable", at, "the file cannot be read: "+err.Error())
		return nil, false
	}
	if strings.HasPrefix(string(content[:min(len(content), len(lfsPointer))]), lfsPointer) {
		diags.Error("lfs-pointer", at, "the file is a Git LFS pointer, which is not followed",
			diag.Hint("commit the file itself, without LFS"))
		return nil, false
	}
	return content, true
}
