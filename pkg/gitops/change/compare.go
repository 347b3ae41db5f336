// Package change compares a rendered tree with what is published: files, targets and the keys of configuration.
package change

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

// Action is the change of a file or deployment target.
type Action int

const (
	// Unchanged is only for targets: a Change has no unchanged files.
	Unchanged Action = iota
	// Added exists only after the change.
	Added
	// Changed exists before and after, with different contents.
	Changed
	// Removed exists only before the change.
	Removed
)

// String returns the word for people and JSON.
func (a Action) String() string {
	return [...]string{"unchanged", "added", "changed", "removed"}[a]
}

// Sign returns the sign that plans use.
func (a Action) Sign() string { return [...]string{"=", "+", "~", "-"}[a] }

// MarshalText returns the name of the action.
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// FileChange is the change of one file.
type FileChange struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	// Old and New are the contents; empty if the file does not exist.
	Old []byte       `json:"-"`
	New content.Text `json:"-"`
}

// TargetChange is the change of a deployment target on a cluster type.
type TargetChange struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"deploymentTarget"`
	Action      Action `json:"action"`
	// Files are the names of the files that change; empty unless Action is Changed.
	Files []string `json:"files,omitempty"`
}

// Change is the difference between the published and the rendered output.
type Change struct {
	// Files are in order of path.
	Files []FileChange
	// Targets are all deployment targets before or after, in order of cluster type and target.
	Targets []TargetChange
	// ClusterTypes is the number of cluster types after the change, RemovedClusterTypes that of those only before.
	ClusterTypes, RemovedClusterTypes int
}

// Empty reports whether nothing changes.
func (c *Change) Empty() bool { return len(c.Files) == 0 }

// Count returns the number of targets with the action.
func (c *Change) Count(action Action) int {
	n := 0
	for _, t := range c.Targets {
		if t.Action == action {
			n++
		}
	}
	return n
}

// CountFiles returns the number of files with the action.
func (c *Change) CountFiles(action Action) int {
	n := 0
	for _, f := range c.Files {
		if f.Action == action {
			n++
		}
	}
	return n
}

// Promotion returns the promoted commit of the base repository, before and after, and whether it changes. Without a
// change both are empty; before is also empty if nothing was promoted yet.
func (c *Change) Promotion() (before, after string, changes bool) {
	i, found := slices.BinarySearchFunc(c.Files, render.TrackingFile, func(f FileChange, path string) int { return cmp.Compare(f.Path, path) })
	if !found {
		return "", "", false
	}
	return strings.TrimSpace(string(c.Files[i].Old)), strings.TrimSpace(c.Files[i].New.String()), true
}

// Idle reports whether no cluster changes: at most the promoted commit differs.
func (c *Change) Idle() bool {
	_, _, promotes := c.Promotion()
	return len(c.Files) == 0 || promotes && len(c.Files) == 1
}

// targetsWith returns the indexes of the targets with an action, by directory.
func (c *Change) targetsWith(action Action) map[string]int {
	indexes := map[string]int{}
	for i, t := range c.Targets {
		if t.Action == action {
			indexes[t.ClusterType+"/"+t.Target] = i
		}
	}
	return indexes
}

// Compare returns the change from the published files to those of the tree. old is nil if nothing is published. Files in
// old that kalypso does not manage are never part of a change.
//
// The contents of changed files are read with one request if old is in a repository.
func Compare(ctx context.Context, old fs.FS, tree *render.Tree) (*Change, error) {
	before, err := ReadLayout(old)
	if err != nil {
		return nil, err
	}
	change := &Change{}
	if change.Files, err = before.compareFiles(ctx, tree); err != nil {
		return nil, err
	}
	gone, stale := before.unwanted(tree)
	if len(change.Files) > 0 || len(gone) > 0 {
		gone = append(gone, stale...) // stale files alone are no change
	}
	for _, name := range gone {
		change.Files = append(change.Files, FileChange{Path: name, Action: Removed})
	}
	if err := before.readOld(ctx, change.Files); err != nil {
		return nil, err
	}
	slices.SortFunc(change.Files, func(a, b FileChange) int { return cmp.Compare(a.Path, b.Path) })
	change.addTargets(before.Targets, tree)
	return change, nil
}

// CompareTargets returns which targets of the published tree old are added and removed in tree. It reads no files, so
// all other targets count as unchanged. The error is that of listing old.
func CompareTargets(old fs.FS, tree *render.Tree) (*Change, error) {
	before, err := ReadLayout(old)
	if err != nil {
		return nil, err
	}
	change := &Change{}
	change.addTargets(before.Targets, tree)
	return change, nil
}

// addTargets sums the files up by target. before are the directories of the targets that are published.
func (c *Change) addTargets(before map[string]bool, tree *render.Tree) {
	files := map[string][]FileChange{}
	for _, f := range c.Files {
		if directory := targetDirectory(f.Path); before[directory] {
			files[directory] = append(files[directory], f)
		}
	}
	clusterTypes, after := map[string]bool{}, map[string]bool{} // clusterTypes: true if it exists after the change
	last := ""                                                  // the files of a target are adjacent
	for _, file := range tree.Files {
		clusterType, _, _ := strings.Cut(file.Path, "/")
		if strings.HasSuffix(file.Path, "/"+render.ReadmeFile) {
			clusterTypes[clusterType] = true
		}
		if directory := targetDirectory(file.Path); file.Assignment != nil && directory != last {
			after[directory], last = true, directory
		}
	}
	for directory := range before {
		clusterTypes[path.Dir(directory)] = clusterTypes[path.Dir(directory)] || tree.Partial
		switch {
		case after[directory]:
		case tree.Partial:
			c.Targets = append(c.Targets, targetChange(directory, Unchanged, nil))
		default:
			c.Targets = append(c.Targets, targetChange(directory, Removed, nil))
		}
	}
	for directory := range after {
		switch changed := files[directory]; {
		case !before[directory]:
			c.Targets = append(c.Targets, targetChange(directory, Added, nil))
		case len(changed) > 0:
			c.Targets = append(c.Targets, targetChange(directory, Changed, changed))
		default:
			c.Targets = append(c.Targets, targetChange(directory, Unchanged, nil))
		}
	}
	for _, left := range clusterTypes {
		if left {
			c.ClusterTypes++
		} else {
			c.RemovedClusterTypes++
		}
	}
	slices.SortFunc(c.Targets, func(a, b TargetChange) int {
		return cmp.Or(cmp.Compare(a.ClusterType, b.ClusterType), cmp.Compare(a.Target, b.Target))
	})
}

func targetChange(directory string, action Action, files []FileChange) TargetChange {
	t := TargetChange{ClusterType: path.Dir(directory), Target: path.Base(directory), Action: action}
	for _, f := range files {
		t.Files = append(t.Files, strings.TrimPrefix(f.Path, directory+"/"))
	}
	return t
}

// Plan is the number of assignments by action.
type Plan struct {
	// Targets, Assignments and ClusterTypes are those after the change. An assignment is a target on a cluster type.
	Assignments  int `json:"targets"`
	Targets      int `json:"deploymentTargets"`
	ClusterTypes int `json:"clusterTypes"`
	Added        int `json:"added"`
	Changed      int `json:"changed"`
	Removed      int `json:"removed"`
	Unchanged    int `json:"unchanged"`
}

// Plan counts the assignments of a change.
func (c *Change) Plan() Plan {
	names := map[string]bool{}
	for _, t := range c.Targets {
		if t.Action != Removed {
			names[t.Target] = true
		}
	}
	return Plan{
		Targets: len(names), Assignments: len(c.Targets) - c.Count(Removed), ClusterTypes: c.ClusterTypes,
		Added: c.Count(Added), Changed: c.Count(Changed), Removed: c.Count(Removed), Unchanged: c.Count(Unchanged),
	}
}

// Counts are the numbers of targets, cluster types and assignments in one line, the same wherever they are shown.
func Counts(targets, clusterTypes, assignments int) string {
	return fmt.Sprintf("%s on %s, %s", diag.Plural(targets, "target"), diag.Plural(clusterTypes, "cluster type"), diag.Plural(assignments, "assignment"))
}

// String is the plan in one line, the same wherever it is shown.
func (p Plan) String() string {
	return fmt.Sprintf("%s: +%d ~%d -%d", Counts(p.Targets, p.ClusterTypes, p.Assignments), p.Added, p.Changed, p.Removed)
}

// ParsePlan reads the line that String returns.
func ParsePlan(line string) (p Plan, ok bool) {
	var targets, types, assignments string
	_, err := fmt.Sscanf(line, "%d %s on %d cluster %s %d %s +%d ~%d -%d", &p.Targets, &targets, &p.ClusterTypes, &types,
		&p.Assignments, &assignments, &p.Added, &p.Changed, &p.Removed)
	p.Unchanged = p.Assignments - p.Added - p.Changed
	if err != nil || p.Unchanged < 0 || p.String() != line {
		return Plan{}, false
	}
	return p, true
}
