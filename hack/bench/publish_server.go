package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// startServer serves the repositories below root until it is stopped. It does so in a process of its
// own: what this one needs counts as memory of those that it starts.
func startServer(ctx context.Context, self, root string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, self, childFlag, "-way", childServe, "-root", root)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = stdin.Close()
		_ = cmd.Wait() // it has nothing to say
	}
	url, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("start the git server: %w", err)
	}
	return strings.TrimSpace(url), stop, nil
}

// serve prints the URL of the server, which lives as long as stdin.
func serve(root string, stdin io.Reader, stdout io.Writer) error {
	handler, err := gitopstest.Handler(root)
	if err != nil {
		return err
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	fmt.Fprintln(stdout, server.URL)
	_, err = io.Copy(io.Discard, stdin)
	return err
}
