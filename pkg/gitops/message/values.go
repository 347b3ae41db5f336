package message

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

func (b *body) keyTable(budget int) string {
	if b.summary.actionCounts[change.Changed] == 0 {
		return ""
	}
	const title, head = "### Values\n\n", "| Where | Key | Before | Now |\n| --- | --- | --- | --- |\n"
	const leastRow = len("|  | `a` | `b` | `c` |\n")
	groups, dropped := b.Change.Values(max(budget/leastRow, 1), nil)
	type row struct {
		where string
		change.ValueChange
	}
	var all []row
	for _, group := range groups {
		where := b.where(group.Targets) // only in the first row
		for _, c := range group.Changes {
			all = append(all, row{where, c})
			where = ""
		}
	}
	rows := fitting(budget, len(all), func(i int) string { return valueRow(all[i].where, all[i].ValueChange) })
	b.omit(len(all)+dropped-len(rows), "%s of values", "change")
	if len(rows) == 0 {
		return ""
	}
	open := min(maxOpen, len(rows))
	for open > 0 && open < len(rows) && all[open].where == "" { // a group is not split
		open--
	}
	text := table(title, head, rows, cmp.Or(open, len(rows)))
	return text + b.groupLists(groups, len(rows), budget-len(text))
}

func valueRow(where string, c change.ValueChange) string {
	before, now := valueCell(c.Old), valueCell(c.New)
	switch {
	case c.WholeFile:
		before, now = "", "_file "+c.Action.String()+"_"
	case c.Action == change.Removed:
		now = "**removed**"
	case c.Action == change.Added:
		before = "_none_"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", where, nameCell(c.Key), before, now)
}

func valueCell(value string) string {
	if strings.TrimSpace(value) == "" {
		return markdown.Code(`"` + value + `"`)
	}
	return markdown.Cell(value)
}

// maxWhere is the maximum number of target names in a row.
const maxWhere = 2

// where returns the names of the targets with these indexes, or their number.
func (b *body) where(targets []int) string {
	n := len(targets)
	if n <= maxWhere {
		var names []string
		for _, i := range targets {
			names = append(names, nameCell(b.Change.Targets[i].ClusterType+"/"+b.Change.Targets[i].Target))
		}
		return strings.Join(names, " ")
	}
	all := ""
	if n == b.summary.actionCounts[change.Changed] {
		all = "all "
	}
	clusterTypes := map[string]bool{}
	for _, i := range targets {
		clusterTypes[b.Change.Targets[i].ClusterType] = true
	}
	return fmt.Sprintf("%s**%d changed targets** on %s", all, n, diag.Plural(len(clusterTypes), "cluster type"))
}

// groupLists returns the collapsed targets of the groups that the first rows of the table only count, except groups of
// all changed targets.
func (b *body) groupLists(groups []change.ValueChanges, rows, budget int) string {
	var listed []change.ValueChanges
	for _, group := range groups {
		if n := len(group.Targets); rows > 0 && n > maxWhere && n < b.summary.actionCounts[change.Changed] {
			listed = append(listed, group)
		}
		rows -= len(group.Changes)
	}
	lists := fitting(budget, len(listed), func(i int) string { return "\n" + b.groupList(listed[i]) })
	b.omit(len(listed)-len(lists), "the targets of %s of values", "group")
	return strings.Join(lists, "")
}

func (b *body) groupList(group change.ValueChanges) string {
	keys := markdown.HTMLCode(diag.Shorten(group.Changes[0].Key, maxName))
	if n := len(group.Changes) - 1; n > 0 {
		keys += " " + more(n)
	}
	var list strings.Builder
	last := ""
	for _, i := range group.Targets {
		t := b.Change.Targets[i]
		if t.ClusterType != last {
			if last != "" {
				list.WriteByte('\n')
			}
			list.WriteString("- " + markdown.Code(t.ClusterType) + ":")
			last = t.ClusterType
		}
		list.WriteString(" " + markdown.Code(t.Target))
	}
	return markdown.Details(fmt.Sprintf("%s: the %d targets", keys, len(group.Targets)), list.String()+"\n")
}
