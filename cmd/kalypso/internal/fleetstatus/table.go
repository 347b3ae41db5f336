package fleetstatus

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// maxTableClusters is how many clusters the text result lists one by one.
	maxTableClusters = 50
	// maxWorst is how many of the clusters that are not deployed are listed if there are too many.
	maxWorst = 10
)

// Print writes the state of a fleet for people: the counts, and the clusters if they are few; else the counts of each
// cluster type and the worst clusters.
func Print(w io.Writer, snapshot promote.Snapshot, p term.Palette) {
	fmt.Fprintln(w, p.Heading(countsLine(snapshot)))
	tables := [][]string{tableLines(snapshot.Clusters, p)}
	if len(snapshot.Clusters) > maxTableClusters {
		tables = [][]string{typeLines(snapshot.Clusters, p), worstLines(snapshot.Clusters, p)}
	}
	for _, lines := range tables {
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
		}
	}
}

// worstLines list the worst of the clusters that are not deployed, and count the others.
func worstLines(clusters []promote.Cluster, p term.Palette) []string {
	waiting, _ := undeployed(clusters)
	lines := tableLines(waiting[:min(maxWorst, len(waiting))], p)
	if more := len(waiting) - maxWorst; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more (-o json has all)", thousands(more)))
	}
	return lines
}

// clusterColumn is something that is known of a cluster.
type clusterColumn struct {
	title string
	// value is untrusted text, but for the state; empty if it is not known.
	value func(promote.Cluster) string
	// prose is true for text, false for a name.
	prose bool
}

// clusterColumns are those in which there is something to see.
func clusterColumns(clusters []promote.Cluster) []clusterColumn {
	columns := []clusterColumn{
		{title: "CLUSTER", value: func(c promote.Cluster) string { return c.Name }},
		{title: "FLEET", value: func(c promote.Cluster) string { return c.Fleet }},
		{title: "TYPE", value: func(c promote.Cluster) string { return c.ClusterType }},
		{title: "STATE", value: func(c promote.Cluster) string { return string(c.State) }, prose: true},
		{title: "COMMIT", value: func(c promote.Cluster) string { return fmt.Sprintf("%.12s", c.Commit) }},
		{title: "MESSAGE", value: func(c promote.Cluster) string { return c.Message }, prose: true},
	}
	return slices.DeleteFunc(columns, func(column clusterColumn) bool {
		if column.title == "FLEET" {
			return !severalFleets(clusters)
		}
		return !slices.ContainsFunc(clusters, func(c promote.Cluster) bool { return column.value(c) != "" })
	})
}

// tableLines list clusters, the worst first; there are none for no clusters.
func tableLines(clusters []promote.Cluster, p term.Palette) []string {
	if len(clusters) == 0 {
		return nil
	}
	columns := clusterColumns(clusters)
	titles, rows := make([]string, len(columns)), make([][]string, len(clusters))
	for i, column := range columns {
		titles[i] = column.title
	}
	for i, c := range worstFirst(clusters) {
		for _, column := range columns {
			cell := cmp.Or(term.Word(column.value(c), term.MaxName), "-")
			switch column.title {
			case "MESSAGE":
				cell = term.Line(c.Message, term.MaxMessage)
			case "STATE":
				cell = stateColour(p, c.State)(cell)
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return p.Table(titles, rows)
}

// stateColour is the colour of a cluster state.
func stateColour(p term.Palette, s promote.ClusterState) func(string) string {
	switch s {
	case promote.Deployed:
		return p.Added
	case promote.Progressing:
		return p.Faint
	case promote.Behind:
		return p.Changed
	default:
		return p.Removed
	}
}

// typeLines count the clusters of each type, the worst type first. There are none if no type is known.
func typeLines(clusters []promote.Cluster, p term.Palette) []string {
	counts := map[string]promote.Counts{}
	for _, c := range clusters {
		count := counts[c.ClusterType]
		count.Add(c.State)
		counts[c.ClusterType] = count
	}
	if _, unknown := counts[""]; unknown && len(counts) == 1 {
		return nil
	}
	types := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(worse(counts[a], counts[b]), cmp.Compare(a, b))
	})
	var rows [][]string
	for _, name := range types[:min(maxTableClusters, len(types))] {
		c := counts[name]
		row := []string{cmp.Or(term.Word(name, term.MaxName), "-")}
		for _, n := range []int{c.Seen(), c.Deployed, c.Progressing, c.Behind, c.Failed} {
			row = append(row, thousands(n))
		}
		rows = append(rows, row)
	}
	lines := p.Table([]string{"TYPE", "CLUSTERS", "DEPLOYED", "PROGRESSING", "BEHIND", "FAILED"}, rows)
	if more := len(types) - maxTableClusters; more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more cluster types", thousands(more)))
	}
	return lines
}

// worse orders counts as severity orders clusters.
func worse(a, b promote.Counts) int {
	return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Behind, a.Behind), cmp.Compare(b.Progressing, a.Progressing))
}
