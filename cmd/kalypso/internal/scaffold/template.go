package scaffold

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// The texts are templates whose actions stand in [[ ]], as workflows and kalypso's own templates have braces.
//
//go:embed all:files workflows
var texts embed.FS

// filesIn executes all that is in a folder of files.
func filesIn(folder string, d data) (Files, error) {
	below, err := fs.Sub(texts, "files/"+folder)
	if err != nil {
		return nil, err
	}
	files := Files{}
	err = fs.WalkDir(below, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[name], err = execute("files/"+folder+"/"+name, d)
		return err
	})
	return files, err
}

// execute executes one file.
func execute(name string, d data) (string, error) {
	text, err := fs.ReadFile(texts, name)
	if err != nil {
		return "", err
	}
	parsed, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Funcs(functions()).Parse(string(text))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := parsed.Execute(&b, d); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return b.String(), nil
}

// Doc is where a page of the documentation, such as how-to/roll-back, can be read by whoever has only the program.
func Doc(page string) string {
	return "https://github.com/kalypso-gitops/kalypso/blob/main/docs/" + page + ".md"
}

// plainWord is what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// ShellWord is a text as a word for a shell: in quotes if it needs them.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func functions() template.FuncMap {
	return template.FuncMap{
		"doc":  Doc,
		"json": toJSON,
		"list": list,
		"sh":   ShellWord,
		"yaml": scalar,
	}
}

// toJSON is a list of texts in one line.
func toJSON(texts []string) (string, error) {
	text, err := json.Marshal(texts)
	return strings.ReplaceAll(string(text), `","`, `", "`), err
}

// scalar is a text as YAML writes it: in quotes if it would be taken for something else.
func scalar(text string) (string, error) {
	out, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(out), "\n"), err
}

// list is a YAML list of texts, and of the elements of lists of texts, in one line.
func list(values ...any) (string, error) {
	var scalars []string
	add := func(text string) error {
		one, err := scalar(text)
		scalars = append(scalars, one)
		return err
	}
	for _, value := range values {
		texts, several := value.([]string)
		if !several {
			texts = []string{fmt.Sprint(value)}
		}
		for _, text := range texts {
			if err := add(text); err != nil {
				return "", err
			}
		}
	}
	return "[" + strings.Join(scalars, ", ") + "]", nil
}

// WorkflowFolder is where GitHub looks for workflows.
const WorkflowFolder = ".github/workflows"

// Place is a kind of branch that workflows belong on.
type Place = string

// The places that have workflows.
const (
	// OfControlPlane is the base branch of the control plane.
	OfControlPlane Place = "control-plane"
	// OfEnvironment is the branch of an environment in the control plane.
	OfEnvironment Place = "environment"
	// OfGitOps is the branch of an environment in the GitOps repository.
	OfGitOps Place = "gitops"
	// OfApplication is the registered branch of an application repository.
	OfApplication Place = "application"
)

// Places are all of them.
func Places() []Place { return []Place{OfControlPlane, OfEnvironment, OfGitOps, OfApplication} }

// workflowsOf lists the workflows of a place. Where one belongs on several kinds of branches GitHub reads it from the
// branch of the event: pushes and pull requests from theirs, all else from the default one.
func workflowsOf(place Place) []string {
	return map[Place][]string{
		OfControlPlane: {
			"cd.yaml", "check-promote.yaml", "ci.yaml", "preview-comment.yaml", "preview-workload.yaml", "preview.yaml", "render.yaml",
		},
		OfEnvironment: {"preview.yaml", "render.yaml"},
		OfGitOps:      {"gitops-merged.yaml"},
		OfApplication: {"notify.yaml", "validate-workload.yaml"},
	}[place]
}

// Workflows are the workflows of a place, by the names of their files.
func (f Fleet) Workflows(place Place) (Files, error) {
	if !slices.Contains(Places(), place) {
		return nil, fmt.Errorf("there are no workflows of %q", place)
	}
	files := Files{}
	for _, name := range workflowsOf(place) {
		text, err := execute("workflows/"+name, f.data())
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}
