package fleet

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// maxAzureLiteral is how long a text in a query may be, in bytes: longer than git lets the name of a branch be.
const maxAzureLiteral = 1024

// azurePlain is a part of a URL that is the same in every spelling.
var azurePlain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// azureReadable asks which subscriptions have anything in them that may be read. Resource Graph leaves out others
// without a word.
const azureReadable = `resourcecontainers
| where type in~ ('microsoft.resources/subscriptions', 'microsoft.resources/subscriptions/resourcegroups')
| distinct subscriptionId`

// azureQuery asks for the Flux configurations of a repository and branch. A URL has many spellings, so all that have
// the words of its path are asked for; azureSighting picks. Pages need an order, and the id among the columns:
// https://learn.microsoft.com/azure/governance/resource-graph/concepts/work-with-data
func azureQuery(wanted promote.Deployment) (string, error) {
	if _, err := gitops.NormalURL(wanted.Repo); err != nil {
		return "", fmt.Errorf("cannot ask for the repository: %w", err)
	}
	branch, err := azureLiteral(wanted.Branch)
	if err == nil {
		err = gitops.CheckBranch(wanted.Branch)
	}
	if err != nil {
		return "", fmt.Errorf("cannot ask for the branch %.100q: %w", wanted.Branch, err)
	}
	conditions := "branch == " + branch
	for _, word := range azureWords(wanted.Repo) {
		literal, err := azureLiteral(word)
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

// azureWords are what the path of a repository has in it, however its URL is written. "_git" is only in one of the
// forms that Azure DevOps has.
func azureWords(repo string) []string {
	if _, rest, found := strings.Cut(repo, "://"); found {
		_, repo, _ = strings.Cut(rest, "/")
	}
	var words []string
	for word := range strings.SplitSeq(repo, "/") {
		if word != "_git" && azurePlain.MatchString(word) {
			words = append(words, word)
		}
	}
	return words
}

// azureLiteral writes text as KQL does. It is the only way for a value into a query. See
// https://learn.microsoft.com/kusto/query/scalar-data-types/string
func azureLiteral(text string) (string, error) {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case text == "" || len(text) > maxAzureLiteral:
		return "", fmt.Errorf("the text must have 1 to %d bytes", maxAzureLiteral)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable):
		return "", errors.New("the text has a character in it that cannot be printed")
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'", nil
}
