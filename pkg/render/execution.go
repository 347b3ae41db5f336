package render

import (
	"errors"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// execution renders the files of one assignment and gathers what goes wrong.
type execution struct {
	bounds   Bounds
	problems []fileProblem
	// path is the file that is being rendered.
	path string
	// failed says that a file could not be rendered at all.
	failed bool
	// actions are those that were found in rendered text, if countsActions is set.
	actions       []int
	countsActions bool
}

// renderedFile is a file with what is needed to check it.
type renderedFile struct {
	File
	// yaml says that the content must be YAML.
	yaml bool
	// template is where the template stands that made the file.
	template diag.Place
}

// files renders all files of an assignment.
func (x *execution) files(a *schedule.Assignment, templates *clusterTemplates, facts data, values *Values) []renderedFile {
	folder := a.ClusterType.Name.Value + "/" + a.Target.Name.Value + "/"
	files := []renderedFile{
		x.file(a, templates.reconciler, folder+ReconcilerFile, facts),
		x.file(a, templates.namespace, folder+NamespaceFile, facts),
	}
	config := x.config(a, templates, folder, facts, values)
	if len(config.Content) > 0 {
		files = append(files, config)
	}
	return files
}

func (x *execution) file(a *schedule.Assignment, template *compiledTemplate, path string, facts data) renderedFile {
	x.path = path
	content, ok := template.render(&facts, x)
	x.failed = x.failed || !ok
	return renderedFile{
		File:     File{Path: path, Content: []byte(content), Assignment: a},
		yaml:     template.ContentType != model.ContentSh,
		template: template.Name.At,
	}
}

// config renders the platform configuration, by a template or in one of the built-in forms.
func (x *execution) config(a *schedule.Assignment, templates *clusterTemplates, folder string, facts data, values *Values) renderedFile {
	if templates.config != nil {
		path := folder + ConfigFileYAML
		if templates.config.ContentType == model.ContentSh {
			path = folder + ConfigFileSh
		}
		return x.file(a, templates.config, path, facts)
	}
	file := renderedFile{template: a.ClusterType.Name.At}
	var content string
	var err error
	if templates.builtin == envFileType {
		file.Path = folder + ConfigFileSh
		content, err = builtinEnvFile(values)
	} else {
		file.Path, file.yaml = folder+ConfigFileYAML, true
		content, err = builtinConfigMap(facts.Namespace, values)
	}
	file.Content, file.Assignment = []byte(content), a
	x.configError(err, file.Path, a, values)
	return file
}

// configError reports what keeps a built-in form of the configuration from being written.
func (x *execution) configError(err error, path string, a *schedule.Assignment, values *Values) {
	if err == nil {
		return
	}
	x.path, x.failed = path, true
	var wrong keyErrors
	if !errors.As(err, &wrong) {
		x.fail("invalid-output", a.ClusterType.ConfigType.At, err.Error())
	}
	for _, one := range wrong {
		x.fail("config-key", values.place([]string{one.key}), one.message)
	}
}

// execute runs one template. Missing values do not stop it; other errors do.
func (x *execution) execute(t *Template, facts any) (string, bool) {
	if x.countsActions {
		x.actions = append(x.actions, t.actions(facts, x.bounds)...)
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
	x.problems = append(x.problems, fileProblem{
		path: x.path, flaw: flaw{rule: d.Rule, message: d.Message, lasting: lasting}, at: d.At, hint: d.Hint,
	})
}

func (x *execution) fail(rule string, at diag.Place, message string) {
	x.add(diag.Diagnostic{Rule: rule, At: at, Message: message}, false)
}
