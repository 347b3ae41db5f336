package config

import (
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/kalypso-gitops/kalypso/pkg/render/jsonschema"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// Setting is a key of the configuration with a value: that of one config, or the merged one of several. Assignments
// share settings, because most keys have few different values in a fleet, even with many combinations of configs.
type Setting struct {
	Key   *Key
	Value any
	// before is the setting into which entries were merged, in order; nil for the first one. There is one entry unless
	// the depth exceeds maxDepth.
	before  *Setting
	entries []*configEntry
	// depth is the length of the chain of before.
	depth int
	// like is the setting of the last entry alone, if that has the same value; else nil.
	like *Setting

	// used is the period of the last use; see Configurator.Expire.
	used atomic.Int32

	mu sync.Mutex
	// later are the settings that result from merging one more entry.
	later map[*configEntry]*Setting
	// odd is true if JSON cannot express the value; valid if examined.
	examined, odd bool
	// kept is the result of Memo.
	kept any
}

// Key is one of the keys that the configs of a fleet set.
type Key struct {
	Name string
	// Number is its position among all keys in byte order.
	Number int
}

// newSetting returns the setting of one entry alone.
func newSetting(entry *configEntry) *Setting {
	return &Setting{Key: entry.key, Value: entry.value, entries: []*configEntry{entry}}
}

// maxDepth is the number of entries that are merged one by one, so that intermediate settings are shared. With more
// entries, the memory for intermediate settings would grow with the square of their number.
const maxDepth = 32

// with returns the setting with one more entry merged into it.
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

// withAll returns the setting with entries merged into it; it is not shared.
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

// last returns the entry that was merged last.
func (s *Setting) last() *configEntry { return s.entries[len(s.entries)-1] }

// allEntries returns the entries that were merged, in order.
func (s *Setting) allEntries() []*configEntry {
	if s == nil {
		return nil
	}
	return append(s.before.allEntries(), s.entries...)
}

// origins returns the origins of all entries, in the order in which they were merged.
func (s *Setting) origins() []Origin {
	var origins []Origin
	for _, entry := range s.allEntries() {
		origins = append(origins, entry.origin)
	}
	return origins
}

// expire removes the later settings that were not used since a period.
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

// Representative returns the same setting for all settings whose value is that of the same entry.
func (s *Setting) Representative() *Setting {
	if s.like != nil {
		return s.like
	}
	return s
}

// expressible reports whether JSON can express the value, so that a schema can check it.
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

// Memo returns the data that another package caches with the setting; fresh creates it on the first call.
func (s *Setting) Memo(fresh func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = fresh()
	}
	return s.kept
}

// Text returns the value as a string. An object that the last config sets alone is its original text, as in the
// operator; a merged one is written as YAML.
func (s *Setting) Text() (string, error) {
	if text, ok := s.Value.(string); ok {
		return text, nil
	}
	if s.before == nil || s.like != nil || reflect.DeepEqual(s.last().value, s.Value) {
		return s.last().origin.Text, nil
	}
	return yamltext.ToYAML(s.Value)
}
