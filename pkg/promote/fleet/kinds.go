package fleet

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/argocd"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/azure"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/program"
)

// Options are what asking fleets needs of the machine.
type Options struct {
	// Env reads environment variables; nil has none.
	Env func(string) string
	// Environ are all of them, as NAME=VALUE, for programs that are started.
	Environ []string
	// Transport sends requests; nil means one like http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits, or until ctx is done, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock.
	Now func() time.Time
	// UserAgent names the program to servers.
	UserAgent string
}

// constructor makes a fleet of what follows the colon in --fleet; empty if nothing does. The error is wrong usage.
type constructor func(argument string, o Options) (promote.Fleet, error)

// kinds are the fleets that there are.
func kinds() map[string]constructor {
	return map[string]constructor{
		azure.Name: newAzure,
		"argocd":   newArgoCD,
		"command":  newCommand,
		"flux":     newFlux,
	}
}

func newAzure(argument string, o Options) (promote.Fleet, error) {
	return azure.New(argument, azure.Options{
		Env: o.Env, Transport: o.Transport, Sleep: o.Sleep, Now: o.Now, UserAgent: o.UserAgent,
	})
}

func newArgoCD(argument string, o Options) (promote.Fleet, error) {
	return argocd.New(argument, argocd.Options{
		Env: o.Env, Transport: o.Transport, Sleep: o.Sleep, Now: o.Now, UserAgent: o.UserAgent,
	})
}

func newCommand(argument string, o Options) (promote.Fleet, error) {
	return program.New(argument, o.Environ)
}

func newFlux(argument string, o Options) (promote.Fleet, error) {
	return flux.New(argument, flux.Options{Env: o.Env, Sleep: o.Sleep, UserAgent: o.UserAgent})
}

// Names are those of the fleets that there are.
func Names() []string { return slices.Sorted(maps.Keys(kinds())) }

// SeesReconcilers reports whether a fleet, written as NAME or NAME:ARGUMENT, can read the reconcilers of a published
// tree.
func SeesReconcilers(text string) bool {
	name, _, _ := strings.Cut(text, ":")
	return name == "flux" || name == "argocd"
}

// New returns the fleet that NAME or NAME:ARGUMENT means. It asks nothing yet. The error is wrong usage, which does not
// quote the argument: somebody may have written a secret into it.
func New(text string, o Options) (promote.Fleet, error) {
	name, argument, _ := strings.Cut(text, ":")
	create, known := kinds()[name]
	if !known {
		return nil, fmt.Errorf("there is no kind of fleet %q (%s)", name, diag.DidYouMean(name, append(Names(), model.NoFleet)))
	}
	return create(argument, o)
}
