package fleetstatus

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// maxTableClusters is how many clusters the text result lists one by one.
	maxTableClusters = 50
	// maxWorst is how many clusters stand for all that are not deployed where they are too many to list.
	maxWorst = 10
	// shortCommit is how many digits of a commit people see.
	shortCommit = 12
)

// Print writes how a fleet stands, for people: the counts, and the clusters if they are few; else how many of each
// cluster type stand how, and the worst.
func Print(w io.Writer, look promote.Snapshot, p term.Palette) {
	fmt.Fprintln(w, p.Heading(countsLine(look)))
	tables := [][]string{tableLines(look.Clusters, p)}
	if len(look.Clusters) > maxTableClusters {
		tables = [][]string{typeLines(look.Clusters, p), worstLines(look.Clusters, p)}
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

func tableLines(clusters []promote.Cluster, p term.Palette) []string {
	if len(clusters) == 0 {
		return nil
	}
	return clusterTable(worstFirst(clusters), p)
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
	// prose says that the value is made of words; else it is a name.
	prose bool
}

// clusterColumns are those in which there is something to see.
func clusterColumns(clusters []promote.Cluster) []clusterColumn {
	columns := []clusterColumn{
		{title: "CLUSTER", value: func(c promote.Cluster) string { return c.Name }},
		{title: "FLEET", value: func(c promote.Cluster) string { return c.Fleet }},
		{title: "TYPE", value: func(c promote.Cluster) string { return c.ClusterType }},
		{title: "STATE", value: func(c promote.Cluster) string { return string(c.State) }, prose: true},
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

// clusterTable lists clusters, in the order given.
func clusterTable(clusters []promote.Cluster, p term.Palette) []string {
	columns := clusterColumns(clusters)
	var titles []string
	for _, column := range columns {
		titles = append(titles, column.title)
	}
	rows := make([][]string, len(clusters))
	for i, c := range clusters {
		for _, column := range columns {
			cell := term.Word(column.value(c), term.MaxName)
			switch {
			case column.title == "MESSAGE":
				cell = term.Line(c.Message, term.MaxMessage)
			case cell == "":
				cell = "-"
			}
			rows[i] = append(rows[i], cell)
		}
	}
	return p.Table(titles, rows, func(row, column int, text string) string {
		if titles[column] != "STATE" {
			return text
		}
		return standingColour(p, clusters[row].State)(text)
	})
}

// standingColour is that of what is said of a cluster.
func standingColour(p term.Palette, s promote.ClusterState) func(string) string {
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
		counts[c.ClusterType] = withOne(counts[c.ClusterType], c.State)
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
	var rows [][]string
	for _, name := range types {
		c := counts[name]
		row := []string{cmp.Or(term.Word(name, term.MaxName), "-"), thousands(c.Seen())}
		for _, n := range []int{c.Deployed, c.Progressing, c.Behind, c.Failed} {
			row = append(row, thousands(n))
		}
		rows = append(rows, row)
	}
	lines := p.Table([]string{"TYPE", "CLUSTERS", "DEPLOYED", "PROGRESSING", "BEHIND", "FAILED"}, rows, nil)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more cluster types", thousands(more)))
	}
	return lines
}

// withOne counts a cluster.
func withOne(c promote.Counts, s promote.ClusterState) promote.Counts {
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
