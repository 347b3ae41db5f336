package gitops

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
)

// keyGroup is one change of a key on all targets where it is the same.
type keyGroup struct {
	keyChange
	// targets are indexes into the targets of the change.
	targets []int32
}

// keyGroups finds the changes of keys on targets that change, each once.
type keyGroups struct {
	change *Change
	// most is how many groups are kept.
	most    int
	groups  map[keyChange]*keyGroup
	targets map[string]int32
	// dropped counts the changes that belong to none of the groups that are kept.
	dropped int
	// known is what files change whose text is the same but for names.
	known map[[sha256.Size]byte][]keyChange
	// budget is how many bytes may still be parsed.
	budget int
	// alike leaves out what differs by names alone; nil leaves out nothing.
	alike  Alike
	buffer []byte
}

// maxParsedInAll bounds the work for a change of which nobody could read the keys anyway.
const maxParsedInAll = 6 << 20

func newKeyGroups(change *Change, most int, alike Alike) *keyGroups {
	g := &keyGroups{
		alike:  alike,
		change: change, most: most, groups: map[keyChange]*keyGroup{}, targets: change.targetsWith(Changed),
		known: map[[sha256.Size]byte][]keyChange{}, budget: maxParsedInAll,
	}
	for _, f := range change.Files {
		if target, changed := g.targets[targetFolder(f.Path)]; changed {
			g.addFile(f, target)
		}
	}
	return g
}

func (g *keyGroups) addFile(f FileChange, target int32) {
	g.buffer = f.New.Append(g.buffer[:0])
	changes, known := entryChanges(f.Path, f.Old, g.buffer)
	if !known {
		changes, known = g.parsed(f, g.buffer)
	}
	if known && g.alike != nil {
		changes = g.unlike(f, changes)
	}
	if !known {
		name := strings.TrimPrefix(f.Path, targetFolder(f.Path)+"/")
		changes = []keyChange{{key: name, action: f.Action, old: noValue, now: noValue}}
	}
	for _, change := range changes {
		g.add(change, target)
	}
}

// unlike leaves out the changes of keys whose values differ by names alone.
func (g *keyGroups) unlike(f FileChange, changes []keyChange) []keyChange {
	renamed, known := keyChanges(f.Path, g.alike(f.Path, f.Old), g.buffer)
	if !known {
		return changes
	}
	differs := map[string]bool{}
	for _, c := range renamed {
		differs[c.key] = true
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c keyChange) bool { return !differs[c.key] })
}

// parsed parses a file, unless it knows what comes out: files of many targets differ in nothing but the
// names of the target and of its cluster type.
func (g *keyGroups) parsed(f FileChange, now []byte) (changes []keyChange, known bool) {
	folder := targetFolder(f.Path)
	clusterType, target, _ := strings.Cut(folder, "/")
	nameless := f.Path[len(folder):] + "\x01" + string(f.Old) + "\x01" + string(now)
	if !means(target) && !means(clusterType) {
		nameless = strings.ReplaceAll(strings.ReplaceAll(nameless, target, "\x00t"), clusterType, "\x00c")
	}
	sum := sha256.Sum256([]byte(nameless))
	if changes, known = g.known[sum]; known {
		return changes, true
	}
	if g.budget <= 0 {
		return nil, false
	}
	g.budget -= len(f.Old) + len(now)
	changes, known = parsedKeyChanges(f.Path, f.Old, now)
	named := slices.ContainsFunc(changes, func(c keyChange) bool { return c.holds(target) || c.holds(clusterType) })
	if known && !named {
		g.known[sum] = changes
	}
	return changes, known
}

// means reports whether a name is one of the keys that say how a document is read.
func means(name string) bool { return name == "kind" || name == "data" }

// holds reports whether a name may be part of the key or of its values.
func (c keyChange) holds(name string) bool {
	return c.values != [sha256.Size]byte{} || strings.Contains(c.key, name) || strings.Contains(c.old, name) || strings.Contains(c.now, name)
}

// noValue stands for both values where a file changes as a whole. No value is shown like this.
const noValue = "\x00"

func (g *keyGroups) add(change keyChange, target int32) {
	group := g.groups[change]
	if group == nil {
		if len(g.groups) >= g.most {
			g.dropped++
			return
		}
		group = &keyGroup{keyChange: change}
		g.groups[change] = group
	}
	if n := len(group.targets); n == 0 || group.targets[n-1] != target {
		group.targets = append(group.targets, target)
	}
}

// keyBundle is what changes on the very same targets.
type keyBundle struct {
	targets []int32
	changes []keyChange
}

// bundles puts together what changes on the same targets. What removes something comes first, then what
// reaches furthest.
func (g *keyGroups) bundles() []keyBundle {
	seed := maphash.MakeSeed()
	byTargets := map[uint64][]int{}
	var all []keyBundle
	for _, group := range sortedGroups(g.groups) {
		sum := hashOf(seed, group.targets)
		at := slices.IndexFunc(byTargets[sum], func(i int) bool { return slices.Equal(all[i].targets, group.targets) })
		if at < 0 {
			byTargets[sum] = append(byTargets[sum], len(all))
			all = append(all, keyBundle{group.targets, []keyChange{group.keyChange}})
			continue
		}
		bundle := &all[byTargets[sum][at]]
		bundle.changes = append(bundle.changes, group.keyChange)
	}
	slices.SortStableFunc(all, func(a, b keyBundle) int {
		return cmp.Or(compareBool(b.removes(), a.removes()), cmp.Compare(len(b.targets), len(a.targets)), slices.Compare(a.targets, b.targets))
	})
	return all
}

// removes tells whether a key goes away; they come first.
func (b keyBundle) removes() bool { return b.changes[0].action == Removed }

func hashOf(seed maphash.Seed, targets []int32) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var bytes [4]byte
	for _, t := range targets {
		binary.LittleEndian.PutUint32(bytes[:], uint32(t)) // an index
		_, _ = h.Write(bytes[:])
	}
	return h.Sum64()
}

// sortedGroups puts what removes a key first, then what changes one.
func sortedGroups(groups map[keyChange]*keyGroup) []*keyGroup {
	all := make([]*keyGroup, 0, len(groups))
	for _, group := range groups {
		all = append(all, group)
	}
	slices.SortFunc(all, func(a, b *keyGroup) int {
		return cmp.Or(cmp.Compare(b.action, a.action), cmp.Compare(a.key, b.key), cmp.Compare(a.old, b.old),
			cmp.Compare(a.now, b.now), slices.Compare(a.values[:], b.values[:]))
	})
	return all
}
