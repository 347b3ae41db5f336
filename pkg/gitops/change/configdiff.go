package change

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// maxParsed is the maximum size in bytes of files whose keys are compared.
const maxParsed = 1 << 20

// diffFiles returns the changes of the keys of a file, in order of key. It returns nil if the file does not parse, or no
// value differs.
func diffFiles(extension, old, now string) []ValueChange {
	parse := parseYAMLKeys
	switch {
	case len(old)+len(now) > maxParsed, extension != ".yaml" && extension != ".sh":
		return nil
	case extension == ".sh":
		parse = parseEnvFile
	}
	before, okBefore := parse(old)
	after, okAfter := parse(now)
	if !okBefore || !okAfter {
		return nil
	}
	changes := diffKeys(before, after)
	if old == "" || now == "" {
		changes = slices.DeleteFunc(changes, func(c ValueChange) bool { return strings.HasPrefix(c.Key, configMapPrefix) })
	}
	return changes
}

// configMapPrefix begins the keys outside the data of a ConfigMap. If the whole file is added or removed, they are
// omitted.
const configMapPrefix = "ConfigMap "

// keyValue is the value of a key, and its YAML tag if that is relevant.
type keyValue struct{ text, tag string }

func diffKeys(before, after map[string]keyValue) []ValueChange {
	var changes []ValueChange
	for key, old := range before {
		switch value, stays := after[key]; {
		case !stays:
			changes = append(changes, newValueChange(key, Removed, old.text, ""))
		case old == value:
		case old.text == value.text:
			changes = append(changes, newValueChange(key, Changed, old.tag+" "+old.text, value.tag+" "+value.text))
		default:
			changes = append(changes, newValueChange(key, Changed, old.text, value.text))
		}
	}
	for key := range maps.Keys(after) {
		if _, there := before[key]; !there {
			changes = append(changes, newValueChange(key, Added, "", after[key].text))
		}
	}
	slices.SortFunc(changes, func(a, b ValueChange) int { return strings.Compare(a.Key, b.Key) })
	return changes
}

func newValueChange(key string, action Action, old, now string) ValueChange {
	c := ValueChange{Key: key, Action: action}
	if len(old) > maxValue || len(now) > maxValue {
		sum := sha256.Sum256([]byte(old + "\x00" + now))
		c.sum = string(sum[:])
	}
	if action == Changed {
		old, now = trimCommon(old, now)
	}
	c.Old, c.New = shortenValue(strings.TrimSuffix(old, "\n")), shortenValue(strings.TrimSuffix(now, "\n"))
	if c.Old == c.New { // they differ at the end
		c.Old, c.New = shortenValue(old), shortenValue(now)
	}
	return c
}

// maxValue is the maximum length of a value in messages.
const maxValue = 72

func shortenValue(text string) string { return diag.Shorten(text, maxValue) }

// trimCommon removes from two long texts the lines, or else the characters, with which both begin and end.
func trimCommon(old, now string) (string, string) {
	if max(len(old), len(now)) <= maxValue && !strings.Contains(old+now, "\n") {
		return old, now
	}
	start := lineStart(old, commonPrefix(old, now))
	const context = 12
	if n := commonPrefix(old[start:], now[start:]); n > maxValue/2 {
		start += n - context
		for start > 0 && !utf8.RuneStart(old[start]) {
			start--
		}
	}
	end := linesAtEnd(old[start:], now[start:])
	return between(old, start, end), between(now, start, end)
}

// between returns a part of a text, from start to end bytes before its end.
func between(text string, start, end int) string {
	part := text[start : len(text)-end]
	if start > 0 {
		part = "…" + part
	}
	if strings.TrimSpace(text[len(text)-end:]) != "" {
		part += "…"
	}
	return part
}

func commonPrefix[T string | []byte](a, b T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func lineStart[T string | []byte](text T, at int) int {
	for at > 0 && text[at-1] != '\n' {
		at--
	}
	return at
}

// linesAtEnd returns the length of the whole lines with which both texts end, and of the line break before.
func linesAtEnd[T string | []byte](a, b T) int {
	end := 0
	for n := 1; n <= min(len(a), len(b)) && a[len(a)-n] == b[len(b)-n]; n++ {
		if a[len(a)-n] == '\n' {
			end = n
		}
	}
	return end
}

// FileGroup is a group of files in which the same lines change.
type FileGroup struct {
	// File is the index of the first in Change.Files.
	File  int
	Count int
}

// FileGroups returns the groups of files for which a diff is shown: changed files, then added and removed ones, each with
// the largest groups first.
func (c *Change) FileGroups() (groups []FileGroup) {
	byLines := map[[sha256.Size]byte]int{}
	gone := c.targetsWith(Removed)
	var buffer []byte
	for i, f := range c.Files {
		if _, removed := gone[targetDirectory(f.Path)]; removed || isGenerated(f.Path) {
			continue
		}
		if f.Action == Changed {
			buffer = f.New.Append(buffer[:0])
			sum := changedLines(path.Base(f.Path), f.Old, buffer)
			if at, known := byLines[sum]; known {
				groups[at].Count++
				continue
			}
			byLines[sum] = len(groups)
		}
		groups = append(groups, FileGroup{i, 1})
	}
	rank := func(g FileGroup) int { return [...]int{3, 1, 0, 2}[c.Files[g.File].Action] }
	slices.SortStableFunc(groups, func(a, b FileGroup) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Count, a.Count))
	})
	return groups
}

// isGenerated reports whether a file has no information besides the summary: the tracking file or a README.md.
func isGenerated(name string) bool {
	return name == render.TrackingFile || path.Base(name) == render.ReadmeFile && strings.Count(name, "/") == 1
}

// changedLines returns a hash of the lines from the first to the last that differ. It is equal for files of the same name
// with the same change.
func changedLines(name string, old, now []byte) [sha256.Size]byte {
	start := lineStart(old, commonPrefix(old, now))
	old, now = old[start:], now[start:]
	end := linesAtEnd(old, now)
	return sha256.Sum256(slices.Concat([]byte(name), []byte{0}, old[:len(old)-end], []byte{0}, now[:len(now)-end]))
}
