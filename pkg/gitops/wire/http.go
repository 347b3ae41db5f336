package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
)

// HTTP speaks git's smart protocol over http. go-git has a client for it, but that one hides
// which capabilities the server offers, reads error pages of any length, and gives no way to see
// the status of an answer.
type HTTP struct {
	client *http.Client
	// Base is the URL of the repository. A redirect of the first request changes it.
	Base       string
	Credential *credentials.Credential
	// maxAdvertisement bounds the list of references, in bytes.
	maxAdvertisement int64
}

// The services of git's protocol: what is asked for, and what is sent.
const (
	uploadPackService  = "git-upload-pack"
	receivePackService = "git-receive-pack"
)

const (
	// userAgent begins as git's own does: some servers answer nobody else.
	userAgent = "git/kalypso"
	// maxAdvertisement bounds the list of references of a platform repository in bytes.
	maxAdvertisement = 256 << 20
	// maxErrorPage bounds how much of an error page is read.
	maxErrorPage = 4 << 10
	maxRedirects = 5
)

// NewHTTP returns a way to a repository over HTTP, with a credential or, if c is nil, without one.
func NewHTTP(transport http.RoundTripper, a giturl.Address, c *credentials.Credential) *HTTP {
	w := &HTTP{Base: a.URL(), Credential: c, maxAdvertisement: maxAdvertisement}
	w.client = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	return w
}

// Restrict applies the limits of an application repository.
func (w *HTTP) Restrict() { w.maxAdvertisement = MaxTenantAdvertisement }

// RedirectError is a redirect that is not followed.
type RedirectError struct{ host, why string }

func (e *RedirectError) Error() string {
	return fmt.Sprintf("it redirects to %s, which is not followed: %s", e.host, e.why)
}

// checkRedirect lets only the first request be redirected, and not to another host: the credential and the trust in what
// it answers are for the host that was named.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	why := ""
	switch {
	case via[0].Method != http.MethodGet:
		why = "only the first request may be redirected"
	case len(via) > maxRedirects:
		why = "too many redirects"
	case from.Scheme != to.URL.Scheme || !strings.EqualFold(from.Host, to.URL.Host):
		why = "it is not on " + from.Scheme + "://" + from.Host
	case to.URL.User != nil:
		why = "it has a user in it"
	}
	if why != "" {
		return &RedirectError{host: giterror.OneLine(to.URL.Scheme + "://" + to.URL.Host), why: why}
	}
	return nil
}

// Advertise asks for the references and the capabilities, to read.
func (w *HTTP) Advertise(at Attempt) (*packp.AdvRefs, error) {
	return w.advertiseFor(at, uploadPackService)
}

func (w *HTTP) advertiseFor(at Attempt, service string) (*packp.AdvRefs, error) {
	query := "/info/refs?service=" + service
	request, err := http.NewRequestWithContext(at.Ctx, http.MethodGet, w.Base+query, nil)
	if err != nil {
		return nil, &ServerError{"its URL is malformed"}
	}
	answer, err := w.send(at, request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if kind != "application/x-"+service+"-advertisement" {
		return nil, &ServerError{fmt.Sprintf("it does not answer as a git server does (but with %q)", giterror.OneLine(kind))}
	}
	base, found := strings.CutSuffix(answer.Request.URL.String(), query)
	if !found {
		return nil, &ServerError{"it redirects to something that is not a git repository"}
	}
	refs := packp.NewAdvRefs()
	err = refs.Decode(newBoundedReader(answer.Body, w.maxAdvertisement, "its list of branches and tags"))
	if err != nil && !errors.Is(err, packp.ErrEmptyAdvRefs) {
		return nil, AsServerError(err)
	}
	w.Base = base
	return refs, nil
}

// UploadPack asks for a pack. What it returns is still divided into side bands.
func (w *HTTP) UploadPack(at Attempt, request *packp.UploadPackRequest) (io.ReadCloser, error) {
	var body bytes.Buffer
	if err := encodeRequest(&body, request); err != nil {
		return nil, err
	}
	answer, err := w.post(at, uploadPackService, &body)
	if err != nil {
		return nil, err
	}
	response := packp.NewUploadPackResponse(request)
	head := newBoundedReader(answer.Body, w.maxAdvertisement, "its response before the pack")
	if err := response.Decode(head); err != nil {
		_ = answer.Body.Close() // what it could say is less than what is wrong already
		return nil, AsServerError(err)
	}
	head.left = math.MaxInt64
	return response, nil
}

// boundedReader limits the bytes of an answer that is held in memory. Beyond the limit Read returns a PackLimitError.
type boundedReader struct {
	io.ReadCloser
	left, limit int64
	what        string
}

func newBoundedReader(r io.ReadCloser, limit int64, what string) *boundedReader {
	return &boundedReader{r, limit, limit, what}
}

func (r *boundedReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, gitobject.PackLimitError{What: fmt.Sprintf("%s has more than %s", r.what, gitobject.ByteSize(r.limit))}
	}
	n, err := r.ReadCloser.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	return n, err
}

func encodeRequest(w io.Writer, request *packp.UploadPackRequest) error {
	if err := request.UploadRequest.Encode(w); err != nil {
		return err
	}
	if err := request.UploadHaves.Encode(w, false); err != nil {
		return err
	}
	return pktline.NewEncoder(w).EncodeString("done\n")
}

func (w *HTTP) post(at Attempt, service string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(at.Ctx, http.MethodPost, w.Base+"/"+service, body)
	if err != nil {
		return nil, &ServerError{"its URL is malformed"}
	}
	request.Header.Set("Content-Type", "application/x-"+service+"-request")
	request.Header.Set("Accept", "application/x-"+service+"-result")
	return w.send(at, request)
}

// send sends a request and returns the answer if its status is 200.
func (w *HTTP) send(at Attempt, request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", userAgent)
	if w.Credential != nil {
		password, err := w.Credential.Now(at.Ctx)
		if err != nil {
			return nil, err
		}
		at.Alive() // it may have taken a while
		request.SetBasicAuth(w.Credential.User, password)
	}
	answer, err := w.client.Do(request)
	if err != nil {
		// What http.Client adds is the URL, which the message names already.
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, BrokenError{err}
	}
	answer.Body = &LiveReader{ReadCloser: answer.Body, At: at}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		refused := newStatusError(answer)
		refused.minted = w.Credential != nil && w.Credential.Renew != nil
		return nil, refused
	}
	return answer, nil
}

func newStatusError(answer *http.Response) *StatusError {
	e := &StatusError{Code: answer.StatusCode, retryAfter: retryafter.Parse(answer.Header, time.Now)}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
		page, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorPage))
		e.Text = giterror.OneLine(string(page))
	}
	return e
}

// sendAtOnce is how large a push may be, in bytes, that is sent with its length. A larger one goes in
// chunks, as it is made. It is git's own limit: some servers take no chunks.
const sendAtOnce = 1 << 20

// ReceivePack sends the request that build makes for the references that the server has, if it makes one.
func (w *HTTP) ReceivePack(at Attempt, build func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error)) (*packp.ReportStatus, error) {
	refs, err := w.advertiseFor(at, receivePackService)
	if err != nil {
		return nil, err
	}
	request, err := build(refs)
	if request == nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	// The request may be over before all of it is sent.
	defer reader.Close()
	go func() { writer.CloseWithError(request.Encode(writer)) }()
	body, err := buffered(reader)
	if err != nil {
		return nil, err
	}
	answer, err := w.post(at, receivePackService, body)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return ReadReport(answer.Body, request)
}

// buffered returns all of r if that is little, and else what continues where it was read to.
func buffered(r io.Reader) (io.Reader, error) {
	var start bytes.Buffer
	_, err := io.CopyN(&start, r, sendAtOnce)
	switch {
	case errors.Is(err, io.EOF):
		return &start, nil
	case err != nil:
		return nil, err
	default:
		return io.MultiReader(&start, r), nil
	}
}

// ReadReport reads what a server says of a push.
func ReadReport(r io.Reader, request *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	report := packp.NewReportStatus()
	if !request.Capabilities.Supports(capability.ReportStatus) {
		return nil, &ServerError{"it does not report on pushes"}
	}
	if request.Capabilities.Supports(capability.Sideband64k) {
		bands := sideband.NewDemuxer(sideband.Sideband64k, r)
		bands.Progress = request.Progress
		r = bands
	}
	if err := report.Decode(r); err != nil {
		return nil, AsServerError(err)
	}
	// The hooks that follow a push run after the report, and would end with the connection. What became of the
	// push is known: if they take too long, that is not its failure.
	_, _ = io.Copy(io.Discard, r)
	return report, nil
}
