package fleet

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxAzureAnswer bounds an answer in bytes. Resource Graph itself does not send more than half of it.
	maxAzureAnswer = 32 << 20
	// azureTimeout bounds a request, with its answer.
	azureTimeout = time.Minute
)

// azureWire sends the requests of the SDK: bounded in time and size, and without following redirects, which neither
// Azure nor its authorities use.
type azureWire struct {
	client http.Client
	// most bounds an answer in bytes.
	most int64
	// broken says that the last request had no answer, or none but that the server is not well. The SDK reports
	// errors of the network as text only when it signs in.
	broken atomic.Bool
}

func newAzureWire(transport http.RoundTripper) *azureWire {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &azureWire{most: maxAzureAnswer, client: http.Client{
		Transport:     transport,
		Timeout:       azureTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a request.
func (w *azureWire) Do(r *http.Request) (*http.Response, error) {
	answer, err := w.client.Do(r)
	if err != nil {
		w.broken.Store(true)
		return nil, err
	}
	w.broken.Store(azureUnwell(answer.StatusCode))
	answer.Body = &azureBody{answer.Body, w.most}
	return answer, nil
}

// azureUnwell tells whether a status says that the same request may have a better answer later.
func azureUnwell(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// errAzureTooLarge is that an answer has more than maxAzureAnswer bytes.
var errAzureTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxAzureAnswer>>20)

// azureBody is an answer that ends with an error if it is too large.
type azureBody struct {
	io.ReadCloser
	left int64
}

func (b *azureBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errAzureTooLarge
	}
	return n, err
}
