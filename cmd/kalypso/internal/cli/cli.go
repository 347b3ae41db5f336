// Package cli is what all commands share: exit codes, flags from variables, the build, and what a command is given.
package cli

import (
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// Host is what a command is given.
type Host struct {
	term.IO
	// Build is what is known of this program.
	Build Build
	// Timeouts bound what is asked of GitHub; the zero value are the usual ones.
	Timeouts github.Limits
	// Limits bound what is asked of git servers; the zero value are the usual ones.
	Limits wire.Limits
	// Workflow is the step of GitHub Actions that the run is; nil elsewhere.
	Workflow *actions.Workflow
}

// WithProgress returns a Host whose streams make room for the progress that is shown beside them.
func (h Host) WithProgress(color string) (*Host, *term.Progress) {
	var p *term.Progress
	h.IO, p = h.IO.WithProgress(color)
	return &h, p
}

// System returns what the process has.
func System() *Host { return &Host{IO: term.System(), Build: thisBuild()} }
