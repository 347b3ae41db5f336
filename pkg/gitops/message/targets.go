package message

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
)

// maxInCell is the maximum number of target names in a cell; more are counted there and listed below.
const maxInCell = 5

func (b *body) clusterTypeTable(budget int) string {
	const title, head = "### Cluster types\n\n", "| | Removed | Changed | Added | Unchanged |\n| --- | --- | --- | --- | --- |\n"
	touched := b.summary.clusterTypes
	rows := fitting(budget, len(touched), func(i int) string { return touched[i].row(touched[i].names) })
	if len(rows) < len(touched) { // without names it is shorter
		rows = fitting(budget, len(touched), func(i int) string { return touched[i].row(touched[i].count) })
	}
	b.omit(len(touched)-len(rows), "the counts of %s", "cluster type")
	text, summary := head+strings.Join(rows, ""), diag.Plural(len(touched), "cluster type")
	switch {
	case len(rows) == 0:
		return ""
	case len(rows) < len(touched):
		return title + markdown.Details(fmt.Sprintf("%d of %s", len(rows), summary), text)
	case len(rows) > maxOpen:
		return title + markdown.Details(summary, text)
	default:
		return title + text
	}
}

func (t clusterTypeChange) row(targetCell func(change.Action) string) string {
	what := ""
	if t.action != change.Unchanged {
		what = " _(" + t.action.String() + ")_"
	}
	return fmt.Sprintf("| %s%s | %s | %s | %s | %s |\n", nameCell(t.name), what,
		targetCell(change.Removed), targetCell(change.Changed), targetCell(change.Added), t.count(change.Unchanged))
}

func (c actionCounts) count(action change.Action) string {
	if c[action] == 0 {
		return ""
	}
	return fmt.Sprint(c[action])
}

// names returns the targets with an action, or their number if it exceeds maxInCell.
func (t clusterTypeChange) names(action change.Action) string {
	if n := t.actionCounts[action]; n > maxInCell {
		return "**" + diag.Plural(n, "target") + "**"
	}
	return t.join(action, nameCell)
}

func (t clusterTypeChange) join(action change.Action, show func(name string) string) string {
	if t.actionCounts[action] == 0 {
		return ""
	}
	var names []string
	for _, target := range t.targets {
		if target.Action == action {
			names = append(names, show(target.Target))
		}
	}
	return strings.Join(names, " ")
}

// targetLists returns the collapsed names of the targets that the table only counts.
func (b *body) targetLists(budget int) string {
	type list struct {
		clusterTypeChange
		action change.Action
	}
	var lists []list
	left := 0
	for _, t := range b.summary.clusterTypes {
		for _, action := range []change.Action{change.Removed, change.Changed, change.Added} {
			if n := t.actionCounts[action]; n > maxInCell {
				lists = append(lists, list{t, action})
				left += n
			}
		}
	}
	lines := fitting(budget, len(lists), func(i int) string {
		return "- " + nameSpan(lists[i].name) + " " + lists[i].action.String() + ": " + lists[i].join(lists[i].action, nameSpan) + "\n"
	})
	for i := range lines {
		left -= lists[i].actionCounts[lists[i].action]
	}
	b.omit(left, "the names of %s", "target")
	if len(lines) == 0 {
		return ""
	}
	return markdown.Details("Names of the targets", strings.Join(lines, ""))
}
