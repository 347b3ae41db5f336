package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/statustext"
)

const (
	// maxRows is how many rows Resource Graph returns at a time.
	maxRows = 1000
	// maxTotal bounds the rows of all pages.
	maxTotal = 100_000
	// maxQuotaWait is how long is waited between pages for a new quota of requests.
	maxQuotaWait = 10 * time.Second
)

// request and page are QueryRequest and QueryResponse:
// https://learn.microsoft.com/rest/api/azureresourcegraph/resourcegraph/resources/resources
type request struct {
	Query string `json:"query"`
	// Subscriptions are all if there are none.
	Subscriptions []string       `json:"subscriptions,omitempty"`
	Options       requestOptions `json:"options"`
}

type requestOptions struct {
	AllowPartialScopes bool   `json:"allowPartialScopes"`
	ResultFormat       string `json:"resultFormat"`
	SkipToken          string `json:"$skipToken,omitempty"`
	Top                int32  `json:"$top"`
}

type page struct {
	TotalRecords    *int   `json:"totalRecords"`
	Count           int    `json:"count"`
	ResultTruncated string `json:"resultTruncated"`
	SkipToken       string `json:"$skipToken"`
	Data            []row  `json:"data"`
}

// unusable is the error for an answer that must not be relied on. The next one may be better.
func (a *graph) unusable(why string) *promote.FleetError {
	return &promote.FleetError{Temporary: true, Message: "the answer of Azure cannot be used: " + a.client.Secrets.Line(why)}
}

// checkSubscriptions makes sure that all subscriptions that were named can be read, until they are: of those that
// cannot be, nothing would be seen, and nothing missed.
func (a *graph) checkSubscriptions(ctx context.Context) error {
	if len(a.subscriptions) == 0 || a.readable.Load() {
		return nil
	}
	rows, err := a.all(ctx, readableQuery)
	if err != nil {
		return err
	}
	hidden := slices.DeleteFunc(slices.Clone(a.subscriptions), func(id string) bool {
		return slices.ContainsFunc(rows, func(r row) bool { return strings.EqualFold(r.ID, id) })
	})
	if len(hidden) > 0 {
		return &promote.FleetError{
			Message: fmt.Sprintf("%d of %d subscriptions cannot be read, or do not exist: %s",
				len(hidden), len(a.subscriptions), statustext.Line(strings.Join(hidden, ", "))),
			Hint: hintRole,
		}
	}
	a.readable.Store(true)
	return nil
}

// all returns the rows of all pages. If a page is more than Resource Graph sends, it starts again with smaller ones.
func (a *graph) all(ctx context.Context, query string) ([]row, error) {
	for {
		rows, err := a.pages(ctx, query)
		if err == nil {
			return rows, nil
		}
		size := a.rows.Load()
		if api.StatusOf(err).Code != "ResponsePayloadTooLarge" || size == 1 {
			return nil, err
		}
		a.rows.Store(max(1, size/4))
	}
}

func (a *graph) pages(ctx context.Context, query string) ([]row, *promote.FleetError) {
	var rows []row
	ids := map[string]bool{}
	for next := ""; ; {
		page, header, err := a.page(ctx, query, next)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Data {
			if r.ID == "" || ids[r.ID] {
				return nil, a.unusable("a row has no id or is a duplicate")
			}
			ids[r.ID] = true
		}
		rows = append(rows, page.Data...)
		total := *page.TotalRecords
		switch next = page.SkipToken; {
		case total > maxTotal:
			return nil, a.unusable(fmt.Sprintf("it has %d rows, more than the limit of %d", total, maxTotal))
		case len(rows) > total, next == "" && len(rows) < total, next != "" && len(page.Data) == 0:
			return nil, a.unusable(fmt.Sprintf("it has %d rows instead of %d", len(rows), total))
		case next == "":
			return rows, nil
		}
		if delay := untilQuota(header); delay > 0 && delay <= maxQuotaWait { // else Resource Graph will say so
			if err := a.client.Sleep(ctx, delay); err != nil {
				return nil, &promote.FleetError{Message: "interrupted while querying Azure", Err: err}
			}
		}
	}
}

// page asks for a page, and checks that it is whole.
func (a *graph) page(ctx context.Context, query, next string) (answer page, header http.Header, err *promote.FleetError) {
	body := request{query, a.subscriptions, requestOptions{ResultFormat: "objectArray", SkipToken: next, Top: a.rows.Load()}}
	const what = "an answer of Resource Graph"
	header, err = a.client.Get(ctx, a.address, body, what, &answer)
	if err != nil && api.StatusOf(err).Status == http.StatusUnauthorized { // the SDK has forgotten the token, and gets another
		header, err = a.client.Get(ctx, a.address, body, what, &answer)
	}
	switch {
	case err != nil && api.StatusOf(err).Code == "NoValidSubscriptionsInRequest":
		err.Hint = hintRole
	case err != nil:
	case strings.EqualFold(header.Get("X-Ms-Tenant-Subscription-Limit-Hit"), "true"):
		err = &promote.FleetError{
			Message: "the credential can read more subscriptions than Azure queries at once",
			Hint:    "name those with clusters: --fleet " + Name + ":SUBSCRIPTION,SUBSCRIPTION",
		}
	case answer.TotalRecords == nil, answer.Count != len(answer.Data), answer.ResultTruncated != "false" && answer.SkipToken == "":
		err = a.unusable("it is incomplete")
	}
	return answer, header, err
}

// untilQuota is how long it takes until there is a quota of requests again, zero if there is some left. See
// https://learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests
func untilQuota(header http.Header) time.Duration {
	clock, err := time.Parse(time.TimeOnly, header.Get("X-Ms-User-Quota-Resets-After"))
	if err != nil || header.Get("X-Ms-User-Quota-Remaining") != "0" {
		return 0
	}
	return clock.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))
}

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
		return "", fmt.Errorf("cannot query the repository: %w", err)
	}
	branch, err := quote(wanted.Branch)
	if err == nil {
		err = model.CheckBranch(wanted.Branch)
	}
	if err != nil {
		return "", fmt.Errorf("cannot query the branch %.100q: %w", wanted.Branch, err)
	}
	conditions := "branch == " + branch
	for _, word := range wordsOf(wanted.Repo) {
		literal, err := quote(word)
		if err != nil {
			return "", fmt.Errorf("cannot query the repository: %w", err)
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
