package change

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"path"
	"slices"
	"strings"
)

// ValueChanges are values that change in the files of the same deployment targets.
type ValueChanges struct {
	// Targets are indexes into Change.Targets, in order.
	Targets []int
	Changes []ValueChange
}

// ValueChange is the change of one value.
type ValueChange struct {
	// Key is the kind of the object and the path of the value: "Kustomization spec.interval". The keys of a ConfigMap's
	// data have no kind or path. If WholeFile is true, it is the name of the file.
	Key string
	// WholeFile is true if the changed values are unknown, or no value changes.
	WholeFile bool
	Action    Action
	// Old and New are the values; of long values, the parts that differ.
	Old, New string
	// sum distinguishes long values.
	sum string
}

// compare orders removed keys first, then changed and added ones.
func (c ValueChange) compare(other ValueChange) int {
	return cmp.Or(cmp.Compare(other.Action, c.Action), cmp.Compare(c.Key, other.Key), cmp.Compare(c.Old, other.Old),
		cmp.Compare(c.New, other.New), cmp.Compare(c.sum, other.sum))
}

// Values returns the changed values of targets that exist before and after: removed values first, then those with the
// most targets. It returns at most that many different changes; dropped is the number of the others, counted for each
// target. Values that differ only by names are left out.
func (c *Change) Values(most int, normalize NormalizeNames) (all []ValueChanges, dropped int) {
	targets := c.targetsWith(Changed)
	differ := newValueDiffer(normalize)
	found := map[ValueChange]*ValueChanges{}
	for _, f := range c.Files {
		target, changed := targets[targetDirectory(f.Path)]
		if !changed {
			continue
		}
		for _, change := range differ.changes(f) {
			on := found[change]
			if on == nil {
				if len(found) >= most {
					dropped++
					continue
				}
				on = &ValueChanges{Changes: []ValueChange{change}}
				found[change] = on
			}
			if n := len(on.Targets); n == 0 || on.Targets[n-1] != target {
				on.Targets = append(on.Targets, target)
			}
		}
	}
	return groupByTargets(found), dropped
}

func groupByTargets(found map[ValueChange]*ValueChanges) []ValueChanges {
	each := slices.SortedFunc(maps.Values(found), func(a, b *ValueChanges) int {
		return cmp.Or(slices.Compare(a.Targets, b.Targets), a.Changes[0].compare(b.Changes[0]))
	})
	var all []ValueChanges
	for _, v := range each {
		if last := len(all) - 1; last >= 0 && slices.Equal(all[last].Targets, v.Targets) {
			all[last].Changes = append(all[last].Changes, v.Changes[0])
			continue
		}
		all = append(all, *v)
	}
	removes := func(v ValueChanges) int { return int(v.Changes[0].Action) / int(Removed) } // 1 or 0
	slices.SortStableFunc(all, func(a, b ValueChanges) int {
		return cmp.Or(cmp.Compare(removes(b), removes(a)), cmp.Compare(len(b.Targets), len(a.Targets)), slices.Compare(a.Targets, b.Targets))
	})
	return all
}

// valueDiffer finds changed values in files. It caches results, because many files have the same change.
type valueDiffer struct {
	// normalize excludes values that differ only by names; nil excludes none.
	normalize NormalizeNames
	// known are changes by changedLines.
	known map[[sha256.Size]byte][]ValueChange
	// budget is the number of bytes that may still be parsed.
	budget int
	now    []byte
}

// maxParsedInAll limits the work for changes with too many values to read.
const maxParsedInAll = 24 << 20

func newValueDiffer(normalize NormalizeNames) *valueDiffer {
	return &valueDiffer{normalize: normalize, known: map[[sha256.Size]byte][]ValueChange{}, budget: maxParsedInAll}
}

// changes returns the changed values of a file, or the file itself.
func (d *valueDiffer) changes(f FileChange) []ValueChange {
	d.now = f.New.Append(d.now[:0])
	changes := d.diff(f.Path, f.Old, d.now)
	if len(changes) == 0 {
		return []ValueChange{{Key: strings.TrimPrefix(f.Path, targetDirectory(f.Path)+"/"), Action: f.Action, WholeFile: true, sum: "file"}}
	}
	if d.normalize == nil {
		return changes
	}
	renamed := d.diff(f.Path, d.normalize(f.Path, f.Old), d.now)
	if len(renamed) == 0 {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c ValueChange) bool {
		return !slices.ContainsFunc(renamed, func(other ValueChange) bool { return other.Key == c.Key })
	})
}

// diff returns the changed values between two texts of a file; nil if they are unknown. Files with the same changed lines
// below the same parents are parsed once, because a change can affect thousands of files.
func (d *valueDiffer) diff(name string, old, now []byte) []ValueChange {
	place := path.Base(name)
	if path.Ext(name) == ".yaml" {
		place += "\x00" + outline(old[:lineStart(old, commonPrefix(old, now))])
	}
	key := changedLines(place, old, now)
	if changes, known := d.known[key]; known {
		return changes
	}
	if d.budget -= len(old) + len(now); d.budget < 0 {
		return nil
	}
	d.known[key] = diffFiles(path.Ext(name), string(old), string(now))
	return d.known[key]
}

// outline returns the lines of a YAML text on which the meaning of the next line depends: those at the margin, and its
// possible parents.
func outline(text []byte) string {
	var kept [][]byte
	indent := func(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }
	for line := range bytes.Lines(text) {
		for len(kept) > 0 && indent(kept[len(kept)-1]) >= max(indent(line), 1) {
			kept = kept[:len(kept)-1]
		}
		kept = append(kept, line)
	}
	return string(bytes.Join(kept, nil))
}
