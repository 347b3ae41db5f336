package render

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

// execution renders the files of one assignment and gathers what goes wrong.
type execution struct {
	bounds template.Bounds
	// shortcut renders what it can; nil renders everything here.
	shortcut shortcut
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

// shortcut renders files faster than an execution does, byte for byte the same.
type shortcut interface {
	// render fills in the content of the file that a template makes, or of the configuration in the built-in form of
	// the cluster type if template is nil, and what is known of the content. It fails if it is not sure of that.
	render(s *subject, template *compiledTemplate, file *renderedFile) bool
}

// renderedFile is a file with what is needed to check it.
type renderedFile struct {
	// path is slash-separated and relative to the folder of the GitOps repository.
	path    string
	content content.Text
	// yaml says that the content must be YAML.
	yaml bool
	// template is where the template stands that made the file.
	template diag.Place
	// verified says that the file is known to be right, and objects are all that are in it.
	verified bool
	objects  []verify.Object
	// written says that a library wrote the whole file as YAML, so that go-yaml reads its strings as strings.
	written bool
	// untainted says that strings of the application are known to come out as one plain value each.
	untainted bool
}

// subject is what the files of an assignment are rendered from.
type subject struct {
	*schedule.Assignment
	templates *clusterTemplates
	facts     data
	values    *config.Values
}

// The names of the files of an assignment.
const (
	reconcilerFile = "reconciler.yaml"
	namespaceFile  = "namespace.yaml"
	configFileYAML = "platform-config.yaml"
	configFileSh   = "platform-config.sh"
)

// maxFiles is how many files an assignment has at most.
const maxFiles = 3

// files renders all files of an assignment.
func (x *execution) files(s *subject) []renderedFile {
	folder := s.ClusterType.Name.Value + "/" + s.Target.Name.Value + "/"
	files := make([]renderedFile, 0, maxFiles)
	files = append(files,
		x.file(s, s.templates.reconciler, folder+reconcilerFile),
		x.file(s, s.templates.namespace, folder+namespaceFile))
	if config, ok := x.config(s, folder); ok {
		files = append(files, config)
	}
	return files
}

func (x *execution) file(s *subject, template *compiledTemplate, path string) renderedFile {
	x.path = path
	file := renderedFile{
		path:     path,
		yaml:     template.ContentType != model.ContentSh,
		template: template.Name.At,
		written:  template.isWritten(),
	}
	if x.shortcut != nil && x.shortcut.render(s, template, &file) {
		return file
	}
	s.facts.ConfigData = s.values.Data()
	text, ok := template.render(&s.facts, x)
	x.failed = x.failed || !ok
	file.content = content.New(text)
	return file
}

// config renders the platform configuration, by a template or in one of the built-in forms. There is
// no file if it is empty.
func (x *execution) config(s *subject, folder string) (renderedFile, bool) {
	if template := s.templates.config; template != nil {
		path := folder + configFileYAML
		if template.ContentType == model.ContentSh {
			path = folder + configFileSh
		}
		file := x.file(s, template, path)
		x.doubtful = file.content.IsEmpty() && !file.untainted
		return file, !file.content.IsEmpty()
	}
	if len(s.values.Settings) == 0 {
		return renderedFile{}, false
	}
	file := renderedFile{template: s.ClusterType.Name.At}
	form := builtinConfigMap
	file.path, file.yaml, file.written = folder+configFileYAML, true, true
	if s.templates.builtin == envFileType {
		form = builtinEnvFile
		file.path, file.yaml = folder+configFileSh, false
	}
	if x.shortcut != nil && x.shortcut.render(s, nil, &file) {
		return file, true
	}
	text, err := form(s.facts.Namespace, s.values)
	file.content = content.New(text)
	x.configError(err, file.path, s)
	return file, text != ""
}

// configError reports what keeps a built-in form of the configuration from being written.
func (x *execution) configError(err error, path string, s *subject) {
	if err == nil {
		return
	}
	x.path, x.failed = path, true
	var wrong keyErrors
	if !errors.As(err, &wrong) {
		x.fail("invalid-output", s.ClusterType.ConfigType.At, err.Error())
	}
	for _, one := range wrong {
		x.fail("config-key", s.values.Place([]string{one.key}), one.message)
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
