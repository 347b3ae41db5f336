package azure

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
	// envCloud is what Azure's own tools and Ansible read, envCloudToo what Terraform does.
	envCloud    = "AZURE_ENVIRONMENT"
	envCloudToo = "ARM_ENVIRONMENT"
	// envAuthority is where to sign in. The SDK reads it too.
	envAuthority = "AZURE_AUTHORITY_HOST"
	// envEndpoint is the Resource Manager of a cloud that is none of those that we know.
	envEndpoint = "AZURE_RESOURCE_MANAGER_ENDPOINT"
)

// site is a cloud: where to sign in, and what to ask.
type site struct {
	// authority is where to sign in; empty leaves it to AZURE_AUTHORITY_HOST, and without that means the public cloud.
	authority string
	// private says that the authority is none of Microsoft's, so that those must not be asked about it.
	private bool
	manager cloud.ServiceConfiguration
}

func (p site) configuration() cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: p.authority,
		Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: p.manager},
	}
}

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

// siteOf is the cloud that the environment names: AZURE_ENVIRONMENT, or else ARM_ENVIRONMENT, is public,
// usgovernment or china, or one of their other names, in any case. Without either, the cloud is the one of
// AZURE_AUTHORITY_HOST, which workload identity sets, and else the public one. AZURE_RESOURCE_MANAGER_ENDPOINT is the
// https URL of a Resource Manager elsewhere, which then is also what tokens are asked for, so that it is never sent one
// that Azure would take.
func siteOf(env func(string) string) (site, error) {
	if env == nil {
		env = func(string) string { return "" }
	}
	authority := env(envAuthority)
	known, named, err := namedCloud(env)
	if err != nil {
		return site{}, err
	}
	home, ofMicrosoft := cloudOf(authority)
	if !named {
		known = home
	}
	place := site{manager: known.Services[cloud.ResourceManager], private: authority != "" && !ofMicrosoft}
	if authority == "" {
		place.authority = known.ActiveDirectoryAuthorityHost
	}
	endpoint := env(envEndpoint)
	if endpoint == "" {
		return place, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return site{}, fmt.Errorf("%s must be a URL such as https://management.example.com", envEndpoint)
	}
	at := "https://" + u.Host
	place.manager = cloud.ServiceConfiguration{Endpoint: at, Audience: at}
	return place, nil
}

// namedCloud is the cloud that has been named, if one has.
func namedCloud(env func(string) string) (known cloud.Configuration, named bool, err error) {
	variable := envCloud
	if env(variable) == "" {
		variable = envCloudToo
	}
	name := env(variable)
	if name == "" {
		return cloud.AzurePublic, false, nil
	}
	clouds := knownClouds()
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

// cloudOf is the cloud whose authority it is, and whether there is one; else the public one.
func cloudOf(authority string) (cloud.Configuration, bool) {
	host := func(text string) string {
		u, err := url.Parse(text)
		if err != nil {
			return ""
		}
		return strings.ToLower(u.Host)
	}
	for _, known := range knownClouds() {
		if host(authority) == host(known.ActiveDirectoryAuthorityHost) {
			return known, true
		}
	}
	return cloud.AzurePublic, false
}
