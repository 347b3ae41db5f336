package incremental

import (
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
	"github.com/mitchellh/hashstructure"
)

// form is a way to write a setting as an entry of a map, independent of the other entries.
type form struct {
	writer formWriter
	// indent is the number of blanks by which a template indents the lines.
	indent int
	// body is the body of the range, for inRange.
	body *rangeBody
}

type formWriter int

const (
	// inConfigMap is an entry of the data of the built-in ConfigMap.
	inConfigMap formWriter = iota
	// inEnvFile is a line of the built-in env file.
	inEnvFile
	// inYAML and inStringified are entries in the output of the functions toYaml and stringify.
	inYAML
	inStringified
	// inRange is the output of the body of a range over the configuration for an entry.
	inRange
)

// writtenEntry is a setting in one form.
type writtenEntry struct {
	content.Segment
	form form
	// steps is an upper bound of the steps that writing it takes, as template.Bounds counts them.
	steps int
	// usable is false if the whole map must be written at once.
	usable bool
	// nested renders the text if it has actions; nil otherwise.
	nested *plan
}

// written is the cache of a setting: the forms in which it was written so far, and its part of the hash of the
// configuration.
type written struct {
	mu      sync.Mutex
	entries []*writtenEntry
	sum     func() (uint64, error)
}

func writtenOf(s *config.Setting) *written {
	return s.Memo(func() any {
		return &written{sum: sync.OnceValues(func() (uint64, error) {
			return hashstructure.Hash(map[string]any{s.Key.Name: s.Value}, nil)
		})}
	}).(*written)
}

// entryOf returns a setting written in a form. It writes each setting and form once.
func entryOf(s *config.Setting, f form) *writtenEntry {
	s = s.Representative()
	kept := writtenOf(s)
	kept.mu.Lock()
	defer kept.mu.Unlock()
	for _, known := range kept.entries {
		if known.form == f {
			return known
		}
	}
	made := newEntry(s, f)
	kept.entries = append(kept.entries, made)
	return made
}

// hashOf returns the part of a setting in the hash of a map: hashstructure combines the hashes of all entries by
// exclusive or.
func hashOf(s *config.Setting) (sum uint64, ok bool) {
	sum, err := writtenOf(s.Representative()).sum()
	return sum, err == nil
}

func newEntry(s *config.Setting, f form) *writtenEntry {
	made := &writtenEntry{form: f, Segment: content.Segment{Key: s.Key.Name, Leading: true}}
	text, steps, ok := f.write(s)
	if !ok {
		return made
	}
	made.steps = steps
	made.usable = true
	switch {
	case f.writer == inEnvFile:
		made.Text, made.Leading = text, false
		return made
	case f.writer != inRange:
		made.Text = "\n" + indentLines(text, f.indent)
	default:
		made.Text = text
		made.Leading = !strings.HasSuffix(text, "\n")
	}
	if f.writer != inConfigMap {
		made.usable = !strings.Contains(text, template.NoValue) && made.resolve()
	}
	if !made.Leading || strings.HasPrefix(made.Text, "\n") {
		made.Indent, made.Entry = blockEntry(made.Lines(), made.Key)
	}
	return made
}

// resolve parses the actions in the text, if there are any. It returns false if they could depend on the text before or
// after the entry.
func (f *writtenEntry) resolve() bool {
	if !strings.Contains(f.Text, template.ActionStart) {
		return true
	}
	first, last := strings.Index(f.Text, template.ActionStart), strings.LastIndex(f.Text, "}}")
	trimsBefore := strings.HasPrefix(f.Text[first:], "{{-") && strings.TrimSpace(f.Text[:first]) == ""
	trimsAfter := last > 0 && f.Text[last-1] == '-' && strings.TrimSpace(f.Text[last+2:]) == ""
	if trimsBefore || trimsAfter {
		return false
	}
	template, problems := template.Parse(model.Block{Text: model.Text{Value: f.Text}})
	if len(problems) > 0 || template.Defines() {
		return false
	}
	f.nested = newPlan(template)
	return f.nested != nil
}

// write returns the setting as text, without the line break at its end, and the number of steps that it takes; ok is
// false if it cannot be written separately.
func (f form) write(s *config.Setting) (text string, steps int, ok bool) {
	switch f.writer {
	case inConfigMap:
		text, ok = configMapEntry(s)
	case inEnvFile:
		line, problem, err := reference.EnvFileLine(s)
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

// bytesPerEntryStep is the number of bytes that count as one step. It is a low estimate: toYaml and indent read and write
// a value a few times.
const bytesPerEntryStep = 8

func configMapEntry(s *config.Setting) (text string, ok bool) {
	value, err := s.Text()
	if err != nil || len(s.Key.Name) > reference.MaxConfigMapKey {
		return "", false
	}
	return yamltext.DataEntry(s.Key.Name, value)
}

// indentLines is sprig's function indent.
func indentLines(text string, by int) string {
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}
