package term

import (
	"bytes"
	"io"
	"sync"
)

// The runner of GitHub Actions executes commands in the output of a step, on both streams: lines that begin with "::",
// after any white space, and "##[" anywhere in a line (ActionCommand.cs of actions/runner). The output may contain text
// of tenants, which must not be executed.

// Guard is a writer that escapes commands of the runner: it writes a backslash before the character that would complete
// one. It does not buffer. It is safe for concurrent use.
type Guard struct {
	mu sync.Mutex
	w  io.Writer
	// line is the state of matching "::" in the current line, hashes the number of "#" at its end.
	line   lineState
	hashes int
	// begun is true if the current line is not empty.
	begun bool
}

type lineState int

const (
	lineBlank lineState = iota
	lineColon
	lineText
)

// NewGuard returns a Guard that writes to w.
func NewGuard(w io.Writer) *Guard { return &Guard{w: w} }

// Write writes text with escaped commands.
func (g *Guard) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := g.w.Write(g.sanitize(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// sanitize returns text with escaped commands.
func (g *Guard) sanitize(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, c := range text {
		if g.completes(c) {
			out = append(out, '\\')
		}
		out = append(out, c)
		g.advance(c)
	}
	return out
}

// Command writes a command for the runner.
func (g *Guard) Command(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.begun {
		line = "\n" + line
	}
	_, _ = io.WriteString(g.w, line+"\n") // there is no other place for an error
	g.line, g.hashes, g.begun = lineBlank, 0, false
}

func (g *Guard) completes(c byte) bool {
	return c == ':' && g.line == lineColon || c == '[' && g.hashes >= 2
}

func (g *Guard) advance(c byte) {
	g.begun = true
	switch {
	case c == '\n' || c == '\r':
		g.line, g.begun = lineBlank, false
	case g.line == lineBlank && c == ':':
		g.line = lineColon
	case g.line == lineBlank && (c <= ' ' || c >= 0x7f):
		// White space, also of Unicode, or a character that the runner's comparison may ignore.
	default:
		g.line = lineText
	}
	if c == '#' {
		g.hashes++
	} else {
		g.hashes = 0
	}
}

// HoldsCommand reports whether the guard would change the text.
func HoldsCommand(text []byte) bool {
	return !bytes.Equal(new(Guard).sanitize(text), text)
}

// SanitizeJSON returns an equivalent JSON document that the guard does not change.
func SanitizeJSON(document []byte) []byte {
	return bytes.ReplaceAll(document, []byte("##["), []byte(`#\u0023[`))
}
