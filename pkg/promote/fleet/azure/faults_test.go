package azure

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

// An answer that is not whole is never taken for one that is.
func TestC5Incomplete(t *testing.T) {
	t.Parallel()
	edited := func(answer answer, key string, value any) answer {
		body := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(answer.body), &body))
		if body[key] = value; value == nil {
			delete(body, key)
		}
		text, err := json.Marshal(body)
		require.NoError(t, err)
		answer.body = string(text)
		return answer
	}
	one, two := compliant(t, "edge-1"), compliant(t, "edge-2")
	const notAnAnswer = "Azure returned something other than an answer of Resource Graph"
	for name, test := range map[string]struct {
		answers []answer
		want    string
	}{
		"cut off without a token": {[]answer{edited(data(2, "", one), "resultTruncated", "true")}, "it is incomplete"},
		"unknown truncation":      {[]answer{edited(data(2, "", one), "resultTruncated", "perhaps")}, "it is incomplete"},
		"fewer rows than counted": {[]answer{edited(data(2, "", one), "count", 2)}, "it is incomplete"},
		"fewer rows than total":   {[]answer{data(3, "", one, two)}, "it has 2 rows instead of 3"},
		"more rows than total":    {[]answer{data(1, "", one, two)}, "it has 2 rows instead of 1"},
		"second page missing":     {[]answer{data(2, "a", one), data(2, "")}, "it has 1 rows instead of 2"},
		"page twice":              {[]answer{data(2, "a", one), data(2, "", one)}, "is a duplicate"},
		"empty page":              {[]answer{data(2, "a")}, "it has 0 rows instead of 2"},
		"circle": {
			[]answer{data(9, "a", one), data(9, "b", two), data(9, "a", compliant(t, "edge-3"))},
			"is a duplicate",
		},
		"total changes":  {[]answer{data(2, "a", one), data(3, "", two)}, "it has 2 rows instead of 3"},
		"no end":         {[]answer{data(100_001, "a", one)}, "more than the limit of 100000"},
		"no data":        {[]answer{edited(data(1, "", one), "data", nil)}, "it is incomplete"},
		"data a table":   {[]answer{edited(data(1, "", one), "data", map[string]any{"columns": []any{}, "rows": []any{}})}, notAnAnswer},
		"no total":       {[]answer{edited(data(1, "", one), "totalRecords", nil)}, "it is incomplete"},
		"no count":       {[]answer{edited(data(1, "", one), "count", nil)}, "it is incomplete"},
		"no truncation":  {[]answer{edited(data(1, "", one), "resultTruncated", nil)}, "it is incomplete"},
		"row is a text":  {[]answer{edited(data(1, "", one), "data", []any{"x"})}, notAnAnswer},
		"row is null":    {[]answer{edited(data(1, "", one), "data", []any{nil})}, "a row has no id"},
		"row without id": {[]answer{data(1, "", compliant(t, "x", "id", nil))}, "a row has no id"},
		"id a number":    {[]answer{data(1, "", compliant(t, "x", "id", 7))}, notAnAnswer},
		"id of a cluster": {
			[]answer{data(1, "", compliant(t, "x", "id", "/subscriptions/"+sub+"/resourceGroups/edge"))},
			"a row has an id that is not of a Flux configuration",
		},
		"id with a hole":    {[]answer{data(1, "", compliant(t, "x", "id", fluxID(sub, "", "x")))}, "not of a Flux configuration"},
		"no repository":     {[]answer{data(1, "", compliant(t, "x", "repository", nil))}, `"cfg" on "x" has no repository or branch`},
		"branch a number":   {[]answer{data(1, "", compliant(t, "x", "branch", 1.5))}, notAnAnswer},
		"not JSON":          {[]answer{{body: "<html>welcome to the hotel</html>"}}, notAnAnswer},
		"another JSON":      {[]answer{{body: `[]`}}, notAnAnswer},
		"empty":             {[]answer{{}}, "Azure closed the connection early"},
		"cut in the middle": {[]answer{{body: data(1, "", one).body[:200]}}, "Azure closed the connection early"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newStandIn(t, func(n int, _ question) answer { return test.answers[n%len(test.answers)] })
			statuses, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
			assert.Empty(t, statuses)
			fault := faultIn(t, err)
			assert.Contains(t, fault.Message, test.want)
			assert.Equal(t, test.want != notAnAnswer, fault.Temporary, "the next look may be better")
		})
	}
}

func TestC5Connection(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(n int, _ question) answer {
		if n < 2 {
			panic(http.ErrAbortHandler)
		}
		return data(1, "", compliant(t, "edge-1"))
	})
	statuses, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	require.NoError(t, err)
	assert.Len(t, statuses, 1)
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second}, server.slept)

	server.Close()
	_, err = server.fleet(t, "", nil).Query(t.Context(), wanted)
	fault := faultIn(t, err)
	assert.Contains(t, fault.Message, "Azure cannot be reached: dial tcp")
	assert.True(t, fault.Temporary)
}

func TestC5ShortBody(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer {
		return data(0, "").with("Content-Length", "100000")
	})
	_, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	fault := faultIn(t, err)
	assert.Equal(t, "Azure closed the connection early", fault.Message)
	assert.True(t, fault.Temporary)
}

func TestC5TooLarge(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer { return data(1, "", compliant(t, "edge-1")) })
	fleet, err := newGraph("", server.options(), server.manager(), new(tokens), api.NewSender(server.Client().Transport, 100))
	require.NoError(t, err)
	_, err = fleet.Query(t.Context(), wanted)
	fault := faultIn(t, err)
	assert.Contains(t, fault.Message, "Azure returns more than ")
	assert.False(t, fault.Temporary)
}

func TestC5CertificateUnknown(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer { return data(0, "") })
	fleet, err := newGraph("", server.options(), server.manager(), new(tokens), api.NewSender(nil, maxAnswer))
	require.NoError(t, err)
	_, err = fleet.Query(t.Context(), wanted)
	fault := faultIn(t, err)
	assert.Contains(t, fault.Message, "Azure is not trusted: ")
	assert.False(t, fault.Temporary)
}

func TestC5Refusals(t *testing.T) {
	t.Parallel()
	const support = "Please provide below info when asking for support: timestamp = 2026-01-01T12:00:00Z, correlationId = 1"
	nested := fmt.Sprintf(`{"error":{"code":"BadRequest","message":%q,"details":[{"code":"%%s","message":"%%s"}]}}`, support)
	for name, test := range map[string]struct {
		answer    answer
		message   string
		hint      string
		temporary bool
	}{
		"forbidden": {
			refusal(403, "AuthorizationFailed", "The client '1' does not have authorization.\nIf access was recently granted, refresh."),
			"Azure answers 403 AuthorizationFailed: The client '1' does not have authorization. If access was recently granted, refresh",
			hintRole, false,
		},
		"no subscriptions": {
			answer{status: 400, body: fmt.Sprintf(nested, "NoValidSubscriptionsInRequest", "There must be at least one subscription that is eligible.")},
			"Azure answers 400 NoValidSubscriptionsInRequest: There must be at least one subscription that is eligible", hintRole, false,
		},
		"query": {
			answer{status: 400, body: fmt.Sprintf(nested, "ParserFailure", "ParserFailure")},
			"Azure answers 400 ParserFailure: ParserFailure", "", false,
		},
		"wrong cloud":     {answer{status: 404, body: "<html>"}, "Azure answers 404 Not Found", "check the cloud: AZURE_ENVIRONMENT and AZURE_RESOURCE_MANAGER_ENDPOINT", false},
		"redirect":        {answer{status: 307, header: map[string]string{"Location": "https://example.com/"}}, "Azure answers 307 Temporary Redirect", "check the cloud: AZURE_ENVIRONMENT and AZURE_RESOURCE_MANAGER_ENDPOINT", false},
		"strange error":   {answer{status: 400, body: `{"error":"no"}`}, "Azure answers 400 Bad Request", "", false},
		"not implemented": {refusal(501, "", ""), "Azure answers 501 Not Implemented", "", false},
		"internal":        {refusal(500, "InternalServerError", "oops"), "Azure answers 500 InternalServerError: oops", "", true},
		"gateway":         {answer{status: 502, body: "<html>"}, "Azure answers 502 Bad Gateway", "", true},
		"unavailable":     {refusal(503, "ServiceUnavailable", "x"), "Azure answers 503 ServiceUnavailable: x", "", true},
		"long": {
			refusal(400, "Long", strings.Repeat("long ", 10_000)),
			"Azure answers 400 Long: long long", "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newStandIn(t, func(int, question) answer { return test.answer })
			_, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
			fault := faultIn(t, err)
			assert.Contains(t, fault.Message, test.message)
			assert.Equal(t, test.hint, fault.Hint)
			assert.Equal(t, test.temporary, fault.Temporary)
			assert.NotContains(t, fault.Message, "support")
			if test.temporary {
				assert.Equal(t, []time.Duration{time.Second, 2 * time.Second}, server.slept)
				assert.Len(t, server.asked, 3)
			} else {
				assert.Empty(t, server.slept)
				assert.Len(t, server.asked, 1)
			}
		})
	}
}

func TestC5Throttled(t *testing.T) {
	t.Parallel()
	limit := refusal(429, "RateLimiting", "Please provide below info when asking for support")
	for name, test := range map[string]struct {
		header []string
		slept  time.Duration // zero if it is too long to be waited for
		told   time.Duration
	}{
		"seconds":              {[]string{"Retry-After", "7"}, 7 * time.Second, 7 * time.Second},
		"quota":                {[]string{"X-Ms-User-Quota-Remaining", "0", "X-Ms-User-Quota-Resets-After", "00:00:05"}, 5 * time.Second, 5 * time.Second},
		"the longer of both":   {[]string{"Retry-After", "2", "X-Ms-User-Quota-Remaining", "0", "X-Ms-User-Quota-Resets-After", "00:00:05"}, 5 * time.Second, 5 * time.Second},
		"date, by its clock":   {[]string{"Date", "Fri, 02 Jan 2026 03:00:00 GMT", "Retry-After", "Fri, 02 Jan 2026 03:00:09 GMT"}, 9 * time.Second, 9 * time.Second},
		"date that has passed": {[]string{"Date", "Fri, 02 Jan 2026 03:00:00 GMT", "Retry-After", "Fri, 02 Jan 2026 02:00:00 GMT"}, time.Second, 0},
		"nothing":              {nil, time.Second, 0},
		"nonsense":             {[]string{"Retry-After", "soon", "X-Ms-User-Quota-Remaining", "0", "X-Ms-User-Quota-Resets-After", "later"}, time.Second, 0},
		"negative":             {[]string{"Retry-After", "-5"}, time.Second, 0},
		"too long":             {[]string{"Retry-After", "120"}, 0, 2 * time.Minute},
		"for ever":             {[]string{"Retry-After", "999999999999"}, 0, time.Hour},
		"quota for ever":       {[]string{"X-Ms-User-Quota-Remaining", "0", "X-Ms-User-Quota-Resets-After", "23:00:00"}, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := []answer{limit.with(test.header...), data(1, "", compliant(t, "edge-1"))}
			server := newStandIn(t, func(n int, _ question) answer { return answers[min(n, 1)] })
			statuses, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
			if test.slept == 0 {
				fault := faultIn(t, err)
				assert.True(t, fault.Temporary)
				assert.Equal(t, test.told, fault.Wait)
				assert.Len(t, server.asked, 1)
				assert.Empty(t, server.slept)
				return
			}
			require.NoError(t, err)
			assert.Len(t, statuses, 1)
			assert.Equal(t, []time.Duration{test.slept}, server.slept)
		})
	}
}

// The quota of requests is honoured before it is exceeded.
func TestC5QuotaBetweenPages(t *testing.T) {
	t.Parallel()
	pages := many(30)
	server := newStandIn(t, func(n int, asked question) answer {
		remaining := []string{"0", "14", "0"}[n]
		return pages(n, asked).with("X-Ms-User-Quota-Remaining", remaining, "X-Ms-User-Quota-Resets-After", "00:00:03")
	})
	fleet := server.fleet(t, "", nil)
	fleet.rows.Store(10)
	statuses, err := fleet.Query(t.Context(), wanted)
	require.NoError(t, err)
	assert.Len(t, statuses, 30)
	assert.Equal(t, []time.Duration{3 * time.Second}, server.slept, "not after the last")
}

// Resource Graph refuses pages of more than 16 MiB, which long messages of many clusters can make.
func TestC5PayloadTooLarge(t *testing.T) {
	t.Parallel()
	pages := many(40)
	server := newStandIn(t, func(n int, asked question) answer {
		if asked.Options.Top > 12 {
			return answer{status: 400, body: `{"error":{"code":"BadRequest","message":"Please provide below info when asking for support",
				"details":[{"code":"ResponsePayloadTooLarge","message":"Response payload size is 17593214, and has exceeded the limit of 16777216."}]}}`}
		}
		return pages(n, asked)
	})
	fleet := server.fleet(t, "", nil)
	fleet.rows.Store(40)
	for range 2 {
		statuses, err := fleet.Query(t.Context(), wanted)
		require.NoError(t, err)
		assert.Len(t, statuses, 40)
	}
	assert.Len(t, server.asked, 1+4+4, "the second look begins with pages that were small enough")
}

func TestC5PayloadAlwaysTooLarge(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer {
		return refusal(400, "ResponsePayloadTooLarge", "too large")
	})
	_, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	assert.Equal(t, "Azure answers 400 ResponsePayloadTooLarge: too large", faultIn(t, err).Message)
	assert.Len(t, server.asked, 6)
}

func TestC5SubscriptionLimit(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer {
		return data(1, "", compliant(t, "edge-1")).with("X-Ms-Tenant-Subscription-Limit-Hit", "true")
	})
	_, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	fault := faultIn(t, err)
	assert.Contains(t, fault.Message, "more subscriptions than Azure queries at once")
	assert.Contains(t, fault.Hint, "--fleet azure-resource-graph:SUBSCRIPTION")
	assert.False(t, fault.Temporary)
}

// Of a subscription that the identity must not read, Resource Graph says nothing at all.
func TestC5SubscriptionUnreadable(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(_ int, asked question) answer {
		if strings.HasPrefix(asked.Query, "resourcecontainers") {
			return data(1, "", record{"id": sub})
		}
		return data(1, "", compliant(t, "edge-1"))
	})
	_, err := server.fleet(t, sub+","+sub2, nil).Query(t.Context(), wanted)
	fault := faultIn(t, err)
	assert.Equal(t, "1 of 2 subscriptions cannot be read, or do not exist: "+sub2, fault.Message)
	assert.Equal(t, hintRole, fault.Hint)
	assert.False(t, fault.Temporary)
}

// The same configuration may come in two spellings: both are about one cluster.
func TestC5SameTwice(t *testing.T) {
	t.Parallel()
	failed := compliant(t, "EDGE-1", "compliance", "Non-Compliant")
	failed["id"] = strings.ToUpper(failed["id"].(string))
	server := newStandIn(t, func(int, question) answer { return data(2, "", compliant(t, "edge-1"), failed) })
	statuses, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	require.NoError(t, err)
	require.Len(t, statuses, 2)
	assert.Equal(t, statuses[0].Cluster, statuses[1].Cluster)
}

func TestC5InterruptedWait(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer { return refusal(503, "ServiceUnavailable", "x") })
	fleet := server.fleet(t, "", nil)
	fleet.client.Sleep = func(context.Context, time.Duration) error { return context.Canceled }
	_, err := fleet.Query(t.Context(), wanted)
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, server.asked, 1)
}
