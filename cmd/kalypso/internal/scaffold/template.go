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

// texts are templates with the delimiters [[ and ]], because workflows and kalypso's templates contain braces.
//
//go:embed all:files workflows
var texts embed.FS

// filesIn executes all files in a directory of files.
func filesIn(directory string, d data) (Files, error) {
	below, err := fs.Sub(texts, "files/"+directory)
	if err != nil {
		return nil, err
	}
	files := Files{}
	err = fs.WalkDir(below, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[name], err = execute("files/"+directory+"/"+name, d)
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

// Doc returns the URL of a page of the documentation, such as how-to/roll-back.
func Doc(page string) string {
	return "https://github.com/kalypso-gitops/kalypso/blob/main/docs/" + page + ".md"
}

// plainWord matches a word that needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// ShellWord quotes a text for a shell if needed.
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

// toJSON formats a list of texts as JSON in one line.
func toJSON(texts []string) (string, error) {
	text, err := json.Marshal(texts)
	return strings.ReplaceAll(string(text), `","`, `", "`), err
}

// scalar formats a text as a YAML string, with quotes if needed.
func scalar(text string) (string, error) {
	out, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(out), "\n"), err
}

// list formats texts and lists of texts as one YAML list in one line.
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

// WorkflowDirectory is the directory in which GitHub reads workflows.
const WorkflowDirectory = ".github/workflows"

// Place is a kind of branch with workflows of its own.
type Place = string

// The places with workflows.
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

// Places lists all places.
func Places() []Place { return []Place{OfControlPlane, OfEnvironment, OfGitOps, OfApplication} }

// workflowsOf lists the workflows of a place. GitHub reads the workflow of a push or pull request from its branch, and of
// other events from the default branch.
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

// Workflows returns the workflows of a place by file name.
func (f Fleet) Workflows(place Place) (Files, error) {
	if !slices.Contains(Places(), place) {
		return nil, fmt.Errorf("unknown place %q", place)
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
