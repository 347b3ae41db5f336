// Package scaffold writes what a new fleet begins with: the branches of a control plane and of a GitOps repository, the
// workflows between them, and a sample of a whole fleet to try kalypso with.
//
// In: what the repositories and environments are called. Out: files by path, and nothing else: who calls it makes
// repositories of them. The workflows in docs/workflows are made here too, so that there is one of each.
package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// Files are the contents of files by their slash-separated paths.
type Files map[string]string

// Fleet is what a new fleet is called, and who is in it.
type Fleet struct {
	// ControlPlane and GitOps are the URLs of the two repositories.
	ControlPlane, GitOps string
	// Base is the branch of the control plane that all environments share.
	Base string
	// Environments are in the order in which a commit goes through them. Their branches are called like them.
	Environments []string
	// Reconciler is what the first cluster type uses, one of Reconcilers.
	Reconciler string
	// Asks has the fleets that check-promote asks, by environment, in the form of check-promote --fleet. In an
	// environment without one, a person decides.
	Asks map[string][]string
	// Action is the action that workflows use, as OWNER/NAME@REF, with a comment behind it if there is one.
	Action string
	// Release is the release of kalypso that the action installs, such as v1.2.3; empty has it build its own source.
	Release string
	// Sample says that it is the fleet of the playground, which has more in it than the example of a new one.
	Sample bool
}

// Reconcilers are the templates that a new control plane has for reconcilers.
func Reconcilers() []string { return []string{"flux", "argocd"} }

// HelloWorld is the branch of the control plane that stands for the repository of an application.
const HelloWorld = "hello-world"

// longestEnvironment is how many characters the name of an environment may have, for the namespaces of the example,
// <environment>-cloud-hello-world-<environment>, to be those of Kubernetes.
const longestEnvironment = (validation.DNS1123LabelMaxLength - len("-cloud-hello-world-")) / 2

// CheckEnvironment tells why an environment cannot have a name; nil if it can.
func (f Fleet) CheckEnvironment(name string) error {
	switch {
	case len(validation.IsDNS1123Label(name)) > 0:
		return fmt.Errorf("%q is not a name for an environment: use lower-case letters, digits and '-'", name)
	case strings.EqualFold(f.Base, name), name == HelloWorld: // some file systems take Dev and dev for the same
		return fmt.Errorf("%q is not a name for an environment: the control plane has another branch that is called so", name)
	case slices.Contains([]string{"deployment", "promotion"}, name):
		return fmt.Errorf("%q is not a name for an environment: kalypso pushes to branches below %s/", name, name)
	}
	return nil
}

// CheckExample tells why an environment of that name could not have the example; nil if it can.
func CheckExample(name string) error {
	if len(name) > longestEnvironment {
		return fmt.Errorf("%q has %d characters: as it becomes part of namespaces, an environment has %d at most", name, len(name), longestEnvironment)
	}
	return nil
}

// commitID is what GitHub takes for no branch.
var commitID = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)

// plainBranch is a branch that needs no quotes, neither in YAML nor in a shell.
var plainBranch = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckBase tells why the base branch cannot have its name; nil if it can.
func (f Fleet) CheckBase() error {
	switch {
	case !plainBranch.MatchString(f.Base) || strings.Contains(f.Base, "..") || strings.HasSuffix(f.Base, ".") || strings.HasSuffix(f.Base, ".lock") || f.Base == "HEAD" || commitID.MatchString(f.Base):
		return fmt.Errorf("%q is not a name for the base branch: use letters, digits, '.', '_' and '-'", f.Base)
	case strings.EqualFold(f.Base, HelloWorld), strings.EqualFold(f.Base, "promotion"):
		return fmt.Errorf("%q is not a name for the base branch: the control plane has another branch that is called so", f.Base)
	}
	return nil
}

// HelloWorldBranch is what that branch holds.
func (f Fleet) HelloWorldBranch() (Files, error) { return filesIn("example/application", f.data()) }

// BaseBranch is what the base branch of the control plane begins with.
func (f Fleet) BaseBranch() (Files, error) {
	beside := "example/base"
	if f.Sample {
		beside = "sample/base"
	}
	files, err := f.branch(OfControlPlane, f.data(), "base", beside)
	if err != nil {
		return nil, err
	}
	for i, environment := range f.Environments {
		data := f.data()
		data.Environment, data.Next = environment, f.Environments[i+1:min(i+2, len(f.Environments))]
		if files[".environments/"+environment+".yaml"], err = execute("files/parts/environment.yaml", data); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// EnvironmentBranch is what the branch of an environment in the control plane begins with. base is the commit of the
// base branch that the environment has.
func (f Fleet) EnvironmentBranch(environment, base string) (Files, error) {
	folders := []string{"environment", "example/environment"}
	if f.Sample {
		folders = []string{"environment", "sample/environment", "sample/" + environment}
	}
	data := f.data()
	data.Environment, data.Commit = environment, base
	return f.branch(OfEnvironment, data, folders...)
}

// GitOpsBranch is what each branch of the GitOps repository begins with.
func (f Fleet) GitOpsBranch() (Files, error) { return f.branch(OfGitOps, f.data(), "gitops") }

// branch is what stands in some folders, and the workflows of a place.
func (f Fleet) branch(place Place, d data, folders ...string) (Files, error) {
	branch := Files{}
	for _, folder := range folders {
		files, err := filesIn(folder, d)
		if err != nil {
			return nil, err
		}
		for name, text := range files {
			if _, twice := branch[name]; twice {
				return nil, fmt.Errorf("two files are called %s", name)
			}
			branch[name] = text
		}
	}
	workflows, err := f.Workflows(place)
	if err != nil {
		return nil, err
	}
	for name, text := range workflows {
		branch[WorkflowFolder+"/"+name] = text
	}
	return branch, nil
}

// data is what templates can show of a fleet.
type data struct {
	Fleet
	// Owner and Name are the owner and name of the control plane's repository.
	Owner, Name string
	// Environment is the one that a file is for, Next what comes after it, and Commit what it has of the base branch.
	Environment string
	Next        []string
	Commit      string
	// Replace is what the playground reads in place of what is on servers.
	Replace string
}

func (f Fleet) data() data {
	d := data{Fleet: f}
	d.Owner, d.Name = ownerAndName(f.ControlPlane)
	return d
}

// Repository is the control plane as GitHub calls it.
func (d data) Repository() string { return d.Owner + "/" + d.Name }

// Fleets returns the fleets of the environment of the file; "none" if it has none.
func (d data) Fleets() []string {
	if fleets := d.Asks[d.Environment]; len(fleets) > 0 {
		return fleets
	}
	return []string{model.NoFleet}
}

// IsAsked reports whether an environment has a fleet of one of the kinds.
func (d data) IsAsked(kinds ...string) bool {
	for _, fleets := range d.Asks {
		if slices.ContainsFunc(fleets, func(fleet string) bool {
			kind, _, _ := strings.Cut(fleet, ":")
			return slices.Contains(kinds, kind)
		}) {
			return true
		}
	}
	return false
}

// First is the first environment of the chain.
func (d data) First() string { return d.Environments[0] }

// ownerAndName are the last two parts of the path of a URL.
func ownerAndName(url string) (owner, name string) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"), "/")
	slices.Reverse(parts)
	if len(parts) < 2 {
		return "", parts[0]
	}
	if i := strings.LastIndexByte(parts[1], ':'); i >= 0 { // git@host:owner/name
		parts[1] = parts[1][i+1:]
	}
	return parts[1], parts[0]
}

// Action is the repository of kalypso's own action.
const Action = "kalypso-gitops/kalypso"

// UnknownAction is what workflows use if the commit to be trusted is to be chosen yet.
const UnknownAction = Action + "@COMMIT # EDIT: the commit of the release that you trust"

// SampleFleet is the fleet of the playground. Its workflows run nowhere, and so are the same whoever makes it.
func SampleFleet() Fleet {
	f := Fleet{
		ControlPlane: "https://github.com/acme/control-plane", GitOps: "https://github.com/acme/gitops", Base: "main",
		Environments: []string{"dev", "stage", "prod"}, Reconciler: "flux", Asks: map[string][]string{}, Action: UnknownAction,
	}
	for _, environment := range f.Environments {
		f.Asks[environment] = []string{"command:./" + ClustersProgram}
	}
	return f
}

// ClustersProgram is the file of the playground that stands for the clusters. It has to be executable.
const ClustersProgram = "clusters.sh"

// SampleOwner is what the URLs of all its repositories begin with.
const SampleOwner = "https://github.com/acme/"

// SampleApplications are the repositories of its applications.
func SampleApplications() []string { return []string{"loyalty", "platform-services", "shop"} }

// SampleApplication is what one of them holds.
func (f Fleet) SampleApplication(name string) (Files, error) {
	return filesIn("sample/applications/"+name, f.data())
}

// Playground is what stands beside the repositories: how to work with them, and simulated clusters. replace is how
// they are read instead of what is on servers, as --replace has it.
func (f Fleet) Playground(replace string) (Files, error) {
	d := f.data()
	d.Replace = replace
	return filesIn("sample/playground", d)
}
