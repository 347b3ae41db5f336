package fleetstatus

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/markdown"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// maxSummaryRows is how many clusters that are not deployed the summary of a step lists.
	maxSummaryRows = 200
	// maxSummaryDeployed is how many deployed clusters it lists.
	maxSummaryDeployed = 1000
)

// Summary returns the state of a fleet for the summary of a step.
func Summary(environment string, snapshot promote.Snapshot) actions.Result {
	return actions.Result{Environment: environment, Uncompared: true, Details: snapshotMarkdown(snapshot, session.MaxDetails)}
}

// snapshotMarkdown is Markdown of at most room bytes: the counts, a table of the clusters that are not deployed, and one of
// the others that is folded away. What does not fit is counted. It is empty if there is no room at all.
func snapshotMarkdown(snapshot promote.Snapshot, room int) string {
	head := "**" + markdown.Text(countsLine(snapshot)) + "**\n\n"
	if len(head) > room {
		return ""
	}
	waiting, deployed := undeployed(snapshot.Clusters)
	head += markdownTable(waiting, maxSummaryRows, room-len(head))
	return head + foldedTable(deployed, room-len(head))
}

// foldedTable lists the clusters that are deployed.
func foldedTable(clusters []promote.Cluster, room int) string {
	head := fmt.Sprintf("<details><summary>%s deployed</summary>\n\n", clusterCount(len(clusters)))
	const foot = "</details>\n\n"
	table := markdownTable(clusters, maxSummaryDeployed, room-len(head)-len(foot))
	if table == "" {
		return ""
	}
	return head + table + foot
}

// markdownTable lists clusters, as many as fit and at most limit, and counts the rest. It is empty if there are none,
// or not even that fits.
func markdownTable(clusters []promote.Cluster, limit, room int) string {
	if len(clusters) == 0 {
		return ""
	}
	columns := clusterColumns(clusters)
	head, rule := "|", "|"
	for _, column := range columns {
		head += " " + strings.ToLower(column.title) + " |"
		rule += " --- |"
	}
	rows := func(yield func(string) bool) {
		for _, c := range clusters[:min(limit, len(clusters))] {
			if !yield(markdownRow(columns, c)) {
				return
			}
		}
	}
	more := func(n int) string { return fmt.Sprintf("\n%s more\n", thousands(n)) }
	return actions.MarkdownTable(head+"\n"+rule+"\n", rows, len(clusters), more, room)
}

func markdownRow(columns []clusterColumn, c promote.Cluster) string {
	row := "|"
	for _, column := range columns {
		switch text := column.value(c); {
		case text == "":
			row += " |"
		case column.prose:
			row += " " + markdown.Text(term.Line(text, term.MaxMessage)) + " |"
		default:
			row += " " + markdown.TextCode(term.Word(text, term.MaxName)) + " |"
		}
	}
	return row + "\n"
}
