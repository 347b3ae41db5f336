package azure

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxAnswer bounds an answer in bytes. Resource Graph itself does not send more than half of it.
	maxAnswer = 32 << 20
	// requestTime bounds a request, with its answer.
	requestTime = time.Minute
)

// wire sends the requests of the SDK: bounded in time and size, and without following redirects, which neither
// Azure nor its authorities use.
type wire struct {
	client http.Client
	// most bounds an answer in bytes.
	most int64
	// broken says that the last request had no answer, or none but that the server is not well. The SDK reports
	// errors of the network as text only when it signs in.
	broken atomic.Bool
}

func newWire(transport http.RoundTripper) *wire {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &wire{most: maxAnswer, client: http.Client{
		Transport:     transport,
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a request.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	answer, err := w.client.Do(r)
	if err != nil {
		w.broken.Store(true)
		return nil, err
	}
	w.broken.Store(unwell(answer.StatusCode))
	answer.Body = &boundedBody{answer.Body, w.most}
	return answer, nil
}

// unwell tells whether a status says that the same request may have a better answer later.
func unwell(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// errTooLarge is that an answer has more than maxAnswer bytes.
var errTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)

// boundedBody is an answer that ends with an error if it is too large.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
