package render

import (
	"fmt"
	"sync/atomic"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// usage counts the bytes of output of each registration. Rendering stops for a registration that exceeds the
// limit. The point at which it stops depends on timing, so nothing that depends on its partial output is reported.
type usage struct {
	limit int64
	bytes map[*model.WorkloadRegistration]*atomic.Int64
}

func newUsage(fleet *model.Fleet, limit int64) usage {
	u := usage{limit, map[*model.WorkloadRegistration]*atomic.Int64{}}
	for _, target := range fleet.Targets {
		if limit > 0 && target.Registration != nil {
			u.bytes[target.Registration] = &atomic.Int64{}
		}
	}
	return u
}

func (u usage) count(target *model.DeploymentTarget, text content.Text) {
	if bytes := u.bytes[target.Registration]; bytes != nil {
		bytes.Add(int64(text.Size))
	}
}

// exceeded reports whether the output of the registration of a target exceeds the limit.
func (u usage) exceeded(target *model.DeploymentTarget) bool {
	bytes := u.bytes[target.Registration]
	return bytes != nil && bytes.Load() > u.limit
}

// tooLarge reports the registrations that exceed the limit.
func (u usage) tooLarge(assignments []schedule.Assignment) diag.List {
	var diags diag.List
	known := map[*model.WorkloadRegistration]bool{}
	for i := range assignments {
		r := assignments[i].Target.Registration
		if !u.exceeded(assignments[i].Target) || known[r] {
			continue
		}
		known[r] = true
		at := r.Workload.Repo.At
		if at.IsZero() {
			at = r.At
		}
		diags.Error("output-too-large", at, fmt.Sprintf("the output of registration %q has more than %d bytes",
			r.Name.Value, u.limit),
			diag.Hint("reduce its targets or cluster types, or raise the limit: --tenant-limit output-bytes=NUMBER"))
	}
	return diags
}
