package change

import (
	"cmp"
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

// ValueChange is what happens to one value.
type ValueChange struct {
	// Key is the path of the value in its object, after the kind of the object: "Kustomization spec.interval". The
	// keys of a ConfigMap's data stand alone. Of a file that changes as a whole it is the name.
	Key string
	// WholeFile says that it is not known which values of the file change, or that none does.
	WholeFile bool
	Action    Action
	// Old and New are the part that differs if the values are long.
	Old, New string
	// sum tells long values apart.
	sum string
}

// compare puts what removes a key first, then what changes one.
func (c ValueChange) compare(other ValueChange) int {
	return cmp.Or(cmp.Compare(other.Action, c.Action), cmp.Compare(c.Key, other.Key), cmp.Compare(c.Old, other.Old),
		cmp.Compare(c.New, other.New), cmp.Compare(c.sum, other.sum))
}

// Values finds the values that change on targets that are there before and after: those that go away first, then those
// that reach furthest. At most so many different changes are returned; dropped counts the others, on each target anew.
// What is the same once names are alike is left out.
func (c *Change) Values(most int, alike Alike) (all []ValueChanges, dropped int) {
	targets := c.targetsWith(Changed)
	differ := newValueDiffer(alike)
	found := map[ValueChange]*ValueChanges{}
	for _, f := range c.Files {
		target, changed := targets[targetFolder(f.Path)]
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

// groupByTargets puts together what changes on the same targets.
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

// valueDiffer finds the values that change in files. It remembers what it found, because many files change alike.
type valueDiffer struct {
	// alike leaves out what differs by names alone; nil leaves out nothing.
	alike Alike
	// known is what changes in files, by their extension and what differs in them.
	known map[[3]string][]ValueChange
	// budget is how many bytes may still be parsed.
	budget  int
	reducer reducer
	now     []byte
}

// maxParsedInAll bounds the work for a change of which nobody could read the values anyway.
const maxParsedInAll = 24 << 20

func newValueDiffer(alike Alike) *valueDiffer {
	return &valueDiffer{alike: alike, known: map[[3]string][]ValueChange{}, budget: maxParsedInAll}
}

// changes returns the values that change in a file, or else the file.
func (d *valueDiffer) changes(f FileChange) []ValueChange {
	d.now = f.New.Append(d.now[:0])
	changes := d.diff(f.Path, f.Old, d.now)
	if len(changes) == 0 {
		return []ValueChange{{Key: strings.TrimPrefix(f.Path, targetFolder(f.Path)+"/"), Action: f.Action, WholeFile: true, sum: "file"}}
	}
	if d.alike == nil {
		return changes
	}
	renamed := d.diff(f.Path, d.alike(f.Path, f.Old), d.now)
	if len(renamed) == 0 {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c ValueChange) bool {
		return !slices.ContainsFunc(renamed, func(other ValueChange) bool { return other.Key == c.Key })
	})
}

// diff returns the values that change between two texts of a file; none if all that is known is that it changes.
func (d *valueDiffer) diff(name string, old, now []byte) []ValueChange {
	extension := path.Ext(name)
	if extension == ".yaml" {
		old, now = d.reducer.differing(old, now)
	}
	changes, known := d.known[[3]string{extension, string(old), string(now)}]
	if known {
		return changes
	}
	if d.budget -= len(old) + len(now); d.budget < 0 {
		return nil
	}
	text := [3]string{extension, string(old), string(now)}
	changes = diffFiles(extension, text[1], text[2])
	d.known[text] = changes
	return changes
}
