package term

import (
	"bytes"
	"io"
	"sync"
)

// The runner of GitHub Actions takes orders from what a step prints, on both streams: from a line that
// begins with "::", after blanks of any kind, and from "##[" anywhere in a line (ActionCommand.cs of
// actions/runner). Text of tenants, of which a dry run shows a lot, must not give orders.

// Guard passes text on so that no line of it is a command of the runner: it puts a backslash
// before the character that would complete one. It keeps no text back. It is safe for concurrent use.
type Guard struct {
	mu sync.Mutex
	w  io.Writer
	// line is how far the current line has got towards "::", hashes how many "#" were the last characters.
	line   lineState
	hashes int
	// begun says that the current line is not empty.
	begun bool
}

type lineState int

const (
	lineBlank lineState = iota
	lineColon
	lineText
)

// NewGuard returns w behind a guard.
func NewGuard(w io.Writer) *Guard { return &Guard{w: w} }

// Write passes text on.
func (g *Guard) Write(text []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := g.w.Write(g.inert(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// inert returns what is passed on in place of a text.
func (g *Guard) inert(text []byte) []byte {
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

// Command writes a line that is meant for the runner.
func (g *Guard) Command(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.begun {
		line = "\n" + line
	}
	_, _ = io.WriteString(g.w, line+"\n") // a message that cannot be printed has nobody left to tell
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
		// A blank, perhaps one of Unicode, or what the runner's comparison may ignore.
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
	return !bytes.Equal(new(Guard).inert(text), text)
}

// InertJSON returns a JSON document that means the same and that the guard does not change.
func InertJSON(document []byte) []byte {
	return bytes.ReplaceAll(document, []byte("##["), []byte(`#\u0023[`))
}
