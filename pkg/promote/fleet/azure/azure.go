package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	"github.com/kalypso-gitops/kalypso/pkg/diag"
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

	hintRole   = "assign the identity the role Reader on the subscriptions of the clusters"
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
	const cloud = "check the cloud: " + envCloud + " and " + envEndpoint
	return map[int]string{
		api.Untrusted:           "a proxy may intercept TLS: this machine must trust its certificate",
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
			return nil, fmt.Errorf("%s: %q is not a subscription ID, such as 00000000-0000-0000-0000-000000000000", Name, id)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > maxSubscriptions {
		return nil, fmt.Errorf("%s: %d subscriptions exceed Azure's limit of %d: repeat --fleet with fewer",
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

// Query reads from Resource Graph the Flux configurations of a repository and branch.
func (a *graph) Query(ctx context.Context, wanted promote.Deployment) ([]promote.ReconcilerStatus, error) {
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

// The environment variables that say which Azure is meant.
const (
	// envCloud is what Azure's own tools and Ansible read, envCloudToo what Terraform does.
	envCloud    = "AZURE_ENVIRONMENT"
	envCloudToo = "ARM_ENVIRONMENT"
	// envAuthority is where to sign in. The SDK reads it too.
	envAuthority = "AZURE_AUTHORITY_HOST"
	// envEndpoint is the Resource Manager of a cloud that is none of those that we know.
	envEndpoint = "AZURE_RESOURCE_MANAGER_ENDPOINT"
)

// knownClouds are the clouds of Azure, by the names that they go by, in lower case. The first row of names is
// what Terraform calls them, the second what the Azure CLI does, the third what the SDKs did.
func knownClouds() map[string]cloud.Configuration {
	return map[string]cloud.Configuration{
		"public":                 cloud.AzurePublic,
		"azurecloud":             cloud.AzurePublic,
		"azurepubliccloud":       cloud.AzurePublic,
		"usgovernment":           cloud.AzureGovernment,
		"azureusgovernment":      cloud.AzureGovernment,
		"azureusgovernmentcloud": cloud.AzureGovernment,
		"china":                  cloud.AzureChina,
		"azurechinacloud":        cloud.AzureChina,
	}
}

// cloudFor returns the cloud that the environment names: AZURE_ENVIRONMENT, or else ARM_ENVIRONMENT, is public,
// usgovernment or china, or one of their other names, in any case. Without either, the cloud is the one of
// AZURE_AUTHORITY_HOST, which workload identity sets, and else the public one. An empty authority leaves it to the SDK to
// read that variable. AZURE_RESOURCE_MANAGER_ENDPOINT is the https URL of a Resource Manager elsewhere, which then is
// also what tokens are asked for, so that it is never sent one that Azure would take.
//
// private says that the authority is none of Microsoft's, so that those must not be asked about it.
func cloudFor(env func(string) string) (config cloud.Configuration, private bool, err error) {
	known, authority := cloud.AzurePublic, env(envAuthority)
	private = authority != ""
	for _, c := range knownClouds() {
		if private && strings.EqualFold(strings.TrimSuffix(authority, "/"), strings.TrimSuffix(c.ActiveDirectoryAuthorityHost, "/")) {
			known, private = c, false
		}
	}
	variable := envCloud
	if env(variable) == "" {
		variable = envCloudToo
	}
	if name := env(variable); name != "" {
		var found bool
		if known, found = knownClouds()[strings.ToLower(name)]; !found {
			hint := diag.DidYouMean(name, []string{"public", "usgovernment", "china"})
			return config, false, fmt.Errorf("%s: unknown Azure cloud %q (%s)", variable, name, hint)
		}
	}
	manager := known.Services[cloud.ResourceManager]
	if endpoint := env(envEndpoint); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Scheme != "https" || u.Host == "" || strings.TrimSuffix(endpoint, "/") != "https://"+u.Host {
			return config, false, fmt.Errorf("%s must be a URL such as https://management.example.com", envEndpoint)
		}
		manager = cloud.ServiceConfiguration{Endpoint: "https://" + u.Host, Audience: "https://" + u.Host}
	}
	config.Services = map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: manager}
	if authority == "" {
		config.ActiveDirectoryAuthorityHost = known.ActiveDirectoryAuthorityHost
	}
	return config, private, nil
}

// credential makes tokens, and keeps them out of messages.
type credential struct {
	azcore.TokenCredential
	secrets *credentials.Scrubber
}

// stsError is an error of the authority. What follows it are ids for the support.
var stsError = regexp.MustCompile(`(AADSTS[0-9]+: [^"\\\r\n]*?)\.?(?: Trace ID:|["\\\r\n]|$)`)

// GetToken implements azcore.TokenCredential. Its error is a *promote.FleetError: the SDK explains in many lines, with an
// answer and links in them.
func (c *credential) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := c.TokenCredential.GetToken(ctx, o)
	if err == nil {
		c.secrets.Add(token.Token)
		return token, nil
	}
	fault := &promote.FleetError{Hint: hintSignIn, Err: ctx.Err()}
	var failed *azidentity.AuthenticationFailedError
	reason, _, _ := strings.Cut(err.Error(), ". To troubleshoot")
	switch said := stsError.FindStringSubmatch(reason); {
	case said != nil:
		reason = said[1]
	case !errors.As(err, &failed): // no credential of the chain can be used
		reason = "not signed in"
	case failed.RawResponse != nil:
		status := &api.StatusError{Status: failed.RawResponse.StatusCode}
		reason, fault.Temporary = "it answers "+status.Error(), status.Temporary()
	default: // there was no answer
		fault.Temporary = true
	}
	if fault.Temporary {
		fault.Hint = ""
	}
	fault.Message = "cannot sign in to Azure: " + c.secrets.Line(reason)
	return azcore.AccessToken{}, fault
}
