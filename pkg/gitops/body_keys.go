package gitops

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
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
	// budget is how many bytes may still be parsed.
	budget int
	buffer []byte
}

// maxParsedInAll bounds the work for a change of which nobody could read the keys anyway.
const maxParsedInAll = 48 << 20

func newKeyGroups(change *Change, most int) *keyGroups {
	g := &keyGroups{change: change, most: most, groups: map[keyChange]*keyGroup{}, targets: change.targetsWith(Changed), budget: maxParsedInAll}
	for _, f := range change.Files {
		if target, changed := g.targets[targetFolder(f.Path)]; changed {
			g.addFile(f, target)
		}
	}
	return g
}

func (g *keyGroups) addFile(f FileChange, target int32) {
	g.buffer = f.New.Append(g.buffer[:0])
	changes, known := []keyChange(nil), false
	if g.budget >= 0 && path.Dir(f.Path) == targetFolder(f.Path) {
		g.budget -= len(f.Old) + len(g.buffer)
		changes, known = keyChanges(f.Path, f.Old, g.buffer)
	}
	if !known {
		changes = []keyChange{{key: strings.TrimPrefix(f.Path, targetFolder(f.Path)+"/"), action: f.Action, old: noValue, new: noValue}}
	}
	for _, change := range changes {
		g.add(change, target)
	}
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
		binary.LittleEndian.PutUint32(bytes[:], uint32(t)) //nolint:gosec // an index
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
			cmp.Compare(a.new, b.new), slices.Compare(a.values[:], b.values[:]))
	})
	return all
}

const (
	keysTitle = "### Values\n\n"
	keysHead  = "| Where | Key | Before | Now |\n| --- | --- | --- | --- |\n"
)

// maxOpen is how many rows of a table are shown; more are folded away.
const maxOpen = 25

// keyTable shows which keys change on which targets, with old and new values.
func (b *body) keyTable(room int) string {
	if b.blast.actionCounts[Changed] == 0 {
		return ""
	}
	const leastRow = len("|  | `a` | `b` | `c` |\n")
	groups := newKeyGroups(b.Change, max(room/leastRow, 1))
	total := len(groups.groups) + groups.dropped
	bundles := groups.bundles()
	folded := "\n" + detailsStart(more(total)) + keysHead + detailsEnd
	rows := &sheet{room: room - len(keysTitle+keysHead+folded)}
	shown, open := 0, 0
	var listed []keyBundle
	for _, bundle := range bundles {
		n := b.addBundle(rows, bundle)
		if shown += n; shown <= maxOpen {
			open = rows.Len()
		}
		if n > 0 && b.needsList(bundle) {
			listed = append(listed, bundle)
		}
		if n < len(bundle.changes) {
			break
		}
	}
	if shown < total {
		b.omit(diag.Plural(total-shown, "change") + " of values")
	}
	if shown == 0 {
		return ""
	}
	table := keysTables(rows.String(), open)
	return table + b.bundleLists(listed, room-len(table))
}

// keysTables shows the rows up to a place, and folds the rest away.
func keysTables(rows string, open int) string {
	if open == len(rows) || open == 0 {
		return keysTitle + keysHead + rows
	}
	rest := rows[open:]
	return keysTitle + keysHead + rows[:open] + "\n" + details(more(strings.Count(rest, "\n")), keysHead+rest)
}

// addBundle writes a row for each change; where it is stands in the first. It returns how many fit.
func (b *body) addBundle(s *sheet, bundle keyBundle) int {
	where := b.where(bundle)
	for i, c := range bundle.changes {
		before, now := valueCell(c.old), valueCell(c.new)
		switch {
		case c.old == noValue:
			before, now = "", "_file "+c.action.String()+"_"
		case c.action == Removed:
			now = "**removed**"
		case c.action == Added:
			before = "_none_"
		}
		if !s.add(fmt.Sprintf("| %s | %s | %s | %s |\n", where, tableCell(shorten(c.key, maxName)), before, now)) {
			return i
		}
		where = ""
	}
	return len(bundle.changes)
}

func valueCell(value string) string {
	if strings.TrimSpace(value) == "" {
		return codeSpan(`"` + value + `"`)
	}
	return tableCell(value)
}

// maxWhere is how many targets are named in a row.
const maxWhere = 2

// where says on which targets a bundle is.
func (b *body) where(bundle keyBundle) string {
	n := len(bundle.targets)
	if n <= maxWhere {
		var names []string
		for _, i := range bundle.targets {
			names = append(names, nameCell(b.Change.Targets[i].ClusterType+"/"+b.Change.Targets[i].Target))
		}
		return strings.Join(names, " ")
	}
	all := ""
	if n == b.blast.actionCounts[Changed] {
		all = "all "
	}
	return fmt.Sprintf("%s**%d changed targets** on %s", all, n, diag.Plural(b.clusterTypesOf(bundle), "cluster type"))
}

func (b *body) clusterTypesOf(bundle keyBundle) int {
	n := 0
	for i, target := range bundle.targets {
		if i == 0 || b.Change.Targets[target].ClusterType != b.Change.Targets[bundle.targets[i-1]].ClusterType {
			n++
		}
	}
	return n
}

// needsList tells whether the reader cannot know yet which targets are meant.
func (b *body) needsList(bundle keyBundle) bool {
	return len(bundle.targets) > maxWhere && len(bundle.targets) < b.blast.actionCounts[Changed]
}

// bundleLists folds away the targets of bundles that are only counted in the table.
func (b *body) bundleLists(bundles []keyBundle, room int) string {
	s := &sheet{room: room}
	left := 0
	for _, bundle := range bundles {
		if s.room-s.Len() < len(bundle.targets) || !s.add("\n"+b.bundleList(bundle)) {
			left++
		}
	}
	if left > 0 {
		b.omit("the targets of " + diag.Plural(left, "group") + " of values")
	}
	return s.String()
}

func (b *body) bundleList(bundle keyBundle) string {
	keys := htmlCode(shorten(bundle.changes[0].key, maxName))
	if n := len(bundle.changes) - 1; n > 0 {
		keys += " " + more(n)
	}
	var list strings.Builder
	last := ""
	for _, i := range bundle.targets {
		t := b.Change.Targets[i]
		if t.ClusterType != last {
			if last != "" {
				list.WriteByte('\n')
			}
			list.WriteString("- " + codeSpan(t.ClusterType) + ":")
			last = t.ClusterType
		}
		list.WriteString(" " + codeSpan(t.Target))
	}
	return details(fmt.Sprintf("%s: the %d targets", keys, len(bundle.targets)), list.String()+"\n")
}
