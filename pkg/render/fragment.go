package render

import (
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"github.com/mitchellh/hashstructure"
)

// form is a way to write a setting as an entry of a map, the same for every map that it is in.
type form struct {
	writer formWriter
	// indent is by how much a template indents the lines.
	indent int
	// body is what a template makes of each setting, for inRange.
	body *rangeBody
}

type formWriter int

const (
	// inConfigMap is an entry of the data of the built-in ConfigMap.
	inConfigMap formWriter = iota
	// inEnvFile is a line of the built-in env file.
	inEnvFile
	// inYAML and inStringified are entries of what the functions toYaml and stringify make.
	inYAML
	inStringified
	// inRange is what the body of a range over the configuration makes of an entry.
	inRange
)

// fragment is a setting in one form.
type fragment struct {
	form form
	key  string
	// text is what is written. It ends with a line break, or is leading and begins with one, unless it is
	// no entry.
	text    string
	leading bool
	// steps is what it takes to write it, as Bounds counts it, or more.
	steps int
	// usable is false if the whole map has to be written at once.
	usable bool
	// nested makes the text, if it holds actions; nil otherwise.
	nested *plan
	// entry says that in YAML the text is one entry of a block mapping, and complete in itself; indent
	// is where its key begins.
	entry  bool
	indent int
}

// written is what is kept with a setting: the forms in which it was written so far, and what it has in the hash of the
// configuration.
type written struct {
	mu        sync.Mutex
	fragments []*fragment
	sum       func() (uint64, error)
}

func writtenOf(s *config.Setting) *written {
	return s.Memo(func() any {
		return &written{sum: sync.OnceValues(func() (uint64, error) {
			return hashstructure.Hash(map[string]any{s.Key.Name: s.Value}, nil)
		})}
	}).(*written)
}

// fragmentOf returns a setting written in a form; it is written once.
func fragmentOf(s *config.Setting, f form) *fragment {
	s = s.Representative()
	kept := writtenOf(s)
	kept.mu.Lock()
	defer kept.mu.Unlock()
	for _, known := range kept.fragments {
		if known.form == f {
			return known
		}
	}
	made := newFragment(s, f)
	kept.fragments = append(kept.fragments, made)
	return made
}

// hashOf returns what a setting has in the hash of a map that holds it: hashstructure lays those of all entries over
// each other by exclusive or.
func hashOf(s *config.Setting) (sum uint64, ok bool) {
	sum, err := writtenOf(s.Representative()).sum()
	return sum, err == nil
}

func newFragment(s *config.Setting, f form) *fragment {
	fragment := &fragment{form: f, key: s.Key.Name, leading: true}
	text, steps, ok := f.write(s)
	if !ok {
		return fragment
	}
	fragment.steps = steps
	fragment.usable = true
	switch {
	case f.writer == inEnvFile:
		fragment.text, fragment.leading = text, false
		return fragment
	case f.writer != inRange:
		fragment.text = "\n" + indentLines(text, f.indent)
	default:
		fragment.text = text
		fragment.leading = !strings.HasSuffix(text, "\n")
	}
	if f.writer != inConfigMap {
		fragment.usable = !strings.Contains(text, template.NoValue) && fragment.resolve()
	}
	if !fragment.leading || strings.HasPrefix(fragment.text, "\n") {
		fragment.indent, fragment.entry = blockEntry(fragment.lines(), fragment.key)
	}
	return fragment
}

// lines returns the text without the line break around it.
func (f *fragment) lines() string {
	if f.leading {
		return strings.TrimPrefix(f.text, "\n")
	}
	return strings.TrimSuffix(f.text, "\n")
}

// resolve prepares the actions in the text, if there are any. It fails if these could have to do with
// what stands around the text.
func (f *fragment) resolve() bool {
	if !strings.Contains(f.text, template.ActionStart) {
		return true
	}
	first, last := strings.Index(f.text, template.ActionStart), strings.LastIndex(f.text, "}}")
	trimsBefore := strings.HasPrefix(f.text[first:], "{{-") && strings.TrimSpace(f.text[:first]) == ""
	trimsAfter := last > 0 && f.text[last-1] == '-' && strings.TrimSpace(f.text[last+2:]) == ""
	if trimsBefore || trimsAfter {
		return false
	}
	template, problems := template.Parse(model.Block{Text: model.Text{Value: f.text}})
	if len(problems) > 0 || template.Defines() {
		return false
	}
	f.nested = newPlan(template)
	return f.nested != nil
}

// write returns the setting as text, without the line break at its end, and the steps that it takes; ok
// is false if it cannot be written by itself.
func (f form) write(s *config.Setting) (text string, steps int, ok bool) {
	switch f.writer {
	case inConfigMap:
		text, ok = configMapEntry(s)
	case inEnvFile:
		line, problem, err := envFileLine(s)
		text, ok = line, problem == "" && err == nil
	case inYAML:
		text, ok = yamltext.Entry(s.Key.Name, s.Value)
		steps = len(text) / bytesPerEntryStep
	case inStringified:
		text, ok = yamltext.StringifiedEntry(s.Key.Name, s.Value)
		steps = len(text) / bytesPerEntryStep
	default:
		return f.body.render(s)
	}
	return text, steps, ok
}

// bytesPerEntryStep is few enough bytes for a step: toYaml and indent read and make no more of a value than a
// few times its text.
const bytesPerEntryStep = 8

func configMapEntry(s *config.Setting) (text string, ok bool) {
	value, err := s.Text()
	if err != nil || len(s.Key.Name) > maxConfigMapKey {
		return "", false
	}
	return yamltext.DataEntry(s.Key.Name, value)
}

// indentLines is sprig's function indent.
func indentLines(text string, by int) string {
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}
