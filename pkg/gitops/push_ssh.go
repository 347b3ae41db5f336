package gitops

import (
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// receivePack implements sender.
func (w *sshWire) receivePack(at attempt, build func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error)) (*packp.ReportStatus, error) {
	session, err := connectSSH(at.ctx, w, w.client.NewReceivePackSession)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	refs, err := session.AdvertisedReferencesContext(at.ctx)
	at.alive()
	if err != nil {
		return nil, asServerError(err)
	}
	request, err := build(refs)
	if request == nil {
		return nil, err
	}
	report, err := session.ReceivePack(at.ctx, request)
	if report != nil { // its own error is in it
		return report, nil
	}
	return nil, asServerError(err)
}
