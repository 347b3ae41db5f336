package argocd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/throttle"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/told"
)

const (
	maxTries   = 3
	firstDelay = time.Second
	// patience is as long as a look waits for the next try; beyond it the one who looks decides.
	patience = 10 * time.Second
	// requestTime is how long an answer may take, to its end.
	requestTime  = 2 * time.Minute
	maxRedirects = 3
)

// checkRedirect lets the server send us to another path of its own, as those do that moved below a prefix, and nowhere
// else: the token goes along. A page to log in at is no answer either.
func (a *fleet) checkRedirect(to *http.Request, via []*http.Request) error {
	if to.URL.Scheme != a.server.Scheme || to.URL.Host != a.server.Host {
		return &redirectError{to: to.URL.Scheme + "://" + to.URL.Host}
	}
	if len(via) > maxRedirects {
		return &redirectError{}
	}
	return nil
}

// redirectError is a redirect that is not followed; to is empty if it was one too many.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	if e.to == "" {
		return "it redirects too often"
	}
	return fmt.Sprintf("it redirects to %s, which is not followed: the token is not for there", told.Line(e.to))
}

// ask sends the request until an answer could be read. The error is a *promote.FleetError.
func (a *fleet) ask(ctx context.Context, read func(*http.Response) error) error {
	for try := 1; ; try++ {
		failure := a.once(ctx, read)
		if failure == nil {
			return nil
		}
		delay := max(failure.Wait, firstDelay<<(try-1))
		if !failure.Temporary || try == maxTries || delay > patience {
			return failure
		}
		if err := a.o.Sleep(ctx, delay); err != nil {
			failure.Err = err
			return failure
		}
	}
}

func (a *fleet) once(ctx context.Context, read func(*http.Response) error) *promote.FleetError {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.list.String(), nil)
	if err != nil {
		return a.failure("cannot be asked: "+err.Error(), "")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", "Bearer "+a.token)
	if a.o.UserAgent != "" {
		request.Header.Set("User-Agent", a.o.UserAgent)
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return a.unreachable(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return a.refusal(answer)
	}
	if err := read(answer); err != nil {
		return a.unreadable(err)
	}
	return nil
}

// failure is an error of this server; the token is not in it, whatever the server says.
func (a *fleet) failure(what, hint string) *promote.FleetError {
	return &promote.FleetError{
		Message: told.Line(strings.ReplaceAll(a.String()+" "+what, a.token, "***")), Hint: hint,
	}
}

// unreachable says why there is no answer.
func (a *fleet) unreachable(err error) *promote.FleetError {
	var (
		redirect    *redirectError
		certificate *tls.CertificateVerificationError
		unknown     x509.UnknownAuthorityError
		plain       tls.RecordHeaderError
		request     *url.Error
	)
	switch {
	case errors.As(err, &redirect):
		return a.failure("cannot be asked: "+redirect.Error(), "name the URL that Argo CD's API itself is served at, not that of a proxy that asks people to log in")
	case errors.As(err, &unknown):
		return a.failure("has a certificate of an unknown authority", "on Linux, SSL_CERT_FILE names a file with the certificate authorities to trust; elsewhere the system knows them")
	case errors.As(err, &certificate):
		return a.failure("has a certificate that is not valid: "+told.Reason(err), "")
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return a.failure("does not speak https", "")
	}
	if errors.As(err, &request) {
		err = request.Err // the URL is said already
	}
	e := a.failure("cannot be reached: "+err.Error(), "")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e = a.failure("has not answered in time", "")
	case errors.Is(err, context.Canceled):
		e = a.failure("was not waited for: the run was ended", "")
	}
	e.Temporary, e.Err = true, harmless(err)
	return e
}

// harmless keeps of what was behind an error only the end of a context: anything else may hold what the server said.
func harmless(err error) error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return nil
}

// refusal says what an answer means that is not a list.
func (a *fleet) refusal(answer *http.Response) *promote.FleetError {
	status := answer.StatusCode
	what := strings.TrimSpace(fmt.Sprintf("answers %d %s", status, http.StatusText(status)))
	if said := remarkOf(answer.Body); said != "" {
		what += ": " + said
	}
	e := a.failure(what, "")
	switch {
	case status == http.StatusUnauthorized:
		e.Hint = envToken + " needs a token that is still valid: argocd account generate-token"
	case status == http.StatusForbidden:
		e.Hint = "the account of the token needs the permission to get applications: p, <account>, applications, get, */*, allow"
	case status == http.StatusNotFound:
		e.Hint = "check the URL: Argo CD may be served below a path, as in https://example.com/argocd"
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout,
		status >= 500 && status != http.StatusNotImplemented:
		e.Temporary, e.Wait = true, throttle.RetryAfter(answer.Header, a.o.Now)
	}
	return e
}

// remarkOf is what the server says of an error, as its description has it (runtimeError). Any other text is of
// something in between, and a page more often than not.
func remarkOf(body io.Reader) string {
	const longest = 64 << 10 // bytes
	text, _ := io.ReadAll(io.LimitReader(body, longest))
	var remark struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &remark) != nil {
		return ""
	}
	return told.Line(remark.Message)
}

// unreadable says why an answer is no list of Applications. One that broke off may be whole the next time.
func (a *fleet) unreadable(err error) *promote.FleetError {
	var (
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
		answer *answerError
	)
	switch {
	case errors.As(err, &answer):
		return a.failure("answers "+answer.what, answer.hint)
	case errors.As(err, &syntax), errors.As(err, &typed):
		return a.failure("answers what is not a list of Applications", "check the URL: it is where Argo CD's pages are found, without what follows /applications")
	case harmless(err) != nil:
		return a.unreachable(err)
	}
	e := a.failure("broke off its answer", "")
	e.Temporary = true
	return e
}
