package session

import (
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
)

// hintPromotion adds to the hints about templates that an environment does not have that the base branch may have them, if that
// is ahead of the promoted commit.
func hintPromotion(diags diag.List, baseBranch string) {
	if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Rule == source.RuleBaseAhead }) {
		return
	}
	for i, d := range diags {
		if d.Rule == "unknown-template" && strings.HasPrefix(d.Message, "Template ") {
			separator := "; "
			if strings.HasSuffix(d.Hint, "?") {
				separator = " "
			}
			diags[i].Hint += separator + "if it is new on " + baseBranch + ", promote a commit that has it"
		}
	}
}
