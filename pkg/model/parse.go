package model

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Options says how sources are parsed.
type Options struct {
	Platform, Tenant Limits
	// IgnoreKustomization skips kustomization.yaml files instead of refusing them.
	IgnoreKustomization bool
}

// DefaultOptions are the options of a run without flags.
func DefaultOptions() Options {
	return Options{Platform: PlatformLimits(), Tenant: TenantLimits()}
}

func (o Options) limits(role Role) Limits {
	if role == Tenant {
		return o.Tenant
	}
	return o.Platform
}

// Objects are the objects of one source, in the order of files and documents.
type Objects struct {
	Source *Source
	// Registration admitted a Tenant source.
	Registration *WorkloadRegistration

	Environments      []*Environment
	BaseRepos         []*BaseRepo
	GitOpsRepos       []*GitOpsRepo
	Registrations     []*WorkloadRegistration
	Workloads         []*Workload
	DeploymentTargets []*DeploymentTarget
	ClusterTypes      []*ClusterType
	Templates         []*Template
	Policies          []*SchedulingPolicy
	ConfigSchemas     []*ConfigSchema
	ConfigMaps        []*ConfigMap

	// Others counts the documents of other API groups by kind.
	Others map[string]int
	// Incomplete says that errors kept something from being read, so that what is not here may
	// still exist.
	Incomplete bool
}

// Parse reads and decodes everything that counts in a source. registration is what admitted a
// Tenant source, and nil for the others.
func Parse(source *Source, registration *WorkloadRegistration, options Options) (*Objects, diag.List) {
	limits := options.limits(source.Ref.Role)
	paths, diags := files(source, limits, options.IgnoreKustomization)
	incomplete := diags.HasErrors()
	parsed := make([]fileObjects, len(paths))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range paths {
		group.Go(func() error {
			parsed[i] = parseFile(source, registration, p, limits)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	objects := &Objects{Source: source, Registration: registration, Others: map[string]int{}, Incomplete: incomplete}
	var size int64
	for _, file := range parsed {
		size += file.size
		diags.Add(file.diags)
		objects.Incomplete = objects.Incomplete || file.lost
		for _, add := range file.add {
			add(objects)
		}
	}
	if limits.SourceBytes > 0 && size > limits.SourceBytes {
		diags.Error("source-too-large", source.subjectPlace(),
			fmt.Sprintf("the YAML files of %s below %q have more than %d bytes in all", source.Repo, source.Ref.Path, limits.SourceBytes))
	}
	objects.checkTargets(limits, &diags)
	return objects, diags
}

func (o *Objects) checkTargets(limits Limits, diags *diag.List) {
	targets := 0
	for _, w := range o.Workloads {
		targets += len(w.DeploymentTargets)
	}
	if limits.Targets > 0 && targets > limits.Targets {
		diags.Error("too-many-targets", o.Source.subjectPlace(),
			fmt.Sprintf("%s has %d deployment targets, %d at most are allowed", o.Source.Repo, targets, limits.Targets))
	}
}

// fileObjects is what one file holds; add puts each object into its list.
type fileObjects struct {
	add   []func(*Objects)
	size  int64
	diags diag.List
	// lost says that errors kept a document from being read at all.
	lost bool
}

func parseFile(source *Source, registration *WorkloadRegistration, p string, limits Limits) fileObjects {
	var out fileObjects
	content, ok := readFile(source, p, limits, &out.diags)
	if !ok {
		out.lost = true
		return out
	}
	out.size = int64(len(content))
	docs, diags := documents(source.File(p), content, limits)
	out.diags.Add(diags)
	out.lost = diags.HasErrors()
	for i := range docs {
		out.document(&docs[i], source, registration, limits)
	}
	return out
}

// document adds what a document holds.
func (f *fileObjects) document(doc *document, source *Source, registration *WorkloadRegistration, limits Limits) {
	before := f.diags.Count(diag.Error)
	if !audit(doc, limits, &f.diags) {
		f.lost = true
		return
	}
	if doc.root.Kind != yaml.MappingNode {
		return // a playbook or another list: not ours
	}
	p := &parser{document: doc, source: source, registration: registration, diags: &f.diags, errorsBefore: before}
	add := p.parse()
	if add == nil {
		f.lost = f.lost || f.diags.Count(diag.Error) > before
		return
	}
	f.add = append(f.add, add)
}

// header finds apiVersion and kind of a document without decoding the rest.
func header(doc *document) (apiVersion, kind *yaml.Node) {
	for i := 0; i+1 < len(doc.root.Content); i += 2 {
		switch key := doc.root.Content[i]; key.Value {
		case "apiVersion":
			apiVersion = target(doc.root.Content[i+1])
		case "kind":
			kind = target(doc.root.Content[i+1])
		}
	}
	return apiVersion, kind
}

// parser decodes one document.
type parser struct {
	*document
	source       *Source
	registration *WorkloadRegistration
	diags        *diag.List
	// errorsBefore is how many errors there were before this document.
	errorsBefore int
	kind         string
}

// parse returns how to add the object to those of its source; nil if it does not count.
func (p *parser) parse() func(*Objects) {
	apiVersion, kind := header(p.document)
	if kind == nil || kind.Kind != yaml.ScalarNode || kind.Value == "" {
		p.noKind()
		return nil
	}
	p.kind = kind.Value
	group := ""
	if apiVersion != nil {
		group = apiVersion.Value
	}
	switch {
	case p.kind == "List":
		p.diags.Error("list", p.place(kind), `kind "List" is not read`,
			diag.Hint("write its items as documents of their own, separated by ---"))
		return nil
	case p.kind == "ConfigMap" && (group == "" || group == "v1"):
		return p.configMap(apiVersion)
	case group == APIVersion:
		return p.ours(kind)
	default:
		return p.foreign(apiVersion, kind)
	}
}

func (p *parser) noKind() {
	const message = "the document has no kind, so it is skipped"
	if p.source.Ref.Role == Tenant {
		p.diags.Notice("no-kind", p.place(p.root), message)
		return
	}
	p.diags.Warning("no-kind", p.place(p.root), message, diag.Hint("exclude the file with .sourceignore if it is no Kubernetes object"))
}

// foreign handles a document that is not of our group at our version: usually another project's
// object, sometimes a slip of the pen.
func (p *parser) foreign(apiVersion, kind *yaml.Node) func(*Objects) {
	_, isOurs := kinds[p.kind]
	switch {
	case apiVersion == nil || apiVersion.Value == "":
		if isOurs {
			p.diags.Error("missing-field", p.place(kind), fmt.Sprintf("%s has no apiVersion", p.kind),
				diag.Hint("add apiVersion: "+APIVersion))
			return nil
		}
	case strings.HasPrefix(apiVersion.Value, Group+"/"):
		p.diags.Error("unknown-version", p.place(apiVersion), fmt.Sprintf("version %q is not known", apiVersion.Value),
			diag.Hint("write "+APIVersion))
		return nil
	case isOurs && diag.Nearest(apiVersion.Value, []string{APIVersion}) != "":
		p.diags.Error("unknown-version", p.place(apiVersion), fmt.Sprintf("apiVersion %q is not known", apiVersion.Value),
			diag.Hint(fmt.Sprintf("did you mean %q?", APIVersion)))
		return nil
	}
	name := p.kind
	return func(o *Objects) { o.Others[name]++ }
}

// ours decodes an object of our group, if it counts where it stands.
func (p *parser) ours(kind *yaml.Node) func(*Objects) {
	decode, known := kinds[p.kind]
	if !known {
		p.diags.Error("unknown-kind", p.place(kind), fmt.Sprintf("unknown kind %q in %s", p.kind, APIVersion),
			diag.Hint(diag.DidYouMean(p.kind, slices.Sorted(maps.Keys(kinds)))))
		return nil
	}
	switch role := p.source.Ref.Role; {
	case role == Tenant && p.kind != "Workload":
		p.diags.Error("tenant-kind", p.place(kind), fmt.Sprintf("%s is not allowed here: only Workloads are read from the repository of WorkloadRegistration %q",
			p.kind, p.registration.Name.Value), diag.See(p.registration.At, "registered here"))
		return nil
	case role == Main && p.kind != "Environment":
		p.diags.Notice("not-counted", p.place(kind), fmt.Sprintf("%s is skipped: %s/ is read for Environments alone", p.kind, EnvironmentsFolder))
		return nil
	case role != Main && p.kind == "Environment":
		p.diags.Notice("not-counted", p.place(kind), fmt.Sprintf("Environment is skipped: Environments count only in %s/ of the base branch", EnvironmentsFolder))
		return nil
	case role == Base && (p.kind == "BaseRepo" || p.kind == "GitOpsRepo"):
		p.diags.Notice("not-counted", p.place(kind), fmt.Sprintf("%s is skipped: it counts only in the branch of an environment", p.kind))
		return nil
	}
	return decode(p)
}
