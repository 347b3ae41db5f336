package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	// Name is what --fleet calls it.
	Name = "azure-resource-graph"
	// maxSubscriptions is how many Resource Graph takes in one query.
	maxSubscriptions = 1000
)

// Options are what asking Azure needs of the machine.
type Options struct {
	// Env reads environment variables; nil has none.
	Env func(string) string
	// Transport sends requests; nil means one like http.DefaultTransport.
	Transport http.RoundTripper
	// Sleep waits, or until ctx is done, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock.
	Now func() time.Time
	// UserAgent names the program to servers.
	UserAgent string
}

// graph is the fleet of clusters, Azure's own and Arc-enabled ones, whose Flux configurations Azure Resource Graph
// knows: all that the credential may read, or those of some subscriptions.
//
// It signs in with the default credential chain of the Azure SDK: service principal or workload identity in
// environment variables, managed identity, then the Azure CLI, the Azure Developer CLI and Azure PowerShell, which it
// starts; AZURE_TOKEN_CREDENTIALS narrows the chain. The role Reader is all that it needs. See siteOf for clouds
// other than the public one.
type graph struct {
	Options
	subscriptions []string
	client        *armresourcegraph.Client
	secrets       *credentials.Scrubber
	// rows is how many are asked for at a time; it shrinks if answers get too large.
	rows atomic.Int32
	// seen says that all subscriptions were seen to be readable.
	seen atomic.Bool
}

// access is how Azure is spoken to.
type access struct {
	cloud cloud.Configuration
	wire  *wire
	// credential makes tokens; secrets must not be told.
	credential azcore.TokenCredential
}

// New makes the fleet "azure-resource-graph:SUBSCRIPTION,SUBSCRIPTION…". Without subscriptions it is all that the
// credential can see of its tenant.
func New(argument string, o Options) (promote.Fleet, error) {
	place, err := siteOf(o.Env)
	if err != nil {
		return nil, err
	}
	wire := newWire(o.Transport)
	credential, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: place.authority},
			Telemetry: policy.TelemetryOptions{ApplicationID: o.UserAgent},
			Transport: wire,
		},
		DisableInstanceDiscovery: place.private,
	})
	if err != nil {
		return nil, errors.New(new(credentials.Scrubber).Line(err.Error()))
	}
	return newGraph(argument, o, access{place.configuration(), wire, credential})
}

func newGraph(argument string, o Options, access access) (*graph, error) {
	subscriptions, err := readSubscriptions(argument)
	if err != nil {
		return nil, err
	}
	a := &graph{Options: o, subscriptions: subscriptions, secrets: new(credentials.Scrubber)}
	a.rows.Store(maxRows)
	a.client, err = armresourcegraph.NewClient(&credential{access.credential, access.wire, a.secrets}, &arm.ClientOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     access.cloud,
			Retry:     policy.RetryOptions{MaxRetries: -1}, // ask does: the SDK waits by the clock of the machine
			Telemetry: policy.TelemetryOptions{ApplicationID: o.UserAgent},
			Transport: access.wire,
		},
		DisableRPRegistration: true, // it would change the subscription
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s", Name, a.secrets.Line(err.Error()))
	}
	return a, nil
}

// subscriptionID is what identifies subscriptions.
var subscriptionID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// readSubscriptions reads SUBSCRIPTION,SUBSCRIPTION…, in lower case and each once.
func readSubscriptions(argument string) ([]string, error) {
	if argument == "" {
		return nil, nil
	}
	var ids []string
	for id := range strings.SplitSeq(strings.ToLower(argument), ",") {
		id = strings.TrimSpace(id)
		if !subscriptionID.MatchString(id) {
			return nil, fmt.Errorf("%s: %q is not the id of a subscription, such as 00000000-0000-0000-0000-000000000000", Name, id)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > maxSubscriptions {
		return nil, fmt.Errorf("%s: there are %d subscriptions, and Azure takes %d at a time: repeat --fleet, with some of them each",
			Name, len(ids), maxSubscriptions)
	}
	return ids, nil
}

func (a *graph) String() string {
	if len(a.subscriptions) == 0 {
		return Name
	}
	return Name + ":" + strings.Join(a.subscriptions, ",")
}

// Look asks Resource Graph for the Flux configurations of a repository and branch.
func (a *graph) Look(ctx context.Context, wanted promote.Deployment) ([]promote.Sighting, error) {
	query, err := queryFor(wanted)
	if err != nil {
		return nil, &promote.FleetError{Message: err.Error()}
	}
	patience := maxPatience
	if err := a.readable(ctx, &patience); err != nil {
		return nil, err
	}
	rows, err := a.all(ctx, query, &patience)
	if err != nil {
		return nil, err
	}
	var seen []clusterSighting
	for _, row := range rows {
		one, ours, err := readRow(row, wanted)
		if err != nil {
			return nil, a.unsound(err.Error())
		}
		if ours {
			seen = append(seen, one)
		}
	}
	return named(seen), nil
}
