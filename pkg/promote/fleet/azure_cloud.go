package fleet

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// The environment variables that say which Azure is meant.
const (
	// envAzureCloud is what Azure's own tools and Ansible read, envAzureCloudToo what Terraform does.
	envAzureCloud    = "AZURE_ENVIRONMENT"
	envAzureCloudToo = "ARM_ENVIRONMENT"
	// envAzureAuthority is where to sign in. The SDK reads it too.
	envAzureAuthority = "AZURE_AUTHORITY_HOST"
	// envAzureEndpoint is the Resource Manager of a cloud that is none of those that we know.
	envAzureEndpoint = "AZURE_RESOURCE_MANAGER_ENDPOINT"
)

// azurePlace is a cloud.
type azurePlace struct {
	// authority is where to sign in; empty leaves it to AZURE_AUTHORITY_HOST, and without that means the public cloud.
	authority string
	// private says that the authority is none of Microsoft's, so that those must not be asked about it.
	private bool
	manager cloud.ServiceConfiguration
}

func (p azurePlace) configuration() cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: p.authority,
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: p.manager},
	}
}

// azureClouds are the clouds that there are, by the names that they go by, in lower case. The first row of names is
// what Terraform calls them, the second what the Azure CLI does, the third what the SDKs did.
func azureClouds() map[string]cloud.Configuration {
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

// azureCloud is the cloud that the environment names: AZURE_ENVIRONMENT, or else ARM_ENVIRONMENT, is public,
// usgovernment or china, or one of their other names, in any case. Without either, the cloud is the one of
// AZURE_AUTHORITY_HOST, which workload identity sets, and else the public one. AZURE_RESOURCE_MANAGER_ENDPOINT is the
// https URL of a Resource Manager elsewhere, which then is also what tokens are asked for, so that it is never sent one
// that Azure would take.
func azureCloud(env func(string) string) (azurePlace, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	authority := env(envAzureAuthority)
	known, named, err := azureNamedCloud(env)
	if err != nil {
		return azurePlace{}, err
	}
	home, ofMicrosoft := azureCloudOf(authority)
	if !named {
		known = home
	}
	place := azurePlace{manager: known.Services[cloud.ResourceManager], private: authority != "" && !ofMicrosoft}
	if authority == "" {
		place.authority = known.ActiveDirectoryAuthorityHost
	}
	endpoint := env(envAzureEndpoint)
	if endpoint == "" {
		return place, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return azurePlace{}, fmt.Errorf("%s must be a URL such as https://management.example.com", envAzureEndpoint)
	}
	at := "https://" + u.Host
	place.manager = cloud.ServiceConfiguration{Endpoint: at, Audience: at}
	return place, nil
}

// azureNamedCloud is the cloud that has been named, if one has.
func azureNamedCloud(env func(string) string) (known cloud.Configuration, named bool, err error) {
	variable := envAzureCloud
	if env(variable) == "" {
		variable = envAzureCloudToo
	}
	name := env(variable)
	if name == "" {
		return cloud.AzurePublic, false, nil
	}
	clouds := azureClouds()
	known, found := clouds[strings.ToLower(name)]
	if !found {
		hint := "one of public, usgovernment, china"
		if near := diag.Nearest(name, slices.Sorted(maps.Keys(clouds))); near != "" {
			hint = diag.DidYouMean(name, []string{near})
		}
		return cloud.Configuration{}, false, fmt.Errorf("%s: there is no Azure cloud %q (%s)", variable, name, hint)
	}
	return known, true, nil
}

// azureCloudOf is the cloud whose authority it is, and whether there is one; else the public one.
func azureCloudOf(authority string) (cloud.Configuration, bool) {
	host := func(text string) string {
		u, err := url.Parse(text)
		if err != nil {
			return ""
		}
		return strings.ToLower(u.Host)
	}
	for _, known := range azureClouds() {
		if host(authority) == host(known.ActiveDirectoryAuthorityHost) {
			return known, true
		}
	}
	return cloud.AzurePublic, false
}
