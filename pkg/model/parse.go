package model

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// Parse reads and decodes the objects of a source. registration is that of a Tenant source. It is nil for other sources,
// and if the registration is unknown: then every workspace is allowed.
func Parse(source *Source, registration *WorkloadRegistration, options Options) (*Objects, diag.List) {
	limits := options.limits(source.Ref.Role)
	paths, diags := files(source, limits, options.IgnoreKustomization)
	objects := &Objects{Source: source, Registration: registration, Others: map[string]int{}, Incomplete: diags.HasErrors()}
	s := &sourceParser{source: source, registration: registration, limits: limits}
	parsed := make([]fileObjects, len(paths))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, p := range paths {
		group.Go(func() error {
			parsed[i] = s.file(p)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	if s.full() {
		// The order of reading is random, so the files that were read are ignored as well.
		diags.Error("source-too-large", source.subjectPlace(),
			fmt.Sprintf("the YAML files of %s below %q have more than %d bytes in total", source.Repo, source.Ref.Path, limits.SourceBytes))
		objects.Incomplete = true
		return objects, diags
	}
	for _, file := range parsed {
		diags.Add(file.diags)
		objects.Incomplete = objects.Incomplete || file.lost
		for _, add := range file.add {
			add(objects)
		}
	}
	objects.checkTargets(limits, &diags)
	return objects, diags
}

// ParseFile reads and decodes a file as Parse does those of a Platform source.
func ParseFile(name string, content []byte) (*Objects, diag.List) {
	source := &Source{Ref: Ref{Path: name, Role: Platform}}
	objects := &Objects{Source: source, Others: map[string]int{}}
	var file fileObjects
	file.read(name, content, &sourceParser{source: source, limits: DefaultOptions().limits(Platform)})
	for _, add := range file.add {
		add(objects)
	}
	return objects, file.diags
}

// sourceParser parses the files of one source, several at a time.
type sourceParser struct {
	source       *Source
	registration *WorkloadRegistration
	limits       Limits
	// size is how many bytes were read.
	size atomic.Int64
}

// full reports whether the files read are larger in all than a source may be.
func (s *sourceParser) full() bool {
	return s.limits.SourceBytes > 0 && s.size.Load() > s.limits.SourceBytes
}

// file parses a file, unless the source turned out to be too large.
func (s *sourceParser) file(p string) fileObjects {
	var out fileObjects
	if s.full() {
		return out
	}
	content, ok := readFile(s.source, p, s.limits, &out.diags)
	s.size.Add(int64(len(content)))
	if !ok || s.full() {
		out.lost = true
		return out
	}
	out.read(p, content, s)
	return out
}

// fileObjects is what one file holds; add puts each object into its list.
type fileObjects struct {
	add   []func(*Objects)
	diags diag.List
	// lost says that errors kept a document from being read at all.
	lost bool
	// reported counts the diagnostics by severity, those that were left out too.
	reported [diag.Error + 1]int
}

// read adds what a file holds.
func (f *fileObjects) read(name string, content []byte, s *sourceParser) {
	empty := true
	diags := yamldoc.Read(s.source.File(name), content, s.limits.Limits, func(doc *yamldoc.Document) {
		empty = false
		f.document(doc, s)
	})
	if role := s.source.Ref.Role; empty && len(diags) == 0 && (role == Platform || role == Base) {
		diags.Notice("empty-file", diag.Place{File: s.source.File(name)}, "the file has no object")
	}
	f.report(diags)
	f.lost = f.lost || diags.HasErrors()
	f.finish(s.source.File(name))
}

// longestMessage is how many bytes of a message are kept: it may quote a name of any length.
const longestMessage = 1000

func (f *fileObjects) report(diags diag.List) {
	for _, d := range diags {
		if f.reported[d.Severity]++; f.reported[d.Severity] <= yamldoc.MostReported {
			d.Message, d.Hint = diag.Shorten(d.Message, longestMessage), diag.Shorten(d.Hint, longestMessage)
			f.diags = append(f.diags, d)
		}
	}
}

// finish says if diagnostics were left out.
func (f *fileObjects) finish(file *diag.File) {
	for severity, n := range f.reported {
		if n > yamldoc.MostReported {
			f.diags = append(f.diags, diag.Diagnostic{
				Severity: diag.Severity(severity), Rule: "too-many-problems", At: diag.Place{File: file},
				Message: fmt.Sprintf("the file has more problems; only %d are shown", yamldoc.MostReported),
			})
		}
	}
}

// document adds what a document holds.
func (f *fileObjects) document(doc *yamldoc.Document, s *sourceParser) {
	var diags diag.List
	defer func() { f.report(diags.Sorted()) }()
	if !doc.Check(s.limits.Limits, &diags) {
		f.lost = true
		return
	}
	if doc.Root.Kind != yaml.MappingNode {
		return // a playbook or another list: not ours
	}
	p := &parser{Document: doc, source: s.source, registration: s.registration, limits: s.limits, diags: &diags}
	add := p.parse()
	if add == nil {
		f.lost = f.lost || diags.HasErrors()
		return
	}
	f.add = append(f.add, add)
}

// header finds apiVersion and kind of a document without decoding the rest.
func header(doc *yamldoc.Document) (apiVersion, kind *yaml.Node) {
	for i := 0; i+1 < len(doc.Root.Content); i += 2 {
		switch key := yamldoc.Deref(doc.Root.Content[i]); key.Value {
		case "apiVersion":
			apiVersion = yamldoc.Deref(doc.Root.Content[i+1])
		case "kind":
			kind = yamldoc.Deref(doc.Root.Content[i+1])
		}
	}
	return apiVersion, kind
}

// parse returns how to add the object to those of its source; nil if it does not count.
func (p *parser) parse() func(*Objects) {
	apiVersion, kind := header(p.Document)
	if kind == nil || kind.Kind != yaml.ScalarNode || kind.Value == "" || yamldoc.IsNull(kind) {
		p.noKind()
		return nil
	}
	p.kind = kind.Value
	group := ""
	if apiVersion != nil && !yamldoc.IsNull(apiVersion) {
		group = apiVersion.Value
	}
	switch {
	case p.kind == "List":
		p.diags.Error("list", p.Place(kind), `kind "List" is not read`,
			diag.Hint("write its items as separate documents, separated by ---"))
		return nil
	case apiVersion != nil && apiVersion.Kind != yaml.ScalarNode:
		p.diags.Error("wrong-type", p.Place(apiVersion), fmt.Sprintf("apiVersion must be a string, but is %s", nodeType(apiVersion)))
		return nil
	case p.kind == configMapKind && (group == "" || group == "v1"):
		return p.parseConfigMap(group)
	case group == APIVersion:
		return p.ours(kind)
	default:
		return p.foreign(group, apiVersion, kind)
	}
}

func (p *parser) noKind() {
	const message = "the document has no kind, so it is skipped"
	if p.source.Ref.Role == Tenant {
		p.diags.Notice("no-kind", p.Place(p.Root), message)
		return
	}
	p.diags.Warning("no-kind", p.Place(p.Root), message, diag.Hint("exclude the file with .sourceignore if it is not a Kubernetes object"))
}

// foreign handles a document of another group or version: usually an object of another project,
// sometimes a misspelling.
func (p *parser) foreign(group string, apiVersion, kind *yaml.Node) func(*Objects) {
	_, isOurs := kinds[p.kind]
	switch {
	case group == "":
		if isOurs {
			p.diags.Error("missing-field", p.Place(kind), fmt.Sprintf("%s has no apiVersion", p.kind),
				diag.Hint("add apiVersion: "+APIVersion))
			return nil
		}
	case group == Group || strings.HasPrefix(group, Group+"/"):
		p.diags.Error("unknown-version", p.Place(apiVersion), fmt.Sprintf("unknown version %q", group),
			diag.Hint("write "+APIVersion))
		return nil
	case isOurs && diag.Nearest(group, []string{APIVersion}) != "":
		p.diags.Error("unknown-version", p.Place(apiVersion), fmt.Sprintf("unknown apiVersion %q", group),
			diag.Hint(fmt.Sprintf("did you mean %q?", APIVersion)))
		return nil
	}
	name := p.kind
	return func(o *Objects) { o.Others[name]++ }
}

// tenantKind refuses a kind that an application repository may not have.
func (p *parser) tenantKind(kind *yaml.Node) {
	message, options := p.kind+" is not allowed here: only Workloads are read from ", []diag.Option{}
	if r := p.registration; r != nil {
		message += fmt.Sprintf("the repository of WorkloadRegistration %q", r.Name.Value)
		options = append(options, diag.See(r.At, "registered here"))
	} else {
		message += "application repositories"
	}
	p.diags.Error("tenant-kind", p.Place(kind), message, options...)
}

// ours decodes an object of our group, if it counts where it stands.
func (p *parser) ours(kind *yaml.Node) func(*Objects) {
	k, known := kinds[p.kind]
	if !known {
		p.diags.Error("unknown-kind", p.Place(kind), fmt.Sprintf("unknown kind %q in %s", p.kind, APIVersion),
			diag.Hint(diag.DidYouMean(p.kind, slices.Sorted(maps.Keys(kinds)))))
		return nil
	}
	switch role := p.source.Ref.Role; {
	case role == Tenant && p.kind != "Workload":
		p.tenantKind(kind)
		return nil
	case role == Main && p.kind != "Environment":
		p.diags.Notice("not-counted", p.Place(kind), fmt.Sprintf("%s is skipped: %s/ is read only for Environments", p.kind, EnvironmentsDirectory))
		return nil
	case role != Main && p.kind == "Environment":
		p.diags.Notice("not-counted", p.Place(kind), fmt.Sprintf("Environment is skipped: Environments are read only from %s/ of the base branch", EnvironmentsDirectory))
		return nil
	case role == Base && (p.kind == "BaseRepo" || p.kind == "GitOpsRepo"):
		p.diags.Notice("not-counted", p.Place(kind), fmt.Sprintf("%s is skipped: it is read only from the branch of an environment", p.kind))
		return nil
	}
	return k.decode(p)
}

func (o *Objects) checkTargets(limits Limits, diags *diag.List) {
	targets, schemas := 0, 0
	for _, w := range o.Workloads {
		targets += len(w.DeploymentTargets)
		schemas += len(w.ConfigSchemas)
		for i := range w.DeploymentTargets {
			schemas += len(w.DeploymentTargets[i].ConfigSchemas)
		}
	}
	if limits.Schemas > 0 && schemas > limits.Schemas {
		diags.Error("too-large", o.Source.subjectPlace(),
			fmt.Sprintf("%s has %d schemas, more than %d", o.Source.Repo, schemas, limits.Schemas))
		o.Workloads, o.Incomplete = nil, true
	}
	if limits.Targets > 0 && targets > limits.Targets {
		diags.Error("too-many-targets", o.Source.subjectPlace(),
			fmt.Sprintf("%s has %d deployment targets, more than %d", o.Source.Repo, targets, limits.Targets))
		o.Workloads, o.Incomplete = nil, true
	}
}

// parseConfigMap decodes the core kind, if it counts where it stands. The seeds' example has no apiVersion, so that is accepted.
func (p *parser) parseConfigMap(apiVersion string) func(*Objects) {
	if p.source.Ref.Role == Tenant || p.source.Ref.Role == Main {
		return func(o *Objects) { o.Others[configMapKind]++ }
	}
	if apiVersion == "" {
		p.diags.Notice("no-api-version", p.Place(p.Root), "ConfigMap has no apiVersion: using v1", diag.Hint("add apiVersion: v1"))
	}
	return configMaps.decode(p)
}
