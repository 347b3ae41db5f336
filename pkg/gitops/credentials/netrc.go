package credentials

import (
	"os"
	"path/filepath"
	"strings"
)

// netrcEntry is one machine of a netrc file.
type netrcEntry struct{ machine, login, password string }

// readNetrc reads $NETRC, or .netrc in $HOME (on Windows _netrc too). A file that is missing or
// malformed holds nothing: it belongs to other programs.
func readNetrc(env func(string) string) []netrcEntry {
	files := []string{env("NETRC")}
	if files[0] == "" {
		home := env("HOME")
		if home == "" {
			home = env("USERPROFILE")
		}
		if home == "" {
			return nil
		}
		files = []string{filepath.Join(home, ".netrc"), filepath.Join(home, "_netrc")}
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			return parseNetrc(string(data))
		}
	}
	return nil
}

// parseNetrc reads the entries that name a machine. The "default" entry is left out on purpose:
// it would go to any host that a YAML object names.
func parseNetrc(text string) []netrcEntry {
	var entries []netrcEntry
	words := netrcWords(text)
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine":
			entries = append(entries, netrcEntry{machine: strings.ToLower(value)})
		case "default":
			entries = append(entries, netrcEntry{})
			continue
		case "login":
			setLast(entries, func(e *netrcEntry) { e.login = value })
		case "password":
			setLast(entries, func(e *netrcEntry) { e.password = value })
		case "account":
		default:
			continue
		}
		i++
	}
	return complete(entries)
}

// netrcWords splits a netrc file into words, without comments and macros (which end at an empty
// line).
func netrcWords(text string) []string {
	var words []string
	macro := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			macro = false
			continue
		}
		if macro || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if fields[0] == "macdef" {
			macro = true
			continue
		}
		words = append(words, fields...)
	}
	return words
}

func setLast(entries []netrcEntry, set func(*netrcEntry)) {
	if len(entries) > 0 {
		set(&entries[len(entries)-1])
	}
}

func complete(entries []netrcEntry) []netrcEntry {
	var whole []netrcEntry
	for _, e := range entries {
		if e.machine != "" && e.password != "" {
			whole = append(whole, e)
		}
	}
	return whole
}
