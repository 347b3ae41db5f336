package flux

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/throttle"
)

// client reads from the API server of a cluster. It has the credentials, keys and proxy of a context from
// client-go, and sends requests itself: the clients there read answers of any length, wait by their own clock, and log.
// Below them client-go logs only, through klog to standard error, that a credential plugin could not renew what the
// server did not accept.
type client struct {
	http     *http.Client
	base     *url.URL
	limits   limits
	sleep    func(ctx context.Context, d time.Duration) error
	scrubber *credentials.Scrubber
}

// newClient makes a client for what a context says. The transport is its own too: each cluster has its own authority,
// keys and proxy.
func newClient(access *rest.Config, o Options, limits limits) (*client, error) {
	base, _, err := rest.DefaultServerUrlFor(access)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(access)
	if err != nil {
		return nil, err
	}
	return &client{
		http: &http.Client{
			Transport: transport,
			Timeout:   limits.request,
			// The transport adds the credentials to every request: another host must not get them.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base:     base,
		limits:   limits,
		sleep:    o.Sleep,
		scrubber: &credentials.Scrubber{},
	}, nil
}

// refusal is what a server answered that did not give what it was asked for.
type refusal struct {
	status int
	// message is that of the Status object in the answer; empty if there was none.
	message string
	// wait is how long the server asks to be left alone.
	wait time.Duration
}

func (r *refusal) Error() string { return strconv.Itoa(r.status) + " " + http.StatusText(r.status) }

// passing tells whether asking again may help.
func (r *refusal) passing() bool {
	return r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
}

var (
	errTooLong = errors.New("the answer is too long")
	errCut     = errors.New("the answer broke off")
)

// get reads what is at a path below the server's, and asks again if the server answers, but badly. The error is a
// *refusal, errTooLong, errCut, or one of net/http.
func (c *client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	pause := c.limits.pause
	for attempt := 1; ; attempt++ {
		body, err := c.once(ctx, path, query)
		wait, again := retry(err, pause)
		if !again || attempt >= c.limits.attempts || wait > c.limits.longest {
			return body, err
		}
		if slept := c.sleep(ctx, wait); slept != nil {
			return nil, slept
		}
		pause *= 2
	}
}

// retry tells whether to ask again after an error, and when: as the server wishes, else after a pause. A server that
// cannot be reached is not asked again: that has cost its time already, and whoever looks will look again.
func retry(err error, pause time.Duration) (time.Duration, bool) {
	var r *refusal
	if errors.As(err, &r) && r.passing() {
		return max(pause, r.wait), true
	}
	return pause, errors.Is(err, errCut)
}

func (c *client) once(ctx context.Context, path string, query url.Values) ([]byte, error) {
	address := c.base.JoinPath(path)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refused(response)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, c.limits.answer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errCut, err)
	case int64(len(body)) > c.limits.answer:
		return nil, errTooLong
	}
	return body, nil
}

// refused reads why a server did not answer as asked: a Status object, or whatever a proxy says, which is of no use.
func refused(response *http.Response) *refusal {
	const enough = 64 << 10
	r := &refusal{status: response.StatusCode, wait: throttle.RetryAfter(response.Header, nil)}
	var status struct {
		Kind, Message string
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, enough))
	if err == nil && json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		r.message = status.Message
	}
	return r
}

// explain makes of an error of get, about a kind of objects, one that says what is wrong with the cluster, as the
// predicate of a sentence. It has no secrets in it.
func (c *client) explain(kind kind, err error) *promote.FleetError {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return c.explainRefusal(kind, r)
	case errors.Is(err, errTooLong):
		return &promote.FleetError{Message: fmt.Sprintf("answers more than %d MiB for a page of its %s", c.limits.answer>>20, kind.plural), Err: err}
	case errors.Is(err, errCut):
		return &promote.FleetError{Temporary: true, Message: "broke off its answer", Err: errCut}
	case errors.Is(err, context.Canceled):
		return &promote.FleetError{Temporary: true, Message: "was not asked to the end", Err: context.Canceled}
	}
	var outer *url.Error // it has the address in it, and so may have a password
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if outer != nil && outer.Timeout() {
		return &promote.FleetError{Temporary: true, Message: fmt.Sprintf("cannot be reached: no answer within %s", c.limits.request)}
	}
	message := c.scrubber.Line(firstLine(err.Error()))
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return &promote.FleetError{Message: "is not to be trusted: " + message, Hint: "check the certificate-authority of its cluster in the kubeconfig"}
	}
	return &promote.FleetError{Temporary: true, Message: "cannot be reached: " + message}
}

func (c *client) explainRefusal(kind kind, r *refusal) *promote.FleetError {
	e := &promote.FleetError{Temporary: r.passing(), Wait: r.wait, Err: r}
	switch {
	case r.status == http.StatusUnauthorized:
		e.Message = "does not accept the credentials of its context (401 Unauthorized)"
		e.Hint = "log in again, or check the user of the context in the kubeconfig"
		return e
	case r.status == http.StatusForbidden:
		e.Message = fmt.Sprintf("does not let its user list %s in all namespaces", kind.resource())
		e.Hint = "a ClusterRole with get and list on " + gitRepositories.resource() + " and " + kustomizations.resource() + " is needed"
		if kind.plural != gitRepositories.plural && kind.plural != kustomizations.plural {
			e.Hint = "the published tree contains them: the ClusterRole needs get and list on " + kind.resource()
		}
	case r.status >= http.StatusMultipleChoices && r.status < http.StatusBadRequest:
		e.Message = fmt.Sprintf("answers %v", r)
		e.Hint = "the server of its cluster in the kubeconfig should be that of the API server itself"
	default:
		e.Message = fmt.Sprintf("answers %v", r)
	}
	if r.message != "" {
		e.Message += ": " + c.scrubber.Line(firstLine(r.message))
	}
	return e
}
