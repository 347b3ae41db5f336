package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// maxTableClusters is how many clusters the text result lists one by one.
	maxTableClusters = 50
	// maxWorst is how many clusters stand for all that are not deployed where they are too many to list.
	maxWorst = 10
	// maxNameColumns bounds what is no message where lines may be long.
	maxNameColumns = 120
	// shortCommit is how many digits of a commit people see.
	shortCommit = 12
)

// tableOptions say how a table looks.
type tableOptions struct {
	palette palette
	// room is how many columns a line may have, as on a terminal; zero where long lines do no harm, as in a log.
	room int
}

// nameRoom is how wide anything but a message may be.
func (o tableOptions) nameRoom() int {
	if o.room == 0 {
		return maxNameColumns
	}
	return max(shortCommit, o.room/3)
}

// printLook writes how a fleet stands, for people: the counts, and the clusters if they are few; else how many of each
// cluster type stand how, and the worst.
func printLook(w io.Writer, look promote.Look, o tableOptions) {
	fmt.Fprintln(w, o.palette.heading(countsLine(look)))
	tables := [][]string{tableLines(look.Clusters, o)}
	if len(look.Clusters) > maxTableClusters {
		tables = [][]string{typeLines(look.Clusters, o), worstLines(look.Clusters, o)}
	}
	for _, lines := range tables {
		if len(lines) > 0 {
			fmt.Fprintln(w)
		}
		for _, line := range lines {
			fmt.Fprintln(w, line)
		}
	}
}

// clusterTable writes a line for each cluster, the worst first, below one with titles.
func clusterTable(w io.Writer, clusters []promote.Cluster, o tableOptions) {
	for _, line := range tableLines(clusters, o) {
		fmt.Fprintln(w, line)
	}
}

func tableLines(clusters []promote.Cluster, o tableOptions) []string {
	if len(clusters) == 0 {
		return nil
	}
	return newClusterGrid(worstFirst(clusters), o).lines(o, true)
}

// worstLines list the worst of the clusters that are not deployed, and count the others.
func worstLines(clusters []promote.Cluster, o tableOptions) []string {
	waiting, _ := undeployed(clusters)
	lines := tableLines(waiting[:min(maxWorst, len(waiting))], o)
	if more := len(waiting) - maxWorst; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more (-o json has all)", thousands(more)))
	}
	return lines
}

// clusterColumn is something that is known of a cluster.
type clusterColumn struct {
	title string
	// value is a stranger's text, but for the state; empty if it is not known.
	value func(promote.Cluster) string
	// prose says that the value is made of words; else it is a name.
	prose bool
}

// clusterColumns are those in which there is something to see.
func clusterColumns(clusters []promote.Cluster) []clusterColumn {
	columns := []clusterColumn{
		{title: "CLUSTER", value: func(c promote.Cluster) string { return c.Name }},
		{title: "FLEET", value: func(c promote.Cluster) string { return c.Fleet }},
		{title: "TYPE", value: func(c promote.Cluster) string { return c.ClusterType }},
		{title: "STATE", value: func(c promote.Cluster) string { return string(c.Standing) }, prose: true},
		{title: "COMMIT", value: func(c promote.Cluster) string { return abbreviated(c.Commit) }},
		{title: "MESSAGE", value: func(c promote.Cluster) string { return c.Message }, prose: true},
	}
	return slices.DeleteFunc(columns, func(column clusterColumn) bool {
		if column.title == "FLEET" {
			return !severalFleets(clusters)
		}
		return !slices.ContainsFunc(clusters, func(c promote.Cluster) bool { return column.value(c) != "" })
	})
}

// abbreviated is as much of a commit as people look at.
func abbreviated(commit string) string { return fmt.Sprintf("%.*s", shortCommit, commit) }

// newClusterGrid lays clusters out, in the order given.
func newClusterGrid(clusters []promote.Cluster, o tableOptions) grid {
	columns := clusterColumns(clusters)
	g := grid{paint: func(row, column int, text string) string {
		if columns[column].title != "STATE" {
			return text
		}
		return o.palette.standing(clusters[row].Standing, text)
	}}
	for _, column := range columns {
		g.titles = append(g.titles, column.title)
	}
	for _, c := range clusters {
		row := make([]string, len(columns))
		for i, column := range columns {
			if row[i] = wordOf(column.value(c), o.nameRoom()); column.title == "MESSAGE" {
				row[i] = lineOf(c.Message, maxMessageColumns)
			} else if row[i] == "" {
				row[i] = "-"
			}
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// standing colours what is said of a cluster.
func (p palette) standing(s promote.Standing, text string) string {
	switch s {
	case promote.Deployed:
		return p.added(text)
	case promote.Progressing:
		return p.faint(text)
	case promote.Behind:
		return p.changed(text)
	default:
		return p.removed(text)
	}
}

// typeLines count the clusters of each type, the worst type first. There are none if no type is known.
func typeLines(clusters []promote.Cluster, o tableOptions) []string {
	counts := map[string]promote.Counts{}
	for _, c := range clusters {
		counts[c.ClusterType] = withOne(counts[c.ClusterType], c.Standing)
	}
	if _, unknown := counts[""]; unknown && len(counts) == 1 {
		return nil
	}
	types := make([]string, 0, len(counts))
	for name := range counts {
		types = append(types, name)
	}
	slices.SortFunc(types, func(a, b string) int {
		return cmp.Or(worse(counts[a], counts[b]), cmp.Compare(a, b))
	})
	more := len(types) - maxTableClusters
	types = types[:min(maxTableClusters, len(types))]
	g := grid{titles: []string{"TYPE", "CLUSTERS", "DEPLOYED", "PROGRESSING", "BEHIND", "FAILED"}}
	for _, name := range types {
		c := counts[name]
		row := []string{cmp.Or(wordOf(name, o.nameRoom()), "-"), thousands(c.Seen())}
		for _, n := range []int{c.Deployed, c.Progressing, c.Behind, c.Failed} {
			row = append(row, thousands(n))
		}
		g.rows = append(g.rows, row)
	}
	lines := g.lines(o, true)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more cluster types", thousands(more)))
	}
	return lines
}

// withOne counts a cluster.
func withOne(c promote.Counts, s promote.Standing) promote.Counts {
	switch s {
	case promote.Deployed:
		c.Deployed++
	case promote.Progressing:
		c.Progressing++
	case promote.Behind:
		c.Behind++
	default:
		c.Failed++
	}
	return c
}

// worse orders counts as badness orders clusters.
func worse(a, b promote.Counts) int {
	return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Behind, a.Behind), cmp.Compare(b.Progressing, a.Progressing))
}

// grid is text in columns. Its cells are harmless to show.
type grid struct {
	titles []string
	rows   [][]string
	// paint colours a cell; nil for none.
	paint func(row, column int, text string) string
}

// columnGap keeps columns apart.
const columnGap = 2

// lines lays the rows out, below the titles if they are wanted. What is beyond the room is cut off.
func (g grid) lines(o tableOptions, titled bool) []string {
	widths := make([]int, len(g.titles))
	for _, row := range g.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columnsOf(cell))
		}
	}
	var lines []string
	if titled {
		for i, title := range g.titles {
			widths[i] = max(widths[i], columnsOf(title))
		}
		lines = append(lines, o.palette.heading(layOut(g.titles, widths, o.room, nil)))
	}
	for i, row := range g.rows {
		var paint func(int, string) string
		if g.paint != nil {
			paint = func(column int, text string) string { return g.paint(i, column, text) }
		}
		lines = append(lines, layOut(row, widths, o.room, paint))
	}
	return lines
}

// layOut writes cells at their places. Colours come last, as they take no room.
func layOut(cells []string, widths []int, room int, paint func(column int, text string) string) string {
	var b strings.Builder
	used := 0
	for i, cell := range cells {
		if room > 0 {
			cell = cut(cell, room-used)
		}
		if paint != nil && cell != "" {
			b.WriteString(paint(i, cell))
		} else {
			b.WriteString(cell)
		}
		used += widths[i] + columnGap
		b.WriteString(strings.Repeat(" ", max(0, widths[i]+columnGap-columnsOf(cell))))
	}
	return strings.TrimRight(b.String(), " ")
}
