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

// Options are the parts of the environment that fleets need.
type Options = api.Options

// kinds returns the constructors of the kinds of fleet by name. The argument is the text after the colon in --fleet, empty
// without one; the error is a usage error.
func kinds() map[string]func(argument string, o Options) (promote.Fleet, error) {
	return map[string]func(string, Options) (promote.Fleet, error){
		azure.Name: azure.New, "argocd": argocd.New, "command": command.New, "flux": flux.New,
	}
}

// Names returns the names of all kinds of fleet.
func Names() []string { return slices.Sorted(maps.Keys(kinds())) }

// SeesReconcilers reports whether a fleet, written as NAME or NAME:ARGUMENT, can read the reconcilers of a published
// tree.
func SeesReconcilers(text string) bool {
	name, _, _ := strings.Cut(text, ":")
	return name == "flux" || name == "argocd"
}

// New returns the fleet for NAME or NAME:ARGUMENT without querying it. The error is a usage error that does not quote the
// argument, which may contain a secret.
func New(text string, o Options) (promote.Fleet, error) {
	name, argument, _ := strings.Cut(text, ":")
	create, known := kinds()[name]
	if !known {
		return nil, fmt.Errorf("unknown fleet source %q (%s)", name, diag.DidYouMean(name, append(Names(), model.NoFleet)))
	}
	return create(argument, o)
}
