package flux

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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
)

// clusters returns those that are to be asked, in the order in which they were named. The error is a
// *promote.FleetError that tells all that is wrong with their contexts.
//
// A context may name a credential plugin, a program that client-go starts as kubectl does: who writes the kubeconfig
// decides what runs. It has no standard input here, for several of them run side by side, and its standard error is
// that of this process.
func (f *fleet) clusters() ([]cluster, error) {
	config, err := f.kubeconfig()
	if err != nil {
		return nil, err
	}
	names := f.contexts
	if len(names) == 0 {
		names = []string{config.CurrentContext}
	}
	if err := known(config, names); err != nil {
		return nil, err
	}
	var clusters []cluster
	var problems []string
	for _, name := range names {
		cluster, err := f.cluster(config, name)
		if err != nil {
			problems = append(problems, fmt.Sprintf("context %q: %s", name, scrubberOf(config, name).Line(err.Error())))
			continue
		}
		clusters = append(clusters, cluster)
	}
	if len(problems) > 0 {
		return nil, &promote.FleetError{Message: "the kubeconfig cannot be used: " + strings.Join(problems, "; ")}
	}
	return clusters, nil
}

// known returns an error that tells which of the names are no contexts.
func known(config *api.Config, names []string) error {
	all := slices.Sorted(maps.Keys(config.Contexts))
	if slices.Equal(names, []string{""}) {
		return &promote.FleetError{
			Message: "the kubeconfig has no current context",
			Hint:    "name contexts: --fleet flux:context1,context2; " + offer("", all),
		}
	}
	var unknown []string
	for _, name := range names {
		if config.Contexts[name] == nil {
			unknown = append(unknown, fmt.Sprintf("%q (%s)", name, offer(name, all)))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return &promote.FleetError{
		Message: "the kubeconfig has no context " + strings.Join(unknown, ", nor "),
		Hint:    "kubectl config get-contexts lists those that there are",
	}
}

// offer says what could be meant instead of a name that is no context.
func offer(name string, contexts []string) string {
	if len(contexts) == 0 {
		return "there are none"
	}
	return cmp.Or(diag.DidYouMean(name, contexts), fmt.Sprintf("there are %d", len(contexts)))
}

// kubeconfig reads the files that kubectl would read, and merges them as it does. If there is none, and this is
// a pod, it is the cluster around it. The error is a *promote.FleetError.
func (f *fleet) kubeconfig() (*api.Config, error) {
	files := f.kubeconfigFiles()
	found := false
	for _, file := range files {
		// Each is read on its own first: what client-go says of several cannot be taken apart any more.
		_, err := clientcmd.LoadFromFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, unreadable(file, err)
		}
		found = true
	}
	if !found {
		return f.inCluster(files)
	}
	rules := clientcmd.ClientConfigLoadingRules{Precedence: files, Warner: func(error) {}}
	config, err := rules.Load()
	if err != nil {
		return nil, unreadable(strings.Join(files, ", "), err)
	}
	return config, nil
}

// unreadable is the error for a kubeconfig. Why a file is no kubeconfig is not repeated: the reason may quote from it.
func unreadable(file string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &promote.FleetError{Message: fmt.Sprintf("read the kubeconfig: %v", path), Err: path}
	}
	return &promote.FleetError{
		Message: fmt.Sprintf("%s is not a kubeconfig", file),
		Hint:    "kubectl config view says what is wrong with it",
	}
}

// kubeconfigFiles are the places where a kubeconfig may be: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
func (f *fleet) kubeconfigFiles() []string {
	if list := f.env("KUBECONFIG"); list != "" {
		return slices.DeleteFunc(filepath.SplitList(list), func(file string) bool { return file == "" })
	}
	home := cmp.Or(f.env("HOME"), f.env("USERPROFILE"))
	if home == "" {
		return nil
	}
	return []string{filepath.Join(home, ".kube", "config")}
}

func (f *fleet) env(name string) string {
	if f.options.Env == nil {
		return ""
	}
	return f.options.Env(name)
}

// inCluster is the kubeconfig of a pod: it is told where the API server is, and has an account to speak to it.
// See https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
func (f *fleet) inCluster(files []string) (*api.Config, error) {
	host, port := f.env("KUBERNETES_SERVICE_HOST"), f.env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		message := "there is no kubeconfig"
		if len(files) > 0 {
			message += " in " + strings.Join(files, ", ")
		}
		return nil, &promote.FleetError{Message: message, Hint: "set KUBECONFIG to the file that has the contexts of the clusters"}
	}
	const name = "in-cluster"
	config := api.NewConfig()
	config.CurrentContext = name
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.Clusters[name] = &api.Cluster{
		Server:               "https://" + net.JoinHostPort(host, port),
		CertificateAuthority: filepath.Join(f.account, "ca.crt"),
	}
	config.AuthInfos[name] = &api.AuthInfo{TokenFile: filepath.Join(f.account, "token")}
	return config, nil
}

// cluster makes the client of a context.
func (f *fleet) cluster(config *api.Config, name string) (cluster, error) {
	at := config.Contexts[name]
	if config.Clusters[at.Cluster] == nil {
		return cluster{}, fmt.Errorf("there is no cluster %q", at.Cluster)
	}
	if at.AuthInfo != "" && config.AuthInfos[at.AuthInfo] == nil {
		return cluster{}, fmt.Errorf("there is no user %q", at.AuthInfo)
	}
	access, err := clientcmd.NewNonInteractiveClientConfig(*config, name, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return cluster{}, err
	}
	// Files are read once a look. client-go would watch them, and would log what becomes of them.
	if err := rest.LoadTLSFiles(access); err != nil {
		return cluster{}, err
	}
	access.CAFile, access.CertFile, access.KeyFile = "", "", ""
	access.UserAgent = f.options.UserAgent
	if plugin := access.ExecProvider; plugin != nil {
		plugin.StdinUnavailable = true
		plugin.StdinUnavailableMessage = "several clusters are asked at once"
	}
	client, err := newClient(access, f.options, f.limits)
	if err != nil {
		return cluster{}, err
	}
	client.scrubber = scrubberOf(config, name)
	client.scrubber.Add(strings.TrimSpace(access.BearerToken)) // it may have come from a file
	return cluster{name: name, client: client}, nil
}

// scrubberOf knows the secrets of a context.
func scrubberOf(config *api.Config, name string) *credentials.Scrubber {
	scrubber := &credentials.Scrubber{}
	if at := config.Contexts[name]; at != nil && config.AuthInfos[at.AuthInfo] != nil {
		user := config.AuthInfos[at.AuthInfo]
		scrubber.Add(user.Token)
		scrubber.Add(user.Password)
	}
	return scrubber
}
