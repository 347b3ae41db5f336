package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

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
