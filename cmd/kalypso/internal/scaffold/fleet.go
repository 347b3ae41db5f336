// Package scaffold generates the files of a new fleet: the branches of a control plane and of a GitOps repository, their
// workflows, and a sample fleet.
//
// Input are the names of repositories and environments; output are files by path, from which the caller creates
// repositories. The workflows in docs/workflows are generated here, too.
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

// Fleet are the parameters of a new fleet.
type Fleet struct {
	// ControlPlane and GitOps are the URLs of the two repositories.
	ControlPlane, GitOps string
	// Base is the branch of the control plane that all environments share.
	Base string
	// Environments are in promotion order. Their branches have the same names.
	Environments []string
	// Reconciler is the reconciler of the first cluster type, one of Reconcilers.
	Reconciler string
	// FleetSources are the fleet sources of each environment, in the form of check-promote --fleet. In an environment without
	// one, a person decides.
	FleetSources map[string][]string
	// Action is the action that workflows use, as OWNER/NAME@REF, with an optional comment.
	Action string
	// Release is the release of kalypso that the action installs, such as v1.2.3; if empty, the action builds its source.
	Release string
	// Sample selects the objects of the sample fleet, not those of the example.
	Sample bool
}

// Reconcilers are the reconcilers for which a new control plane has a template.
func Reconcilers() []string { return []string{"flux", "argocd"} }

// HelloWorld is the branch of the control plane that serves as an application repository.
const HelloWorld = "hello-world"

// longestEnvironment is the maximum length of an environment name. The example has the namespace
// <environment>-cloud-hello-world-<environment>, and Kubernetes limits namespaces.
const longestEnvironment = (validation.DNS1123LabelMaxLength - len("-cloud-hello-world-")) / 2

// CheckEnvironment returns an error if the name of an environment is invalid.
func (f Fleet) CheckEnvironment(name string) error {
	switch {
	case len(validation.IsDNS1123Label(name)) > 0:
		return fmt.Errorf("%q is not a valid environment name: use lower-case letters, digits and '-'", name)
	case strings.EqualFold(f.Base, name), name == HelloWorld: // some file systems ignore case
		return fmt.Errorf("%q is not a valid environment name: the control plane has another branch of this name", name)
	case slices.Contains([]string{"deployment", "promotion"}, name):
		return fmt.Errorf("%q is not a valid environment name: kalypso pushes to branches below %s/", name, name)
	}
	return nil
}

// CheckExample returns an error if an environment name is invalid in the example.
func CheckExample(name string) error {
	if len(name) > longestEnvironment {
		return fmt.Errorf("%q has %d characters, but namespaces contain the environment name, which is limited to %d", name, len(name), longestEnvironment)
	}
	return nil
}

// commitID matches names that GitHub does not allow for a branch.
var commitID = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)

// plainBranch matches a branch that needs no quotes in YAML or in a shell.
var plainBranch = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckBase returns an error if the name of the base branch is invalid.
func (f Fleet) CheckBase() error {
	switch {
	case !plainBranch.MatchString(f.Base) || strings.Contains(f.Base, "..") || strings.HasSuffix(f.Base, ".") || strings.HasSuffix(f.Base, ".lock") || f.Base == "HEAD" || commitID.MatchString(f.Base):
		return fmt.Errorf("%q is not a valid name of the base branch: use letters, digits, '.', '_' and '-'", f.Base)
	case strings.EqualFold(f.Base, HelloWorld), strings.EqualFold(f.Base, "promotion"):
		return fmt.Errorf("%q is not a valid name of the base branch: the control plane has another branch of this name", f.Base)
	}
	return nil
}

// HelloWorldBranch are the files of the branch HelloWorld.
func (f Fleet) HelloWorldBranch() (Files, error) { return filesIn("example/application", f.data()) }

// BaseBranch are the files of the base branch of a new control plane.
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

// EnvironmentBranch are the files of the branch of an environment in a new control plane. base is the promoted commit of
// the base branch.
func (f Fleet) EnvironmentBranch(environment, base string) (Files, error) {
	directories := []string{"environment", "example/environment"}
	if f.Sample {
		directories = []string{"environment", "sample/environment", "sample/" + environment}
	}
	data := f.data()
	data.Environment, data.Commit = environment, base
	return f.branch(OfEnvironment, data, directories...)
}

// GitOpsBranch are the files of each branch of a new GitOps repository.
func (f Fleet) GitOpsBranch() (Files, error) { return f.branch(OfGitOps, f.data(), "gitops") }

// branch returns the files of some directories and the workflows of a place.
func (f Fleet) branch(place Place, d data, directories ...string) (Files, error) {
	branch := Files{}
	for _, directory := range directories {
		files, err := filesIn(directory, d)
		if err != nil {
			return nil, err
		}
		for name, text := range files {
			if _, twice := branch[name]; twice {
				return nil, fmt.Errorf("two files have the path %s", name)
			}
			branch[name] = text
		}
	}
	workflows, err := f.Workflows(place)
	if err != nil {
		return nil, err
	}
	for name, text := range workflows {
		branch[WorkflowDirectory+"/"+name] = text
	}
	return branch, nil
}

// data are the fields and methods for templates.
type data struct {
	Fleet
	// Owner and Name are the owner and name of the control plane's repository.
	Owner, Name string
	// Environment is the environment of a file, Next the one after it, if any, and Commit its promoted commit.
	Environment string
	Next        []string
	Commit      string
	// Replace is the value of --replace for the sample.
	Replace string
}

func (f Fleet) data() data {
	d := data{Fleet: f}
	d.Owner, d.Name = ownerAndName(f.ControlPlane)
	return d
}

// Repository is the control plane as OWNER/NAME.
func (d data) Repository() string { return d.Owner + "/" + d.Name }

// Fleets returns the fleets of the environment of the file; "none" if it has none.
func (d data) Fleets() []string {
	if fleets := d.FleetSources[d.Environment]; len(fleets) > 0 {
		return fleets
	}
	return []string{model.NoFleet}
}

// HasFleetSource reports whether an environment has a fleet source of one of the kinds.
func (d data) HasFleetSource(kinds ...string) bool {
	for _, fleets := range d.FleetSources {
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

// ownerAndName are the last two elements of the path of a URL.
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

// UnknownAction is the action in workflows if the user has to choose the commit.
const UnknownAction = Action + "@" + UnknownCommit + " # EDIT: the commit of a release that you trust"

// UnknownCommit is the placeholder of that commit.
const UnknownCommit = "COMMIT"

// SampleFleet is the sample fleet. Its workflows never run, so they do not depend on the binary.
func SampleFleet() Fleet {
	f := Fleet{
		ControlPlane: "https://github.com/acme/control-plane", GitOps: "https://github.com/acme/gitops", Base: "main",
		Environments: []string{"dev", "stage", "prod"}, Reconciler: "flux", FleetSources: map[string][]string{}, Action: UnknownAction,
	}
	for _, environment := range f.Environments {
		f.FleetSources[environment] = []string{"command:./" + ClustersProgram}
	}
	return f
}

// ClustersProgram is the file of the sample that simulates the clusters. It must be executable.
const ClustersProgram = "clusters.sh"

// SampleOwner is the prefix of the URLs of all repositories of the sample.
const SampleOwner = "https://github.com/acme/"

// SampleApplications are the names of the application repositories of the sample.
func SampleApplications() []string { return []string{"loyalty", "platform-services", "shop"} }

// SampleApplication are the files of an application repository of the sample.
func (f Fleet) SampleApplication(name string) (Files, error) {
	return filesIn("sample/applications/"+name, f.data())
}

// Playground are the other files of the sample: instructions, settings and simulated clusters. replace is the value of
// --replace that reads the repositories of the sample.
func (f Fleet) Playground(replace string) (Files, error) {
	d := f.data()
	d.Replace = replace
	return filesIn("sample/playground", d)
}
