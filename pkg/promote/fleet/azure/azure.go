package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/kalypso-gitops/kalypso/internal/retryafter"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

const (
	// Name is what --fleet calls it.
	Name = "azure-resource-graph"
	// maxSubscriptions is how many Resource Graph takes in one query.
	maxSubscriptions = 1000
	// maxAnswer bounds an answer in bytes. Resource Graph itself does not send more than half of it.
	maxAnswer = 32 << 20

	hintRole   = "give the identity the role Reader on the subscriptions of the clusters"
	hintSignIn = "run az login, or in a workflow azure/login, or set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
)

// graph is the fleet of clusters, Azure's own and Arc-enabled ones, whose Flux configurations Azure Resource Graph
// knows: all that the credential may read, or those of some subscriptions.
//
// It signs in with the default credential chain of the Azure SDK: service principal or workload identity in
// environment variables, managed identity, then the Azure CLI, the Azure Developer CLI and Azure PowerShell, which it
// starts; AZURE_TOKEN_CREDENTIALS narrows the chain. The role Reader is all that it needs. See cloudFor for clouds
// other than the public one.
type graph struct {
	subscriptions []string
	address       string
	client        *api.Client
	// rows is how many are asked for at a time; it shrinks if answers get too large.
	rows atomic.Int32
	// readable says that all subscriptions were found to be readable.
	readable atomic.Bool
}

// New makes the fleet "azure-resource-graph:SUBSCRIPTION,SUBSCRIPTION…". Without subscriptions it is all that the
// credential can see of its tenant.
func New(argument string, o api.Options) (promote.Fleet, error) {
	config, private, err := cloudFor(o.Getenv)
	if err != nil {
		return nil, err
	}
	sender := api.NewSender(o.Transport, maxAnswer)
	credential, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		ClientOptions: policy.ClientOptions{
			Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: config.ActiveDirectoryAuthorityHost},
			Telemetry: policy.TelemetryOptions{ApplicationID: o.UserAgent},
			Transport: sender,
		},
		DisableInstanceDiscovery: private,
	})
	if err != nil {
		return nil, errors.New(new(credentials.Scrubber).Line(err.Error()))
	}
	return newGraph(argument, o, config.Services[cloud.ResourceManager], credential, sender)
}

func newGraph(argument string, o api.Options, manager cloud.ServiceConfiguration, tokens azcore.TokenCredential, sender *api.Sender) (*graph, error) {
	subscriptions, err := readSubscriptions(argument)
	if err != nil {
		return nil, err
	}
	secrets := new(credentials.Scrubber)
	authorize := runtime.NewBearerTokenPolicy(&credential{tokens, secrets}, []string{manager.Audience + "/.default"}, nil)
	// The pipeline does not retry: api.Client does, by the clock and the headers of Resource Graph.
	pipeline := runtime.NewPipeline("", "", runtime.PipelineOptions{PerRetry: []policy.Policy{authorize}}, &policy.ClientOptions{
		Retry: policy.RetryOptions{MaxRetries: -1}, Telemetry: policy.TelemetryOptions{Disabled: true}, Transport: sender,
	})
	send := func(r *http.Request) (*http.Response, error) {
		request, err := runtime.NewRequestFromRequest(r)
		if err != nil {
			return nil, err
		}
		answer, err := pipeline.Do(request)
		if err != nil {
			return nil, err
		}
		if wait := untilQuota(answer.Header); wait > retryafter.Parse(answer.Header, o.Now) {
			answer.Header.Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
		}
		return answer, nil
	}
	a := &graph{
		subscriptions: subscriptions,
		address:       strings.TrimSuffix(manager.Endpoint, "/") + "/providers/Microsoft.ResourceGraph/resources?api-version=2024-04-01",
		client:        &api.Client{Options: o, Subject: "Azure", Send: send, Secrets: secrets, Hints: hints()},
	}
	a.rows.Store(maxRows)
	return a, nil
}

// hints say what to do about answers of Resource Manager.
func hints() map[int]string {
	const cloud = "is the cloud the right one? see " + envCloud + " and " + envEndpoint
	return map[int]string{
		api.Untrusted:           "is there something in between that opens encrypted connections? this machine must know its certificate",
		http.StatusOK:           cloud,
		http.StatusUnauthorized: hintSignIn,
		http.StatusForbidden:    hintRole,
		http.StatusNotFound:     cloud,
	}
}

// subscriptionID is the form of the ids of subscriptions.
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
func (a *graph) Look(ctx context.Context, wanted promote.Deployment) ([]promote.ReconcilerStatus, error) {
	query, err := queryFor(wanted)
	if err != nil {
		return nil, &promote.FleetError{Message: err.Error()}
	}
	if err := a.checkSubscriptions(ctx); err != nil {
		return nil, err
	}
	rows, err := a.all(ctx, query)
	if err != nil {
		return nil, err
	}
	var seen []clusterStatus
	for _, row := range rows {
		one, ours, err := row.read(wanted)
		if err != nil {
			return nil, a.unusable(err.Error())
		}
		if ours {
			seen = append(seen, one)
		}
	}
	return named(seen), nil
}
