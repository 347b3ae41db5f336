package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/argocd"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/azure"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/command"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/flux"
)

// Options are what asking fleets needs of the machine.
type Options = api.Options

// kinds are the kinds of fleet, by name. Each is made of what follows the colon in --fleet, empty if nothing does;
// the error is wrong usage.
func kinds() map[string]func(argument string, o Options) (promote.Fleet, error) {
	return map[string]func(string, Options) (promote.Fleet, error){
		azure.Name: azure.New, "argocd": argocd.New, "command": command.New, "flux": flux.New,
	}
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
// quote the argument: it may contain a secret.
func New(text string, o Options) (promote.Fleet, error) {
	name, argument, _ := strings.Cut(text, ":")
	create, known := kinds()[name]
	if !known {
		return nil, fmt.Errorf("unknown fleet source %q (%s)", name, diag.DidYouMean(name, append(Names(), model.NoFleet)))
	}
	return create(argument, o)
}
