package gitops

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// maxInCell is how many targets are named in a cell; more are counted there and listed below.
const maxInCell = 5

const (
	clusterTypesTitle = "### Cluster types\n\n"
	clusterTypesHead  = "| | Removed | Changed | Added | Unchanged |\n| --- | --- | --- | --- | --- |\n"
)

// clusterTypeTable shows what happens on each cluster type that is touched.
func (b *body) clusterTypeTable(room int) string {
	touched := b.blast.clusterTypes
	if len(touched) == 0 {
		return ""
	}
	summary := diag.Plural(len(touched), "cluster type")
	frame := len(clusterTypesTitle + details(summary, clusterTypesHead))
	rows := &sheet{}
	shown := 0
	for _, row := range []func(clusterTypeChange) string{namesRow, countsRow} {
		rows = &sheet{room: room - frame}
		if shown = addRows(rows, touched, row); shown == len(touched) {
			break
		}
	}
	if left := len(touched) - shown; left > 0 {
		b.omit("the counts of " + diag.Plural(left, "cluster type"))
		summary = fmt.Sprintf("%d of %s", shown, summary)
	}
	switch {
	case shown == 0:
		return ""
	case shown == len(touched) && shown <= maxOpen:
		return clusterTypesTitle + clusterTypesHead + rows.String()
	default:
		return clusterTypesTitle + details(summary, clusterTypesHead+rows.String())
	}
}

// addRows writes rows while they fit, and returns how many.
func addRows(s *sheet, touched []clusterTypeChange, row func(clusterTypeChange) string) int {
	for i, t := range touched {
		if !s.add(row(t)) {
			return i
		}
	}
	return len(touched)
}

func namesRow(t clusterTypeChange) string { return t.row(t.namesCell) }

func countsRow(t clusterTypeChange) string {
	return t.row(func(action Action) string { return count(t.actionCounts[action]) })
}

func (t clusterTypeChange) row(targetCell func(Action) string) string {
	what := ""
	if t.action != Unchanged {
		what = " _(" + t.action.String() + ")_"
	}
	return fmt.Sprintf("| %s%s | %s | %s | %s | %s |\n", nameCell(t.name), what,
		targetCell(Removed), targetCell(Changed), targetCell(Added), count(t.actionCounts[Unchanged]))
}

// count leaves a cell empty where there is nothing.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func nameCell(name string) string { return tableCell(shorten(name, maxName)) }

// namesCell names the targets with an action, or counts them if they are many.
func (t clusterTypeChange) namesCell(action Action) string {
	n := t.actionCounts[action]
	if n > maxInCell {
		return "**" + diag.Plural(n, "target") + "**"
	}
	var names []string
	for _, target := range t.targets {
		if n > 0 && target.Action == action {
			names = append(names, nameCell(target.Target))
		}
	}
	return strings.Join(names, " ")
}

// targetLists folds away the names of the targets that the table only counts.
func (b *body) targetLists(room int) string {
	const summary = "Names of the targets"
	s := &sheet{room: room - len(details(summary, ""))}
	left := 0
	for _, t := range b.blast.clusterTypes {
		for _, action := range []Action{Removed, Changed, Added} {
			n := t.actionCounts[action]
			if n > maxInCell && (s.room-s.Len() < n || !s.add(t.list(action))) { // a name has a byte at least
				left += n
			}
		}
	}
	if left > 0 {
		b.omit("the names of " + diag.Plural(left, "target"))
	}
	if s.Len() == 0 {
		return ""
	}
	return details(summary, s.String())
}

// list names the targets with an action.
func (t clusterTypeChange) list(action Action) string {
	var list strings.Builder
	list.WriteString("- " + nameSpan(t.name) + " " + action.String() + ":")
	for _, target := range t.targets {
		if target.Action == action {
			list.WriteString(" " + nameSpan(target.Target))
		}
	}
	return list.String() + "\n"
}
