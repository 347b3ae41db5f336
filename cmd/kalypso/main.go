// Command kalypso compiles the model of a Kubernetes fleet into the manifests that its clusters
// pull.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the run at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], system())
	stop()
	os.Exit(code)
}
