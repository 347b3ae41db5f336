package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
)

// RuleSelfCheck is an output that must not be published: a bug of kalypso.
const RuleSelfCheck = "self-check"

// selfCheck validates an output before it is published, independently of how it was rendered, because an error would
// break clusters. fresh are the changed files of the tree.
func selfCheck(ctx context.Context, tree, fresh *render.Tree) error {
	flaws := checkLayout(tree)
	found := make([]error, len(fresh.Files))
	err := change.EachFile(ctx, fresh, func(i int, content []byte) error {
		if err := checkContent(&fresh.Files[i], content); err != nil {
			found[i] = fmt.Errorf("%s: %w", fresh.Files[i].Path, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(append(flaws, found...)...); err != nil {
		first, _, more := strings.Cut(err.Error(), "\n")
		if more {
			first += fmt.Sprintf(" (and %d more)", strings.Count(err.Error(), "\n"))
		}
		return giterror.New(RuleSelfCheck, "the output failed the last check: %s", giterror.OneLine(first)).
			WithHint("this is a bug in kalypso: please report it with the version and an example")
	}
	return nil
}

// freshFiles returns the files of a tree that a change writes.
func freshFiles(tree *render.Tree, diff *change.Change) *render.Tree {
	fresh := &render.Tree{}
	for _, f := range diff.Files {
		at, found := slices.BinarySearchFunc(tree.Files, f.Path, func(file render.File, path string) int { return cmp.Compare(file.Path, path) })
		if found && f.Action != change.Removed {
			fresh.Files = append(fresh.Files, tree.Files[at])
		}
	}
	return fresh
}

var (
	// layout matches the paths of files of the output.
	layout = regexp.MustCompile(`^(` + dnsLabel + `/(README\.md|` + dnsLabel + `/(reconciler\.yaml|namespace\.yaml|platform-config\.(yaml|sh)))|` +
		regexp.QuoteMeta(render.TrackingFile) + `)$`)
	promotedCommit = regexp.MustCompile(`^[^\s[:cntrl:]]+$`)
)

const dnsLabel = `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`

// checkLayout returns errors for incomplete directories.
func checkLayout(tree *render.Tree) []error {
	var flaws []error
	has := change.WantedFiles{Tree: tree}
	directory := ""
	for i, file := range tree.Files {
		if i > 0 && tree.Files[i-1].Path >= file.Path {
			flaws = append(flaws, fmt.Errorf("%s is duplicated, or out of order", file.Path))
		}
		if strings.Count(file.Path, "/") != 2 || file.Path == render.TrackingFile || path.Dir(file.Path) == directory {
			continue
		}
		directory = path.Dir(file.Path)
		for _, name := range []string{directory + "/" + render.ReconcilerFile, directory + "/" + render.NamespaceFile, path.Dir(directory) + "/" + render.ReadmeFile} {
			if !has.File(name) {
				flaws = append(flaws, fmt.Errorf("%s is missing beside %s", name, file.Path))
			}
		}
	}
	return flaws
}

func checkContent(file *render.File, content []byte) error {
	switch {
	case !layout.MatchString(file.Path):
		return errors.New("it is not a path of an output")
	case !utf8.Valid(content):
		return errors.New("it is not UTF-8")
	case path.Base(file.Path) == render.ReadmeFile && string(content) != render.Readme:
		return errors.New("it is not the kalypso marker line")
	case file.Path == render.TrackingFile && !promotedCommit.Match(content):
		return errors.New("it is not a commit")
	case file.IsYAML():
		return verify.Check(string(content))
	}
	return nil
}
