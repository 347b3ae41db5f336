package fleet

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resourcegraph/armresourcegraph"

	"github.com/kalypso-gitops/kalypso/pkg/gitops"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
)

const (
	azureName = "azure-resource-graph"
	// maxAzureSubscriptions is how many Resource Graph takes in one query.
	maxAzureSubscriptions = 1000
)

// azureGraph is the fleet of clusters, Azure's own and Arc-enabled ones, whose Flux configurations Azure Resource Graph
// knows: all that the credential may read, or those of some subscriptions.
//
// It signs in with the default credential chain of the Azure SDK: service principal or workload identity in
// environment variables, managed identity, then the Azure CLI, the Azure Developer CLI and Azure PowerShell, which it
// starts; AZURE_TOKEN_CREDENTIALS narrows the chain. The role Reader is all that it needs. See azureCloud for clouds
// other than the public one.
type azureGraph struct {
	Options
	subscriptions []string
	client        *armresourcegraph.Client
	secrets       *gitops.Scrubber
	// rows is how many are asked for at a time; it shrinks if answers get too large.
	rows atomic.Int32
	// seen says that all subscriptions were seen to be readable.
	seen atomic.Bool
}

// azureAccess is how Azure is spoken to.
type azureAccess struct {
	cloud cloud.Configuration
	wire  *azureWire
	// credential makes tokens; secrets must not be told.
	credential azcore.TokenCredential
}

// newAzure makes the fleet "azure-resource-graph:SUBSCRIPTION,SUBSCRIPTION…". Without subscriptions it is all that the
// credential can see of its tenant.
func newAzure(argument string, o Options) (promote.Fleet, error) {
	place, err := azureCloud(o.Env)
	if err != nil {
		return nil, err
	}
	wire := newAzureWire(o.Transport)
	credential, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: place.authority},
			Telemetry: policy.TelemetryOptions{ApplicationID: o.UserAgent},
			Transport: wire,
		},
		DisableInstanceDiscovery: place.private,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s", azureName, new(gitops.Scrubber).Line(err.Error()))
	}
	return newAzureGraph(argument, o, azureAccess{place.configuration(), wire, credential})
}

func newAzureGraph(argument string, o Options, access azureAccess) (*azureGraph, error) {
	subscriptions, err := azureSubscriptions(argument)
	if err != nil {
		return nil, err
	}
	a := &azureGraph{Options: o, subscriptions: subscriptions, secrets: new(gitops.Scrubber)}
	a.rows.Store(maxAzureRows)
	a.client, err = armresourcegraph.NewClient(&azureCredential{access.credential, access.wire, a.secrets}, &arm.ClientOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     access.cloud,
			Retry:     policy.RetryOptions{MaxRetries: -1}, // ask does: the SDK waits by the clock of the machine
			Telemetry: policy.TelemetryOptions{ApplicationID: o.UserAgent},
			Transport: access.wire,
		},
		DisableRPRegistration: true, // it would change the subscription
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %s", azureName, a.secrets.Line(err.Error()))
	}
	return a, nil
}

// azureID is what identifies subscriptions.
var azureID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// azureSubscriptions reads SUBSCRIPTION,SUBSCRIPTION…, in lower case and each once.
func azureSubscriptions(argument string) ([]string, error) {
	if argument == "" {
		return nil, nil
	}
	var ids []string
	for id := range strings.SplitSeq(strings.ToLower(argument), ",") {
		id = strings.TrimSpace(id)
		if !azureID.MatchString(id) {
			return nil, fmt.Errorf("%s: %q is not the id of a subscription, such as 00000000-0000-0000-0000-000000000000", azureName, id)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > maxAzureSubscriptions {
		return nil, fmt.Errorf("%s: there are %d subscriptions, and Azure takes %d at a time: repeat --fleet, with some of them each",
			azureName, len(ids), maxAzureSubscriptions)
	}
	return ids, nil
}

func (a *azureGraph) String() string {
	if len(a.subscriptions) == 0 {
		return azureName
	}
	return azureName + ":" + strings.Join(a.subscriptions, ",")
}

// Look asks Resource Graph for the Flux configurations of a repository and branch.
func (a *azureGraph) Look(ctx context.Context, wanted promote.Deployment) ([]promote.Sighting, error) {
	query, err := azureQuery(wanted)
	if err != nil {
		return nil, &promote.FleetError{Message: err.Error()}
	}
	patience := azurePatience
	if err := a.readable(ctx, &patience); err != nil {
		return nil, err
	}
	rows, err := a.all(ctx, query, &patience)
	if err != nil {
		return nil, err
	}
	var seen []azureSeen
	for _, row := range rows {
		one, ours, err := azureSighting(row, wanted)
		if err != nil {
			return nil, a.unsound(err.Error())
		}
		if ours {
			seen = append(seen, one)
		}
	}
	return azureNamed(seen), nil
}
