//go:build unix

package command

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A child that ignores the request to end, and keeps the output of its parent open, neither hangs us nor survives.
func TestRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hang", "parent"} {
		said, err := started(t, name, 20*time.Millisecond)
		require.ErrorContains(t, err, "was stopped: the run ended", name)
		assertGone(t, said)
	}
}

// The same if the program ends by itself: what it left behind holds its output open.
func TestRunEndsWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	said := &boundedOutput{limit: 1 << 20}
	err := run(t.Context(), process{
		Args: programArgs(t, "leave"), Environ: programEnviron(), Stdout: said, exitTimeout: time.Second,
	})
	require.NoError(t, err)
	if len(said.kept) > 0 { // else it did not come so far
		assertGone(t, string(said.kept))
	}
}

// assertGone waits until a killed process has been reaped, or is a zombie that waits for init.
func assertGone(t *testing.T, said string) {
	t.Helper()
	line, _, _ := strings.Cut(said, "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err, said)
	for range 1_000_000 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) {
			return
		}
		runtime.Gosched()
	}
	assert.Fail(t, "it still runs", "process %d", pid)
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}
