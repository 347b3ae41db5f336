package fleet

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

	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

// An answer that is not whole is never taken for one that is.
func TestC5Incomplete(t *testing.T) {
	t.Parallel()
	edited := func(answer azureAnswer, key string, value any) azureAnswer {
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
	one, two := azureCompliant(t, "edge-1"), azureCompliant(t, "edge-2")
	for name, test := range map[string]struct {
		answers []azureAnswer
		want    string
	}{
		"cut off without a token": {[]azureAnswer{edited(azureData(2, "", one), "resultTruncated", "true")}, "it was cut off, and there is no way"},
		"unknown truncation":      {[]azureAnswer{edited(azureData(2, "", one), "resultTruncated", "perhaps")}, "it was cut off"},
		"fewer rows than counted": {[]azureAnswer{edited(azureData(2, "", one), "count", 2)}, "speaks of 2 rows and has 1"},
		"fewer rows than total":   {[]azureAnswer{azureData(3, "", one, two)}, "it speaks of 3 Flux configurations and has 2"},
		"more rows than total":    {[]azureAnswer{azureData(1, "", one, two)}, "it speaks of 1 Flux configurations and has more"},
		"second page missing":     {[]azureAnswer{azureData(2, "a", one), azureData(2, "")}, "it speaks of 2 Flux configurations and has 1"},
		"page twice":              {[]azureAnswer{azureData(2, "a", one), azureData(2, "", one)}, "a page of it came twice"},
		"empty page":              {[]azureAnswer{azureData(2, "a")}, "a page of it is empty, and not the last"},
		"circle": {
			[]azureAnswer{azureData(9, "a", one), azureData(9, "b", two), azureData(9, "a", azureCompliant(t, "edge-3"))},
			"its pages go round in a circle",
		},
		"total changes":  {[]azureAnswer{azureData(2, "a", one), azureData(3, "", two)}, "it changed while it was read, from 2 Flux configurations to 3"},
		"no end":         {[]azureAnswer{azureData(100_001, "a", one)}, "no more than 100000 are read"},
		"no data":        {[]azureAnswer{edited(azureData(1, "", one), "data", nil)}, "a part of it is missing"},
		"data a table":   {[]azureAnswer{edited(azureData(1, "", one), "data", map[string]any{"columns": []any{}, "rows": []any{}})}, "a part of it is missing"},
		"no total":       {[]azureAnswer{edited(azureData(1, "", one), "totalRecords", nil)}, "a part of it is missing"},
		"no count":       {[]azureAnswer{edited(azureData(1, "", one), "count", nil)}, "a part of it is missing"},
		"no truncation":  {[]azureAnswer{edited(azureData(1, "", one), "resultTruncated", nil)}, "a part of it is missing"},
		"row is a text":  {[]azureAnswer{edited(azureData(1, "", one), "data", []any{"x"})}, "a row of it is not an object"},
		"row is null":    {[]azureAnswer{edited(azureData(1, "", one), "data", []any{nil})}, "a row of it is not an object"},
		"row without id": {[]azureAnswer{azureData(1, "", azureCompliant(t, "x", "id", nil))}, "a row of it has no id"},
		"id a number":    {[]azureAnswer{azureData(1, "", azureCompliant(t, "x", "id", 7))}, "a row of it has no id"},
		"id of a cluster": {
			[]azureAnswer{azureData(1, "", azureCompliant(t, "x", "id", "/subscriptions/"+azureSub+"/resourceGroups/edge"))},
			"a row has an id that is not of a Flux configuration",
		},
		"id with a hole":    {[]azureAnswer{azureData(1, "", azureCompliant(t, "x", "id", azureFlux(azureSub, "", "x")))}, "not of a Flux configuration"},
		"no repository":     {[]azureAnswer{azureData(1, "", azureCompliant(t, "x", "repository", nil))}, `"cfg" on "x" has no repository or branch`},
		"branch a number":   {[]azureAnswer{azureData(1, "", azureCompliant(t, "x", "branch", 1.5))}, `"cfg" on "x" has no repository or branch`},
		"not JSON":          {[]azureAnswer{{body: "<html>welcome to the hotel</html>"}}, "the answer of Azure cannot be used"},
		"another JSON":      {[]azureAnswer{{body: `[]`}}, "the answer of Azure cannot be used"},
		"empty":             {[]azureAnswer{{}}, "a part of it is missing"},
		"cut in the middle": {[]azureAnswer{{body: azureData(1, "", one).body[:200]}}, "the answer of Azure cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAzureServer(t, func(n int, _ azureAsked) azureAnswer { return test.answers[n%len(test.answers)] })
			sightings, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
			assert.Empty(t, sightings)
			fault := azureFault(t, err)
			assert.Contains(t, fault.Message, test.want)
			assert.True(t, fault.Temporary, "the next look may be better")
		})
	}
}

func TestC5Connection(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(n int, _ azureAsked) azureAnswer {
		if n < 2 {
			panic(http.ErrAbortHandler)
		}
		return azureData(1, "", azureCompliant(t, "edge-1"))
	})
	sightings, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
	require.NoError(t, err)
	assert.Len(t, sightings, 1)
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second}, server.slept)

	server.Close()
	_, err = server.fleet(t, "", nil).Look(t.Context(), azureWanted)
	fault := azureFault(t, err)
	assert.Contains(t, fault.Message, "Azure cannot be reached: dial tcp")
	assert.True(t, fault.Temporary)
}

func TestC5ShortBody(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer {
		return azureData(0, "").with("Content-Length", "100000")
	})
	_, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
	fault := azureFault(t, err)
	assert.Equal(t, "the answer of Azure cannot be used: it was cut off", fault.Message)
	assert.True(t, fault.Temporary)
}

func TestC5TooLarge(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer { return azureData(1, "", azureCompliant(t, "edge-1")) })
	wire := newAzureWire(server.Client().Transport)
	wire.most = 100
	fleet, err := newAzureGraph("", server.options(), server.access(wire, new(azureTokens)))
	require.NoError(t, err)
	_, err = fleet.Look(t.Context(), azureWanted)
	fault := azureFault(t, err)
	assert.Contains(t, fault.Message, "the answer is larger than 32 MiB")
	assert.False(t, fault.Temporary)
}

func TestC5CertificateUnknown(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer { return azureData(0, "") })
	fleet := server.fleet(t, "", nil)
	wire := newAzureWire(http.DefaultTransport)
	_, err := wire.Do(mustAzureRequest(t, server.URL))
	fault := azureFault(t, fleet.fault(t.Context(), err))
	assert.Contains(t, fault.Message, "Azure cannot be trusted: ")
	assert.False(t, fault.Temporary)
}

func mustAzureRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	return r
}

func TestC5Refusals(t *testing.T) {
	t.Parallel()
	const support = "Please provide below info when asking for support: timestamp = 2026-01-01T12:00:00Z, correlationId = 1"
	nested := fmt.Sprintf(`{"error":{"code":"BadRequest","message":%q,"details":[{"code":"%%s","message":"%%s"}]}}`, support)
	for name, test := range map[string]struct {
		answer    azureAnswer
		message   string
		hint      string
		temporary bool
	}{
		"forbidden": {
			azureRefusal(403, "AuthorizationFailed", "The client '1' does not have authorization.\nIf access was recently granted, refresh."),
			"Azure answers 403 AuthorizationFailed: The client '1' does not have authorization. If access was recently granted, refresh",
			azureHintRole, false,
		},
		"no subscriptions": {
			azureAnswer{status: 400, body: fmt.Sprintf(nested, "NoValidSubscriptionsInRequest", "There must be at least one subscription that is eligible.")},
			"Azure answers 400 NoValidSubscriptionsInRequest: There must be at least one subscription that is eligible", azureHintRole, false,
		},
		"query": {
			azureAnswer{status: 400, body: fmt.Sprintf(nested, "ParserFailure", "ParserFailure")},
			"Azure answers 400 ParserFailure: ParserFailure", "", false,
		},
		"wrong cloud":     {azureAnswer{status: 404, body: "<html>"}, "Azure answers 404 Not Found", "is the cloud the right one? see AZURE_ENVIRONMENT and AZURE_RESOURCE_MANAGER_ENDPOINT", false},
		"redirect":        {azureAnswer{status: 307, header: map[string]string{"Location": "https://example.com/"}}, "Azure answers 307 Temporary Redirect", "is the cloud the right one? see AZURE_ENVIRONMENT and AZURE_RESOURCE_MANAGER_ENDPOINT", false},
		"strange error":   {azureAnswer{status: 400, body: `{"error":"no"}`}, "Azure answers 400 Bad Request", "", false},
		"not implemented": {azureRefusal(501, "", ""), "Azure answers 501 Not Implemented", "", false},
		"internal":        {azureRefusal(500, "InternalServerError", "oops"), "Azure answers 500 InternalServerError: oops", "", true},
		"gateway":         {azureAnswer{status: 502, body: "<html>"}, "Azure answers 502 Bad Gateway", "", true},
		"unavailable":     {azureRefusal(503, "ServiceUnavailable", "x"), "Azure answers 503 ServiceUnavailable: x", "", true},
		"long": {
			azureRefusal(400, "Long", strings.Repeat("long ", 10_000)),
			"Azure answers 400 Long: long long", "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAzureServer(t, func(int, azureAsked) azureAnswer { return test.answer })
			_, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
			fault := azureFault(t, err)
			assert.Contains(t, fault.Message, test.message)
			assert.Equal(t, test.hint, fault.Hint)
			assert.Equal(t, test.temporary, fault.Temporary)
			assert.NotContains(t, fault.Message, "support")
			if test.temporary {
				assert.Equal(t, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, server.slept)
				assert.Len(t, server.asked, 4)
			} else {
				assert.Empty(t, server.slept)
				assert.Len(t, server.asked, 1)
			}
		})
	}
}

func TestC5Throttled(t *testing.T) {
	t.Parallel()
	limit := azureRefusal(429, "RateLimiting", "Please provide below info when asking for support")
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
		"quota for ever":       {[]string{"X-Ms-User-Quota-Remaining", "0", "X-Ms-User-Quota-Resets-After", "99:00:00"}, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := []azureAnswer{limit.with(test.header...), azureData(1, "", azureCompliant(t, "edge-1"))}
			server := newAzureServer(t, func(n int, _ azureAsked) azureAnswer { return answers[min(n, 1)] })
			sightings, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
			if test.slept == 0 {
				fault := azureFault(t, err)
				assert.True(t, fault.Temporary)
				assert.Equal(t, test.told, fault.Wait)
				assert.Len(t, server.asked, 1)
				assert.Empty(t, server.slept)
				return
			}
			require.NoError(t, err)
			assert.Len(t, sightings, 1)
			assert.Equal(t, []time.Duration{test.slept}, server.slept)
		})
	}
}

// One look waits for so long and no longer, however many pages are throttled.
func TestC5PatienceEnds(t *testing.T) {
	t.Parallel()
	pages, throttled := azureMany(50), map[string]bool{}
	server := newAzureServer(t, func(n int, asked azureAsked) azureAnswer {
		if !throttled[asked.Options.Token] {
			throttled[asked.Options.Token] = true
			return azureRefusal(429, "RateLimiting", "slow down").with("Retry-After", "12")
		}
		return pages(n, asked)
	})
	fleet := server.fleet(t, "", nil)
	fleet.rows.Store(10)
	_, err := fleet.Look(t.Context(), azureWanted)
	fault := azureFault(t, err)
	assert.Equal(t, "Azure answers 429 RateLimiting: slow down", fault.Message)
	assert.Equal(t, 12*time.Second, fault.Wait)
	assert.Equal(t, []time.Duration{12 * time.Second, 12 * time.Second}, server.slept)
}

// The quota of requests is honoured before it is exceeded.
func TestC5QuotaBetweenPages(t *testing.T) {
	t.Parallel()
	pages := azureMany(30)
	server := newAzureServer(t, func(n int, asked azureAsked) azureAnswer {
		remaining := []string{"0", "14", "0"}[n]
		return pages(n, asked).with("X-Ms-User-Quota-Remaining", remaining, "X-Ms-User-Quota-Resets-After", "00:00:03")
	})
	fleet := server.fleet(t, "", nil)
	fleet.rows.Store(10)
	sightings, err := fleet.Look(t.Context(), azureWanted)
	require.NoError(t, err)
	assert.Len(t, sightings, 30)
	assert.Equal(t, []time.Duration{3 * time.Second}, server.slept, "not after the last")
}

// Resource Graph refuses pages of more than 16 MiB, which long messages of many clusters can make.
func TestC5PayloadTooLarge(t *testing.T) {
	t.Parallel()
	pages := azureMany(40)
	server := newAzureServer(t, func(n int, asked azureAsked) azureAnswer {
		if asked.Options.Top > 12 {
			return azureAnswer{status: 400, body: `{"error":{"code":"BadRequest","message":"Please provide below info when asking for support",
				"details":[{"code":"ResponsePayloadTooLarge","message":"Response payload size is 17593214, and has exceeded the limit of 16777216."}]}}`}
		}
		return pages(n, asked)
	})
	fleet := server.fleet(t, "", nil)
	fleet.rows.Store(40)
	for range 2 {
		sightings, err := fleet.Look(t.Context(), azureWanted)
		require.NoError(t, err)
		assert.Len(t, sightings, 40)
	}
	assert.Len(t, server.asked, 1+4+4, "the second look begins with pages that were small enough")
}

func TestC5PayloadAlwaysTooLarge(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer {
		return azureRefusal(400, "ResponsePayloadTooLarge", "too large")
	})
	_, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
	assert.Equal(t, "Azure answers 400 ResponsePayloadTooLarge: too large", azureFault(t, err).Message)
	assert.Len(t, server.asked, 6)
}

func TestC5SubscriptionLimit(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer {
		return azureData(1, "", azureCompliant(t, "edge-1")).with("X-Ms-Tenant-Subscription-Limit-Hit", "true")
	})
	_, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
	fault := azureFault(t, err)
	assert.Contains(t, fault.Message, "more subscriptions than Azure looks through")
	assert.Contains(t, fault.Hint, "--fleet azure-resource-graph:SUBSCRIPTION")
	assert.False(t, fault.Temporary)
}

// Of a subscription that the identity must not read, Resource Graph says nothing at all.
func TestC5SubscriptionUnreadable(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(_ int, asked azureAsked) azureAnswer {
		if strings.HasPrefix(asked.Query, "resourcecontainers") {
			return azureData(1, "", azureRow{"subscriptionId": azureSub})
		}
		return azureData(1, "", azureCompliant(t, "edge-1"))
	})
	_, err := server.fleet(t, azureSub+","+azureSub2, nil).Look(t.Context(), azureWanted)
	fault := azureFault(t, err)
	assert.Equal(t, "1 of 2 subscriptions cannot be read, or do not exist: "+azureSub2, fault.Message)
	assert.Equal(t, azureHintRole, fault.Hint)
	assert.False(t, fault.Temporary)
	assert.Equal(t, "a, b, c and 2 more", azureSome([]string{"a", "b", "c", "d", "e"}))
}

// The same configuration may come in two spellings. It counts once, and not as compliant if it is not in both.
func TestC5SameTwice(t *testing.T) {
	t.Parallel()
	failed := azureCompliant(t, "EDGE-1", "compliance", "Non-Compliant")
	failed["id"] = strings.ToUpper(failed["id"].(string))
	for _, rows := range [][]azureRow{{azureCompliant(t, "edge-1"), failed}, {failed, azureCompliant(t, "edge-1")}} {
		server := newAzureServer(t, func(int, azureAsked) azureAnswer { return azureData(2, "", rows...) })
		sightings, err := server.fleet(t, "", nil).Look(t.Context(), azureWanted)
		require.NoError(t, err)
		require.Len(t, sightings, 1)
		assert.Equal(t, promote.Failed, sightings[0].State)
	}
}

func TestC5InterruptedWait(t *testing.T) {
	t.Parallel()
	server := newAzureServer(t, func(int, azureAsked) azureAnswer { return azureRefusal(503, "ServiceUnavailable", "x") })
	fleet := server.fleet(t, "", nil)
	fleet.Sleep = func(context.Context, time.Duration) error { return context.Canceled }
	_, err := fleet.Look(t.Context(), azureWanted)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, azureFault(t, err).Temporary)
	assert.Len(t, server.asked, 1)
}
