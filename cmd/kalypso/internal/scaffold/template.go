package scaffold

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
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
