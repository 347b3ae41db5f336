package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// maxRows is how many rows Resource Graph returns at a time.
	maxRows = 1000
	// maxTotal bounds the rows of all pages.
	maxTotal = 100_000
)

// record is a row of an answer: its columns by name.
type record = map[string]any

// checkedPage is an answer that has been checked.
type checkedPage struct {
	rows  []record
	total int64
	// next asks for the next page; nil if this was the last.
	next   *string
	header http.Header
}

// readable makes sure that all subscriptions that were named can be read, until they are: of those that cannot be,
// nothing would be seen, and nothing missed.
func (a *graph) readable(ctx context.Context, patience *time.Duration) error {
	if len(a.subscriptions) == 0 || a.seen.Load() {
		return nil
	}
	page, err := a.ask(ctx, a.request(readableQuery, maxRows, nil), patience)
	if err != nil {
		return err
	}
	readable := map[string]bool{}
	for _, row := range page.rows {
		readable[strings.ToLower(textOf(row, "subscriptionId"))] = true
	}
	hidden := slices.DeleteFunc(slices.Clone(a.subscriptions), func(id string) bool { return readable[id] })
	if len(hidden) > 0 {
		return &promote.FleetError{
			Message: fmt.Sprintf("%d of %d subscriptions cannot be read, or do not exist: %s",
				len(hidden), len(a.subscriptions), firstFew(hidden)),
			Hint: hintRole,
		}
	}
	a.seen.Store(true)
	return nil
}

// firstFew are the first few of what may be many.
func firstFew(all []string) string {
	const some = 3
	if len(all) <= some {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:some], ", "), len(all)-some)
}

// all are the rows of all pages, each id once. If a page is more than Resource Graph sends, it starts again with
// smaller ones.
func (a *graph) all(ctx context.Context, query string, patience *time.Duration) ([]record, error) {
	for {
		size := a.rows.Load()
		rows, err := a.pages(ctx, query, size, patience)
		if !payloadTooLarge(err) || size == 1 {
			return rows, err
		}
		a.rows.Store(max(1, size/4))
	}
}

func (a *graph) pages(ctx context.Context, query string, size int32, patience *time.Duration) ([]record, error) {
	var (
		found  findings
		next   *string
		tokens = map[string]bool{}
	)
	for {
		page, err := a.ask(ctx, a.request(query, size, next), patience)
		if err != nil {
			return nil, err
		}
		if err := found.add(page); err != nil {
			return nil, a.unsound(err.Error())
		}
		if next = page.next; next == nil {
			break
		}
		if tokens[*next] {
			return nil, a.unsound("its pages go round in a circle")
		}
		tokens[*next] = true
		if err := a.spare(ctx, page.header, patience); err != nil {
			return nil, err
		}
	}
	if found.count != found.total {
		return nil, a.unsound(fmt.Sprintf("it speaks of %d Flux configurations and has %d", found.total, found.count))
	}
	return found.rows, nil
}

// findings is what the pages have so far.
type findings struct {
	rows []record
	// at is where the rows are, by their ids in lower case.
	at map[string]int
	// count is that of all rows, also of those that came twice; total what the answers say that it will be.
	count, total int64
}

// add adds the rows of a page. A configuration that comes twice, as Resource Graph may spell an id in several ways,
// counts once: as it is where it is not compliant.
func (f *findings) add(page checkedPage) error {
	if f.at == nil {
		f.at, f.total = map[string]int{}, page.total
	}
	f.count += int64(len(page.rows))
	switch {
	case page.total > maxTotal:
		return fmt.Errorf("it speaks of %d Flux configurations, and no more than %d are read", page.total, maxTotal)
	case page.total != f.total:
		return fmt.Errorf("it changed while it was read, from %d Flux configurations to %d", f.total, page.total)
	case f.count > f.total:
		return fmt.Errorf("it speaks of %d Flux configurations and has more", f.total)
	case len(page.rows) == 0 && page.next != nil:
		return errors.New("a page of it is empty, and not the last")
	}
	before := len(f.rows)
	for _, row := range page.rows {
		id := strings.ToLower(textOf(row, "id"))
		if id == "" {
			return errors.New("a row of it has no id")
		}
		at, twice := f.at[id]
		switch {
		case !twice:
			f.at[id] = len(f.rows)
			f.rows = append(f.rows, row)
		case stateOf(f.rows[at]) == promote.Compliant:
			f.rows[at] = row
		}
	}
	if len(page.rows) > 0 && len(f.rows) == before {
		return errors.New("a page of it came twice")
	}
	return nil
}

func (a *graph) request(query string, size int32, next *string) armresourcegraph.QueryRequest {
	var subscriptions []*string // none, rather than no subscriptions, is all
	if len(a.subscriptions) > 0 {
		subscriptions = to.SliceOfPtrs(a.subscriptions...)
	}
	return armresourcegraph.QueryRequest{
		Query:         &query,
		Subscriptions: subscriptions,
		Options: &armresourcegraph.QueryRequestOptions{
			AllowPartialScopes: to.Ptr(false),
			ResultFormat:       to.Ptr(armresourcegraph.ResultFormatObjectArray),
			SkipToken:          next,
			Top:                &size,
		},
	}
}

// ask asks for a page, and again if that may help.
func (a *graph) ask(ctx context.Context, request armresourcegraph.QueryRequest, patience *time.Duration) (checkedPage, error) {
	renewed := false
	for try := 1; ; try++ {
		page, err := a.once(ctx, request)
		if err == nil {
			return page, nil
		}
		if expired(err) && !renewed {
			renewed = true
			continue // the SDK has forgotten the token, and asks for a new one
		}
		fault := a.fault(ctx, err)
		if !fault.Temporary || try >= maxTries {
			return checkedPage{}, fault
		}
		delay := max(fault.Wait, firstDelay<<(try-1))
		if delay > *patience {
			return checkedPage{}, fault
		}
		if err := a.wait(ctx, delay, patience); err != nil {
			return checkedPage{}, err
		}
	}
}

// once asks for a page, and checks the answer.
func (a *graph) once(ctx context.Context, request armresourcegraph.QueryRequest) (checkedPage, error) {
	var raw *http.Response
	answer, err := a.client.Resources(policy.WithCaptureResponse(ctx, &raw), request, nil)
	if err != nil {
		return checkedPage{}, err
	}
	page := checkedPage{next: answer.SkipToken}
	if raw != nil {
		page.header = raw.Header
	}
	if page.next != nil && *page.next == "" {
		page.next = nil
	}
	data, isList := answer.Data.([]any)
	switch {
	case strings.EqualFold(page.header.Get("X-Ms-Tenant-Subscription-Limit-Hit"), "true"):
		return checkedPage{}, &promote.FleetError{
			Message: "the credential can read more subscriptions than Azure looks through",
			Hint:    "name those with clusters: --fleet " + Name + ":SUBSCRIPTION,SUBSCRIPTION",
		}
	case !isList || answer.TotalRecords == nil || answer.Count == nil || answer.ResultTruncated == nil:
		return checkedPage{}, a.unsound("a part of it is missing")
	case *answer.ResultTruncated != armresourcegraph.ResultTruncatedFalse && page.next == nil:
		return checkedPage{}, a.unsound("it was cut off, and there is no way to ask for the rest")
	case *answer.Count != int64(len(data)):
		return checkedPage{}, a.unsound(fmt.Sprintf("a page of it speaks of %d rows and has %d", *answer.Count, len(data)))
	}
	page.total = *answer.TotalRecords
	for _, one := range data {
		row, isRow := one.(record)
		if !isRow {
			return checkedPage{}, a.unsound("a row of it is not an object")
		}
		page.rows = append(page.rows, row)
	}
	return page, nil
}
