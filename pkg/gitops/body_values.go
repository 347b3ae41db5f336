package gitops

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

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
	groups := newKeyGroups(b.Change, max(room/leastRow, 1), nil)
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
		before, now := valueCell(c.old), valueCell(c.now)
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
