package azure

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

func TestLook(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer {
		return data(2, "", compliant(t, "edge-1"), compliant(t, "edge-2", "compliance", "Pending", "revision", "dev@sha1:"+oldCommit))
	})
	statuses, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	require.NoError(t, err)
	assert.Equal(t, []promote.ReconcilerStatus{
		{Cluster: "edge-1", Reconciler: "cfg", ClusterType: "large", Commit: wantCommit, State: promote.Compliant},
		{
			Cluster: "edge-2", Reconciler: "cfg", ClusterType: "large", Commit: oldCommit, State: promote.Pending,
			Message: "the Flux configuration is pending",
		},
	}, statuses)

	require.Len(t, server.asked, 1)
	asked := server.asked[0]
	assert.Equal(t, "2024-04-01", asked.version)
	assert.Equal(t, "Bearer secret-token-1", asked.token)
	assert.Nil(t, asked.Subscriptions, "all that the credential can see")
	assert.False(t, asked.Options.Partial)
	assert.Equal(t, "objectArray", asked.Options.Format)
	assert.Equal(t, 1000, asked.Options.Top)
	assert.Equal(t, `kubernetesconfigurationresources
| where type =~ 'microsoft.kubernetesconfiguration/fluxconfigurations'
| extend repository = tostring(properties.gitRepository.url), branch = tostring(properties.gitRepository.repositoryRef.branch)
| where branch == 'dev' and repository contains 'acme' and repository contains 'gitops'
| project id, repository, branch, revision = tostring(properties.sourceSyncedCommitId), compliance = tostring(properties.complianceState), suspended = tobool(properties.suspend), problem = tostring(properties.errorMessage), kustomizations = properties.kustomizations, statuses = properties.statuses
| order by id asc`, asked.Query)
}

func TestNothing(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer { return data(0, "") })
	statuses, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	require.NoError(t, err)
	assert.Empty(t, statuses)
}

// The token is kept from one look to the next: the Azure CLI takes a second to make one.
func TestLooksAgain(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(int, question) answer { return data(1, "", compliant(t, "edge-1")) })
	tokens := new(tokens)
	fleet := server.fleet(t, "", tokens)
	for range 3 {
		_, err := fleet.Query(t.Context(), wanted)
		require.NoError(t, err)
	}
	assert.Equal(t, 1, tokens.made)
}

// many answers with n clusters, in pages as they are asked for.
func many(n int) func(int, question) answer {
	rows := make([]record, n)
	for i := range rows {
		rows[i] = record{
			"id":         fluxID(sub, "edge", fmt.Sprintf("edge-%05d", i)),
			"repository": gitOps, "branch": "dev", "revision": "dev@sha1:" + wantCommit, "compliance": "Compliant",
		}
	}
	return func(_ int, asked question) answer {
		from := 0
		if asked.Options.Token != "" {
			if _, err := fmt.Sscanf(asked.Options.Token, "from-%d", &from); err != nil {
				return refusal(400, "BadRequest", "invalid token")
			}
		}
		to, next := min(from+asked.Options.Top, n), ""
		if to < n {
			next = fmt.Sprintf("from-%d", to)
		}
		return data(n, next, rows[from:to]...)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, many(3000))
	statuses, err := server.fleet(t, "", nil).Query(t.Context(), wanted)
	require.NoError(t, err)
	require.Len(t, statuses, 3000)
	assert.Equal(t, "edge-00000", statuses[0].Cluster)
	assert.Equal(t, "edge-02999", statuses[2999].Cluster)
	require.Len(t, server.asked, 3)
	for i, asked := range server.asked {
		assert.Equal(t, server.asked[0].Query, asked.Query)
		assert.Equal(t, []string{"", "from-1000", "from-2000"}[i], asked.Options.Token)
	}
	assert.Empty(t, server.slept)
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	server := newStandIn(t, func(_ int, asked question) answer {
		if strings.HasPrefix(asked.Query, "resourcecontainers") {
			return data(2, "", record{"id": strings.ToUpper(sub)}, record{"id": sub2})
		}
		return data(1, "", compliant(t, "edge-1"))
	})
	fleet := server.fleet(t, strings.ToUpper(sub)+", "+sub2+","+sub2, nil)
	assert.Equal(t, "azure-resource-graph:"+sub+","+sub2, fleet.String())
	for range 2 {
		_, err := fleet.Query(t.Context(), wanted)
		require.NoError(t, err)
	}
	require.Len(t, server.asked, 3, "whether they can be read is asked once")
	for _, asked := range server.asked {
		assert.Equal(t, []string{sub, sub2}, asked.Subscriptions)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("00000000-0000-0000-0000-%012d", i)
	}
	for argument, want := range map[string]string{
		"prod":                         `"prod" is not a subscription ID`,
		sub + ",":                      `"" is not a subscription ID`,
		sub + "' or 1 == 1":            "is not a subscription ID",
		"/subscriptions/" + sub:        "is not a subscription ID",
		strings.Join(many, ","):        "1001 subscriptions exceed Azure's limit of 1000",
		sub + ";" + sub2:               "is not a subscription ID",
		"https://management.azure.com": "is not a subscription ID",
	} {
		_, err := readSubscriptions(argument)
		require.ErrorContains(t, err, want)
	}
	fleet, err := New("", api.Options{})
	require.NoError(t, err)
	assert.Equal(t, "azure-resource-graph", fleet.String())
	_, err = New("prod", api.Options{})
	require.ErrorContains(t, err, "not a subscription ID")
	_, err = New("", api.Options{Env: func(name string) string {
		return map[string]string{"AZURE_ENVIRONMENT": "moon"}[name]
	}})
	require.ErrorContains(t, err, `AZURE_ENVIRONMENT: unknown Azure cloud "moon" (one of public, usgovernment, china)`)
}

func TestCloud(t *testing.T) {
	t.Parallel()
	const (
		public, government, china = "https://management.azure.com", "https://management.usgovcloudapi.net", "https://management.chinacloudapi.cn"
		publicSTS                 = "https://login.microsoftonline.com/"
		governmentSTS             = "https://login.microsoftonline.us/"
		chinaSTS                  = "https://login.chinacloudapi.cn/"
	)
	type want struct {
		endpoint, authority string
		private             bool
	}
	for name, test := range map[string]struct {
		env  map[string]string
		want want
	}{
		"public by default":         {nil, want{public, publicSTS, false}},
		"as Terraform":              {map[string]string{"ARM_ENVIRONMENT": "usgovernment"}, want{government, governmentSTS, false}},
		"as the Azure CLI":          {map[string]string{"AZURE_ENVIRONMENT": "AzureChinaCloud"}, want{china, chinaSTS, false}},
		"as the SDKs":               {map[string]string{"AZURE_ENVIRONMENT": "AZUREUSGOVERNMENTCLOUD"}, want{government, governmentSTS, false}},
		"the first goes first":      {map[string]string{"AZURE_ENVIRONMENT": "public", "ARM_ENVIRONMENT": "china"}, want{public, publicSTS, false}},
		"by workload identity":      {map[string]string{"AZURE_AUTHORITY_HOST": governmentSTS}, want{government, "", false}},
		"authority without a slash": {map[string]string{"AZURE_AUTHORITY_HOST": "https://login.chinacloudapi.cn"}, want{china, "", false}},
		"elsewhere": {
			map[string]string{"AZURE_RESOURCE_MANAGER_ENDPOINT": "https://management.example.com/", "AZURE_AUTHORITY_HOST": "https://login.example.com/"},
			want{"https://management.example.com", "", true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, private, err := cloudFor(func(name string) string { return test.env[name] })
			require.NoError(t, err)
			manager := config.Services[cloud.ResourceManager]
			assert.Equal(t, test.want, want{manager.Endpoint, config.ActiveDirectoryAuthorityHost, private})
			if manager.Endpoint == "https://management.example.com" {
				assert.Equal(t, "https://management.example.com", manager.Audience, "no token that Azure would take")
			}
		})
	}
}

func TestCloudRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, value, want string }{
		{"AZURE_ENVIRONMENT", "usgoverment", `did you mean "usgovernment"?`},
		{"AZURE_ENVIRONMENT", "AzureGermanCloud", `unknown Azure cloud "AzureGermanCloud"`},
		{"ARM_ENVIRONMENT", "chnia", `ARM_ENVIRONMENT: unknown Azure cloud "chnia" (did you mean "china"?)`},
		{"AZURE_RESOURCE_MANAGER_ENDPOINT", "http://127.0.0.1:8080", "must be a URL such as https://"},
		{"AZURE_RESOURCE_MANAGER_ENDPOINT", "management.azure.com", "must be a URL such as https://"},
		{"AZURE_RESOURCE_MANAGER_ENDPOINT", "https://me:secret@management.example.com", "must be a URL such as https://"},
		{"AZURE_RESOURCE_MANAGER_ENDPOINT", "https://management.example.com/?x=y", "must be a URL such as https://"},
	} {
		_, _, err := cloudFor(func(name string) string { return map[string]string{test.name: test.value}[name] })
		require.ErrorContains(t, err, test.want, test.value)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// The default chain of the SDK, from the environment to the answer, against an authority that is not Microsoft's. It
// is not parallel: the SDK reads the environment of the process.
func TestDefaultChain(t *testing.T) {
	server := newStandIn(t, func(int, question) answer { return data(1, "", compliant(t, "edge-1")) })
	authority := newAuthority(t, token("secret-from-authority"))
	for name, value := range map[string]string{
		"AZURE_AUTHORITY_HOST": authority.URL, "AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": sub2,
		"AZURE_CLIENT_SECRET": "secret", "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
	} {
		t.Setenv(name, value)
	}
	options := server.options()
	options.Env = func(name string) string {
		return map[string]string{"AZURE_AUTHORITY_HOST": authority.URL, "AZURE_RESOURCE_MANAGER_ENDPOINT": server.URL}[name]
	}
	fleet, err := New("", options)
	require.NoError(t, err)
	statuses, err := fleet.Query(t.Context(), wanted)
	require.NoError(t, err)
	assert.Len(t, statuses, 1)
	assert.Equal(t, "Bearer secret-from-authority", server.asked[0].token)
	assert.Contains(t, authority.scopes(), server.URL+"/.default", "no token that Azure would take")
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := newStandIn(t, func(int, question) answer {
		cancel()
		return refusal(503, "ServiceUnavailable", "busy")
	})
	_, err := server.fleet(t, "", nil).Query(ctx, wanted)
	fault := faultIn(t, err)
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, server.asked, 1)
	assert.NotEmpty(t, fault.Message)
}
