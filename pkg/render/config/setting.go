package config

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/kalypso-gitops/kalypso/pkg/render/jsonschema"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// Setting is a key of the configuration with a value: what one config says, or what several say that
// are laid over each other. Assignments share settings, as most keys have few different values in a
// fleet, however many combinations of configs there are.
type Setting struct {
	Key   *Key
	Value any
	// before is the setting below, nil if this one is alone. entries were laid over it, the last of which
	// decided; there is one unless the setting is deep.
	before  *Setting
	entries []*configEntry
	// depth is how many settings are below.
	depth int
	// like is the setting that the last entry makes alone, if the value is simply that; else nil.
	like *Setting

	// used is the period in which the setting was last asked for; see Configurator.expire.
	used atomic.Int32

	mu sync.Mutex
	// later are the settings that come of laying one more entry over this one.
	later map[*configEntry]*Setting
	// odd says that JSON cannot express the value, once that is examined.
	examined, odd bool
	// kept is what memo returns.
	kept any
}

// Key is one of the keys that the configs of a fleet set.
type Key struct {
	Name string
	// Number is its position among all of them in the order of bytes.
	Number int
}

// newSetting is a setting that one entry makes alone.
func newSetting(entry *configEntry) *Setting {
	return &Setting{Key: entry.key, Value: entry.value, entries: []*configEntry{entry}}
}

// maxDepth is how many entries are laid over each other one by one, so that what they come to on the way
// is shared. Where more of them meet, keeping that would fill the memory with the square of their number.
const maxDepth = 32

// with returns the setting with one more entry laid over it.
func (s *Setting) with(entry *configEntry) *Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	if merged, ok := s.later[entry]; ok {
		return merged
	}
	merged := s.withAll([]*configEntry{entry})
	if s.later == nil {
		s.later = map[*configEntry]*Setting{}
	}
	s.later[entry] = merged
	return merged
}

// withAll returns the setting with entries laid over it, which is not shared.
func (s *Setting) withAll(entries []*configEntry) *Setting {
	merger := merger{value: s.Value}
	merged := &Setting{Key: s.Key, before: s, entries: entries, depth: s.depth + 1}
	for _, entry := range entries {
		merged.like = nil
		if !merges(merger.value, entry.value) {
			merged.like = entry.alone
		}
		merger.add(entry.value)
	}
	merged.Value = merger.value
	return merged
}

// last is the entry that was laid on top.
func (s *Setting) last() *configEntry { return s.entries[len(s.entries)-1] }

// allEntries are those that were laid over each other, the last that decided at the end.
func (s *Setting) allEntries() []*configEntry {
	if s == nil {
		return nil
	}
	return append(s.before.allEntries(), s.entries...)
}

// origins tells where the setting comes from, the last that decided at the end.
func (s *Setting) origins() []Origin {
	var origins []Origin
	for _, entry := range s.allEntries() {
		origins = append(origins, entry.origin)
	}
	return origins
}

// expire forgets the settings over this one that were not used since a period.
func (s *Setting) expire(since int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for entry, later := range s.later {
		if later.used.Load() < since {
			delete(s.later, entry)
			continue
		}
		later.expire(since)
	}
}

// Representative returns the same setting for all that have simply the value of one entry.
func (s *Setting) Representative() *Setting {
	if s.like != nil {
		return s.like
	}
	return s
}

// expressible reports whether JSON, and with it a schema, can express the value.
func (s *Setting) expressible() bool {
	if s.like != nil {
		return s.like.expressible()
	}
	if _, isText := s.Value.(string); isText {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.examined {
		s.examined = true
		s.odd = !jsonschema.Expressible(s.Value)
	}
	return !s.odd
}

// Memo returns what another package keeps with the setting, which fresh makes the first time.
func (s *Setting) Memo(fresh func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = fresh()
	}
	return s.kept
}

// Text returns the value as a string. An object that the last config sets by itself is the text that
// was written, as the operator had it; one that others have a part in is written anew.
func (s *Setting) Text() (string, error) {
	if text, ok := s.Value.(string); ok {
		return text, nil
	}
	if s.before == nil || s.like != nil || reflect.DeepEqual(s.last().value, s.Value) {
		return s.last().origin.Text, nil
	}
	return yamltext.ToYAML(s.Value)
}
