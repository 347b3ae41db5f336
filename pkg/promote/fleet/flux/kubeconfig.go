package flux

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/promote"
	fleetapi "github.com/kalypso-gitops/kalypso/pkg/promote/fleet/api"
)

// clusters returns the clusters of the contexts, in their order. The error is a *promote.FleetError.
//
// A context may have a credential plugin, a program that client-go starts, as kubectl does. It has no standard input,
// because several may run concurrently, and it writes to the standard error of this process.
func (f *fleet) clusters() ([]cluster, error) {
	config, err := f.kubeconfig()
	if err != nil {
		return nil, err
	}
	names := f.contexts
	if len(names) == 0 {
		names = []string{config.CurrentContext}
	}
	clusters := make([]cluster, len(names))
	for i, name := range names {
		if config.Contexts[name] == nil {
			return nil, unknownContext(config, name)
		}
		if clusters[i], err = f.cluster(config, name); err != nil {
			message := new(credentials.Scrubber).Line(fmt.Sprintf("context %q: %s", name, err))
			return nil, &promote.FleetError{Message: "the kubeconfig cannot be used: " + message}
		}
	}
	return clusters, nil
}

func unknownContext(config *api.Config, name string) error {
	message := "the kubeconfig has no current context"
	if name != "" {
		message = fmt.Sprintf("the kubeconfig has no context %q (%s)", name,
			cmp.Or(diag.DidYouMean(name, slices.Sorted(maps.Keys(config.Contexts))), "unknown context"))
	}
	return &promote.FleetError{
		Message: message, Hint: "kubectl config get-contexts lists the contexts: --fleet flux:context1,context2",
	}
}

// kubeconfig reads the files that kubectl would read, and merges them as it does. If there is none, and this is
// a pod, it is the cluster around it. The error is a *promote.FleetError. Why a file is no kubeconfig is not repeated:
// the reason may quote from it.
func (f *fleet) kubeconfig() (*api.Config, error) {
	files := f.kubeconfigFiles()
	rules := clientcmd.ClientConfigLoadingRules{Precedence: files, Warner: func(error) {}}
	config, err := rules.Load()
	if err != nil {
		return nil, &promote.FleetError{
			Message: strings.Join(files, ", ") + " is not a kubeconfig", Hint: "run kubectl config view to see the error",
		}
	}
	host, port := f.options.Getenv("KUBERNETES_SERVICE_HOST"), f.options.Getenv("KUBERNETES_SERVICE_PORT")
	switch {
	case len(config.Contexts) > 0:
		return config, nil
	case host != "" && port != "":
		return f.inCluster(net.JoinHostPort(host, port)), nil
	}
	message := "kubeconfig not found"
	if len(files) > 0 {
		message += " in " + strings.Join(files, ", ")
	}
	return nil, &promote.FleetError{Message: message, Hint: "set KUBECONFIG to the file that has the contexts of the clusters"}
}

// kubeconfigFiles are the places where a kubeconfig may be: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
func (f *fleet) kubeconfigFiles() []string {
	if list := f.options.Getenv("KUBECONFIG"); list != "" {
		return slices.DeleteFunc(filepath.SplitList(list), func(file string) bool { return file == "" })
	}
	home := cmp.Or(f.options.Getenv("HOME"), f.options.Getenv("USERPROFILE"))
	if home == "" {
		return nil
	}
	return []string{filepath.Join(home, ".kube", "config")}
}

// inCluster returns the kubeconfig of a pod, which has a service account.
// See https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
func (f *fleet) inCluster(address string) *api.Config {
	const name = "in-cluster"
	config := api.NewConfig()
	config.CurrentContext = name
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.Clusters[name] = &api.Cluster{Server: "https://" + address, CertificateAuthority: filepath.Join(f.account, "ca.crt")}
	config.AuthInfos[name] = &api.AuthInfo{TokenFile: filepath.Join(f.account, "token")}
	return config
}

// cluster makes the client of a context. It has the credentials, keys and proxy of the context from client-go, and
// requests are sent without it: the clients there read answers of any length, wait by their own clock, and log.
func (f *fleet) cluster(config *api.Config, name string) (cluster, error) {
	switch at := config.Contexts[name]; { // client-go would ask without credentials, or localhost
	case config.Clusters[at.Cluster] == nil:
		return cluster{}, fmt.Errorf("cluster %q not found", at.Cluster)
	case at.AuthInfo != "" && config.AuthInfos[at.AuthInfo] == nil:
		return cluster{}, fmt.Errorf("user %q not found", at.AuthInfo)
	}
	access, err := clientcmd.NewNonInteractiveClientConfig(*config, name, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return cluster{}, err
	}
	secrets := new(credentials.Scrubber)
	secrets.Add(strings.TrimSpace(access.BearerToken)) // it may have come from a file
	secrets.Add(access.Password)
	// Files are read once a look. client-go would watch them, and would log what becomes of them.
	if err := rest.LoadTLSFiles(access); err != nil {
		return cluster{}, err
	}
	access.CAFile, access.CertFile, access.KeyFile = "", "", ""
	if plugin := access.ExecProvider; plugin != nil {
		plugin.StdinUnavailable = true
		plugin.StdinUnavailableMessage = "several clusters are queried at once"
	}
	base, _, err := rest.DefaultServerUrlFor(access)
	if err != nil {
		return cluster{}, err
	}
	transport, err := rest.TransportFor(access)
	if err != nil {
		return cluster{}, err
	}
	return cluster{name: name, base: base, client: &fleetapi.Client{
		Options: f.options, Send: fleetapi.NewSender(transport, maxAnswer).Do, Secrets: secrets, Hints: hints(),
	}}, nil
}
