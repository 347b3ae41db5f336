package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// workingFolder is locked while this process works in the directory of a session.
var workingFolder sync.Mutex

// runIn runs kalypso in this process, in a directory, where waiting takes no time. The working directory is that of the whole
// process, so nothing that depends on it may run at the same time, except other such runs, which wait.
func runIn(dir string, args []string, host *cli.Host) int {
	workingFolder.Lock()
	defer workingFolder.Unlock()
	before, err := os.Getwd()
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		fmt.Fprintln(host.Stderr, err)
		return -1
	}
	defer func() {
		if err := os.Chdir(before); err != nil {
			panic(err)
		}
	}()
	host.Chdir = os.Chdir
	host.Stdin = strings.NewReader("")
	host.StdoutTerminal, host.StderrTerminal, host.StdinTerminal = false, false, false
	var waited atomic.Int64
	host.Now = func() time.Time { return time.Now().Add(time.Duration(waited.Load())) }
	host.Sleep = func(ctx context.Context, d time.Duration) error {
		waited.Add(int64(d))
		return ctx.Err()
	}
	return run(context.Background(), args, host)
}
