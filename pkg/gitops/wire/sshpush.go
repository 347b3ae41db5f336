package wire

import (
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// ReceivePack sends the request that build makes for the references that the server has, if it makes one.
func (w *SSH) ReceivePack(at Attempt, build func(*packp.AdvRefs) (*packp.ReferenceUpdateRequest, error)) (*packp.ReportStatus, error) {
	session, err := connectSSH(at.Ctx, w, w.client.NewReceivePackSession)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	refs, err := session.AdvertisedReferencesContext(at.Ctx)
	at.Alive()
	if err != nil {
		return nil, AsServerError(err)
	}
	request, err := build(refs)
	if request == nil {
		return nil, err
	}
	report, err := session.ReceivePack(at.Ctx, request)
	if report != nil { // its own error is in it
		return report, nil
	}
	return nil, AsServerError(err)
}
