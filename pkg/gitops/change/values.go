package change

import (
	"cmp"
	"crypto/sha256"
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
	sum [sha256.Size]byte
}

// compare puts what removes a key first, then what changes one.
func (c ValueChange) compare(other ValueChange) int {
	return cmp.Or(cmp.Compare(other.Action, c.Action), cmp.Compare(c.Key, other.Key), cmp.Compare(c.Old, other.Old),
		cmp.Compare(c.New, other.New), slices.Compare(c.sum[:], other.sum[:]), compareBool(c.WholeFile, other.WholeFile))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// Values finds the values that change on targets that are there before and after: those that go away first, then those
// that reach furthest. At most so many different changes are returned; dropped counts the others, on each target anew.
// What is the same once names are alike is left out.
func (c *Change) Values(most int, alike Alike) (all []ValueChanges, dropped int) {
	targets := c.targetsWith(Changed)
	differ := newValueDiffer(alike)
	found := map[ValueChange][]int{}
	for _, f := range c.Files {
		target, changed := targets[targetFolder(f.Path)]
		if !changed {
			continue
		}
		for _, change := range differ.changes(f) {
			on, known := found[change]
			switch n := len(on); {
			case !known && len(found) >= most:
				dropped++
			case n == 0 || on[n-1] != target:
				found[change] = append(on, target)
			}
		}
	}
	return groupByTargets(found), dropped
}

// groupByTargets puts together what changes on the same targets.
func groupByTargets(found map[ValueChange][]int) []ValueChanges {
	changes := make([]ValueChange, 0, len(found))
	for change := range found {
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b ValueChange) int { return cmp.Or(slices.Compare(found[a], found[b]), a.compare(b)) })
	var all []ValueChanges
	for _, change := range changes {
		if last := len(all) - 1; last >= 0 && slices.Equal(all[last].Targets, found[change]) {
			all[last].Changes = append(all[last].Changes, change)
			continue
		}
		all = append(all, ValueChanges{found[change], []ValueChange{change}})
	}
	removes := func(v ValueChanges) bool { return v.Changes[0].Action == Removed }
	slices.SortStableFunc(all, func(a, b ValueChanges) int {
		return cmp.Or(compareBool(removes(b), removes(a)), cmp.Compare(len(b.Targets), len(a.Targets)), slices.Compare(a.Targets, b.Targets))
	})
	return all
}

// valueDiffer finds the values that change in files. It remembers what it found, because files of many targets differ in
// nothing but the names of the target and of its cluster type.
type valueDiffer struct {
	// alike leaves out what differs by names alone; nil leaves out nothing.
	alike Alike
	// known is what changes in files, by their text without those names.
	known map[[sha256.Size]byte][]ValueChange
	// budget is how many bytes may still be parsed.
	budget int
	buffer []byte
}

// maxParsedInAll bounds the work for a change of which nobody could read the values anyway.
const maxParsedInAll = 24 << 20

func newValueDiffer(alike Alike) *valueDiffer {
	return &valueDiffer{alike: alike, known: map[[sha256.Size]byte][]ValueChange{}, budget: maxParsedInAll}
}

// changes returns the values that change in a file, or else the file.
func (d *valueDiffer) changes(f FileChange) []ValueChange {
	d.buffer = f.New.Append(d.buffer[:0])
	old, now := string(f.Old), string(d.buffer)
	changes, known := d.parsed(f.Path, old, now)
	if !known {
		return []ValueChange{{Key: strings.TrimPrefix(f.Path, targetFolder(f.Path)+"/"), Action: f.Action, WholeFile: true}}
	}
	if d.alike == nil {
		return changes
	}
	renamed, known := diffFiles(f.Path, string(d.alike(f.Path, f.Old)), now)
	if !known {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c ValueChange) bool {
		return !slices.ContainsFunc(renamed, func(other ValueChange) bool { return other.Key == c.Key })
	})
}

// parsed is diffFiles within the budget, unless it is known what comes out.
func (d *valueDiffer) parsed(path, old, now string) (changes []ValueChange, known bool) {
	text, ok := differingEntries(old, now)
	if !ok {
		text = old + "\x01" + now
	}
	size := len(text)
	folder := targetFolder(path)
	clusterType, target, _ := strings.Cut(folder, "/")
	text = path[len(folder):] + "\x01" + text
	if !saysHowToRead(target) && !saysHowToRead(clusterType) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, target, "\x00t"), clusterType, "\x00c")
	}
	sum := sha256.Sum256([]byte(text))
	if changes, known = d.known[sum]; known {
		return changes, true
	}
	if d.budget -= size; d.budget < 0 {
		return nil, false
	}
	changes, known = diffFiles(path, old, now)
	named := slices.ContainsFunc(changes, func(c ValueChange) bool { return c.mayHold(target) || c.mayHold(clusterType) })
	if known && !named {
		d.known[sum] = changes
	}
	return changes, known
}

// saysHowToRead reports whether a name is one of the keys that say how a document is read.
func saysHowToRead(name string) bool { return name == "kind" || name == "data" }

// mayHold reports whether a name may be part of the key or of its values.
func (c ValueChange) mayHold(name string) bool {
	return c.sum != [sha256.Size]byte{} || strings.Contains(c.Key, name) || strings.Contains(c.Old, name) || strings.Contains(c.New, name)
}
