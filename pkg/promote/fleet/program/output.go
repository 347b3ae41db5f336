package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet/told"
)

// relay hands on what a program prints to a writer that others use too, and ends the program if that fails.
type relay struct {
	to    io.Writer
	turns *sync.Mutex
	stop  context.CancelCauseFunc
}

// relayTo returns nil, as os/exec has it, if there is nowhere to write to.
func relayTo(to io.Writer, turns *sync.Mutex, stop context.CancelCauseFunc) io.Writer {
	if to == nil {
		return nil
	}
	return &relay{to: to, turns: turns, stop: stop}
}

func (r *relay) Write(p []byte) (int, error) {
	r.turns.Lock()
	defer r.turns.Unlock()
	n, err := r.to.Write(p)
	if err != nil {
		r.stop(err)
	}
	return n, err
}

// boundedOutput keeps what a program prints, and fails when it is more than limit bytes.
type boundedOutput struct {
	bytes.Buffer
	limit int
}

func (b *boundedOutput) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("it prints more than %d MiB", b.limit>>20)
	}
	return b.Buffer.Write(p)
}

// tailOutput keeps the end of what a program prints.
type tailOutput struct{ kept []byte }

// tailLength is how much tailOutput keeps, in bytes. It is more than the longest line that is shown.
const tailLength = 4 << 10

func (t *tailOutput) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-tailLength):]...)
	if over := len(t.kept) - tailLength; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// lastLine returns the last line that is not blank, fit to show.
func (t *tailOutput) lastLine() string {
	text := strings.TrimSpace(string(t.kept))
	return told.Line(text[strings.LastIndexAny(text, "\r\n")+1:])
}
