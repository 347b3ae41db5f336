package azure

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

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

// knownClouds are the clouds that there are, by the names that they go by, in lower case. The first row of names is
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
			return config, false, fmt.Errorf("%s: there is no Azure cloud %q (%s)", variable, name, hint)
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
