// Package reference renders the files of one assignment and proves that no tenant's string became more than a value.
//
// manifest.go and builtin.go make documents of templates and of the configuration. taint.go proves that a string of a
// tenant is one value, tenantstring.go that it stayed a string, and emptystring.go that it changed nothing by being
// empty. It is plain rather than fast: whoever knows a faster way to the same bytes is a Shortcut.
package reference

import (
	"errors"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/verify"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// Render renders the files of an assignment and proves of them that no string of the application of the target became
// more than a value; it proves nothing if target is nil. The shortcut renders what it can; nil renders everything here.
func Render(s *Subject, bounds template.Bounds, shortcut Shortcut, target *Target) ([]File, []verify.Problem) {
	run := &execution{bounds: bounds, shortcut: shortcut}
	files := run.files(s)
	if run.failed || target == nil {
		return files, run.problems
	}
	rendering := rendering{s, bounds, files}
	return files, append(run.problems, rendering.taint(&target.tenant, run.doubtful)...)
}

// execution renders the files of one assignment and gathers what goes wrong.
type execution struct {
	bounds template.Bounds
	// shortcut renders what it can; nil renders everything here.
	shortcut Shortcut
	problems []verify.Problem
	// path is the file that is being rendered.
	path string
	// failed says that a file could not be rendered at all.
	failed bool
	// doubtful says that a string of the application may be why a file is not there.
	doubtful bool
	// actions are those that were found in rendered text, if countsActions is set.
	actions       []int
	countsActions bool
}

// Shortcut renders files faster than this package does, byte for byte the same.
type Shortcut interface {
	// Render fills in the content of the file that a template makes, or of the configuration in the built-in form of
	// the cluster type if template is nil, and what is known of the content. It fails if it is not sure of that.
	Render(s *Subject, template *Template, file *File) bool
}

// File is a file with what is needed to check it.
type File struct {
	// Path is slash-separated and relative to the directory of the GitOps repository.
	Path    string
	Content content.Text
	// YAML says that the content must be YAML.
	YAML bool
	// Template is where the template stands that made the file.
	Template diag.Place
	// Verified says that the file is known to be right, and Objects are all that are in it.
	Verified bool
	Objects  []verify.Object
	// Written says that a library wrote the whole file as YAML, so that go-yaml reads its strings as strings.
	Written bool
	// Untainted says that strings of the application are known to come out as one plain value each.
	Untainted bool
}

// Subject is what the files of an assignment are rendered from.
type Subject struct {
	*schedule.Assignment
	Templates *Templates
	Facts     Data
	// View returns the facts as what templates are executed with.
	View   func(*Data) any
	Values *config.Values
}

// The names of the files of an assignment.
const (
	ReconcilerFile = "reconciler.yaml"
	NamespaceFile  = "namespace.yaml"
	ConfigFileYAML = "platform-config.yaml"
	ConfigFileSh   = "platform-config.sh"
)

// MaxFiles is how many files an assignment has at most.
const MaxFiles = 3

// files renders all files of an assignment.
func (x *execution) files(s *Subject) []File {
	directory := s.ClusterType.Name.Value + "/" + s.Target.Name.Value + "/"
	files := make([]File, 0, MaxFiles)
	files = append(files,
		x.file(s, s.Templates.reconciler, directory+ReconcilerFile),
		x.file(s, s.Templates.namespace, directory+NamespaceFile))
	if config, ok := x.config(s, directory); ok {
		files = append(files, config)
	}
	return files
}

func (x *execution) file(s *Subject, template *Template, path string) File {
	x.path = path
	file := File{
		Path:     path,
		YAML:     template.ContentType != model.ContentSh,
		Template: template.Name.At,
		Written:  template.isWritten(),
	}
	if x.shortcut != nil && x.shortcut.Render(s, template, &file) {
		return file
	}
	s.Facts.ConfigData = s.Values.Data()
	text, ok := template.render(s.View(&s.Facts), x)
	x.failed = x.failed || !ok
	file.Content = content.New(text)
	return file
}

// config renders the platform configuration, by a template or in one of the built-in forms. There is
// no file if it is empty.
func (x *execution) config(s *Subject, directory string) (File, bool) {
	if template := s.Templates.config; template != nil {
		path := directory + ConfigFileYAML
		if template.ContentType == model.ContentSh {
			path = directory + ConfigFileSh
		}
		file := x.file(s, template, path)
		x.doubtful = file.Content.IsEmpty() && !file.Untainted
		return file, !file.Content.IsEmpty()
	}
	if len(s.Values.Settings) == 0 {
		return File{}, false
	}
	file := File{Template: s.ClusterType.Name.At}
	form := ConfigMap
	file.Path, file.YAML, file.Written = directory+ConfigFileYAML, true, true
	if s.Templates.Builtin == envFileType {
		form = EnvFile
		file.Path, file.YAML = directory+ConfigFileSh, false
	}
	if x.shortcut != nil && x.shortcut.Render(s, nil, &file) {
		return file, true
	}
	text, err := form(s.Facts.Namespace, s.Values)
	file.Content = content.New(text)
	x.configError(err, file.Path, s)
	return file, text != ""
}

// configError reports what keeps a built-in form of the configuration from being written.
func (x *execution) configError(err error, path string, s *Subject) {
	if err == nil {
		return
	}
	x.path, x.failed = path, true
	var wrong keyErrors
	if !errors.As(err, &wrong) {
		x.fail("invalid-output", s.ClusterType.ConfigType.At, err.Error())
	}
	for _, one := range wrong {
		x.fail("config-key", s.Values.Place([]string{one.key}), one.message)
	}
}

// execute runs one template. Missing values do not stop it; other errors do.
func (x *execution) execute(t *template.Template, facts any) (string, bool) {
	if x.countsActions {
		x.actions = append(x.actions, t.Actions(facts, x.bounds)...)
	}
	text, missing, err := t.Execute(facts, x.bounds)
	for _, m := range missing {
		x.add(t.Diagnose(diag.Error, m), true)
	}
	if err != nil {
		x.add(t.Diagnose(diag.Error, err), false)
		return "", false
	}
	return text, true
}

func (x *execution) add(d diag.Diagnostic, lasting bool) {
	x.problems = append(x.problems, verify.Problem{
		Path: x.path, Flaw: verify.Flaw{Rule: d.Rule, Message: d.Message, Lasting: lasting}, At: d.At, Hint: d.Hint,
	})
}

func (x *execution) fail(rule string, at diag.Place, message string) {
	x.add(diag.Diagnostic{Rule: rule, At: at, Message: message}, false)
}
