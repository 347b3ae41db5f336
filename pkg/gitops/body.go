package gitops

import (
	"strings"
)

// PullRequestBody returns the description of a pull request in Markdown. It has at most limit bytes.
func PullRequestBody(r Report, limit int) string {
	var b strings.Builder
	b.WriteString("**" + r.Change.Plan() + "**\n")
	return shorten(b.String(), limit)
}
