// Command kalypso compiles the model of a Kubernetes fleet into the manifests that its clusters
// pull.
package main

import (
	"context"
	"os"
)

func main() {
	ctx, stop := untilSignal(context.Background())
	go collectEarlier(ctx, os.Getenv)
	code := run(ctx, os.Args[1:], system())
	stop()
	os.Exit(code)
}
