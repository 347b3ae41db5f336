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

// HTTP implements git's smart protocol over HTTP. The client of go-git hides the capabilities of the server and the status
// of answers, and reads error pages of any length.
type HTTP struct {
	client *http.Client
	// Base is the URL of the repository. A redirect of the first request changes it.
	Base       string
	Credential *credentials.Credential
	// maxAdvertisement bounds the list of references, in bytes.
	maxAdvertisement int64
}

// The services of git's protocol.
const (
	uploadPackService  = "git-upload-pack"
	receivePackService = "git-receive-pack"
)

const (
	// userAgent begins like that of git: some servers reject others.
	userAgent = "git/kalypso"
	// maxAdvertisement bounds the list of references of a platform repository in bytes.
	maxAdvertisement = 256 << 20
	// maxErrorPage is the number of bytes of an error page that are read.
	maxErrorPage = 4 << 10
	maxRedirects = 5
)

// NewHTTP returns a connection to a repository over HTTP, without a credential if c is nil.
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

// checkRedirect allows redirects of the first request on the same host: credentials are for the named host, and only its
// answers are shown.
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

// Advertise returns the references and capabilities for reading.
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

// UploadPack requests a pack. The result may be divided into side bands.
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
		_ = answer.Body.Close() // after an error
		return nil, AsServerError(err)
	}
	head.left = math.MaxInt64
	return response, nil
}

// boundedReader limits the bytes of an answer in memory. Beyond the limit, Read returns a PackLimitError.
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
		at.Alive() // a new token takes time
		request.SetBasicAuth(w.Credential.User, password)
	}
	answer, err := w.client.Do(request)
	if err != nil {
		// http.Client adds the URL, which the message contains already.
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

// sendAtOnce is the maximum size in bytes of a push that is sent with its length; a larger one is sent in chunks. It is
// the limit of git: some servers accept no chunks.
const sendAtOnce = 1 << 20

// ReceivePack sends the request that build returns for the references of the server; nothing if it is nil.
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
	// The server may answer before all of the request is sent.
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

// buffered returns the whole content of r if it is small; otherwise a reader of it.
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

// ReadReport reads the report of a server on a push.
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
	// Hooks after a push run after the report, and would end with the connection. The outcome of the push is known, so
	// their errors are ignored.
	_, _ = io.Copy(io.Discard, r)
	return report, nil
}
