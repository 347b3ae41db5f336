package azure

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// maxLiteral is how long a text in a query may be, in bytes: longer than git lets the name of a branch be.
const maxLiteral = 1024

// plainWord is a part of a URL that is the same in every spelling.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// readableQuery asks which subscriptions have anything in them that may be read. Resource Graph leaves out others
// without a word.
const readableQuery = `resourcecontainers
| where type in~ ('microsoft.resources/subscriptions', 'microsoft.resources/subscriptions/resourcegroups')
| distinct subscriptionId
| project id = subscriptionId`

// queryFor asks for the Flux configurations of a repository and branch. A URL has many spellings, so all that have
// the words of its path are asked for; readRow picks. Pages need an order, and the id among the columns:
// https://learn.microsoft.com/azure/governance/resource-graph/concepts/work-with-data
func queryFor(wanted promote.Deployment) (string, error) {
	if _, err := giturl.NormalURL(wanted.Repo); err != nil {
		return "", fmt.Errorf("cannot ask for the repository: %w", err)
	}
	branch, err := quote(wanted.Branch)
	if err == nil {
		err = gitobject.CheckBranch(wanted.Branch)
	}
	if err != nil {
		return "", fmt.Errorf("cannot ask for the branch %.100q: %w", wanted.Branch, err)
	}
	conditions := "branch == " + branch
	for _, word := range wordsOf(wanted.Repo) {
		literal, err := quote(word)
		if err != nil {
			return "", fmt.Errorf("cannot ask for the repository: %w", err)
		}
		conditions += " and repository contains " + literal
	}
	return `kubernetesconfigurationresources
| where type =~ 'microsoft.kubernetesconfiguration/fluxconfigurations'
| extend repository = tostring(properties.gitRepository.url), branch = tostring(properties.gitRepository.repositoryRef.branch)
| where ` + conditions + `
| project id, repository, branch, revision = tostring(properties.sourceSyncedCommitId), compliance = tostring(properties.complianceState), suspended = tobool(properties.suspend), problem = tostring(properties.errorMessage), kustomizations = properties.kustomizations, statuses = properties.statuses
| order by id asc`, nil
}

// wordsOf are what the path of a repository has in it, however its URL is written. "_git" is only in one of the
// forms that Azure DevOps has.
func wordsOf(repo string) []string {
	if _, rest, found := strings.Cut(repo, "://"); found {
		_, repo, _ = strings.Cut(rest, "/")
	}
	var words []string
	for word := range strings.SplitSeq(repo, "/") {
		if word != "_git" && plainWord.MatchString(word) {
			words = append(words, word)
		}
	}
	return words
}

// quote writes text as KQL does. It is the only way for a value into a query. See
// https://learn.microsoft.com/kusto/query/scalar-data-types/string
func quote(text string) (string, error) {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case text == "" || len(text) > maxLiteral:
		return "", fmt.Errorf("the text must have 1 to %d bytes", maxLiteral)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable):
		return "", errors.New("the text has a character in it that cannot be printed")
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'", nil
}
