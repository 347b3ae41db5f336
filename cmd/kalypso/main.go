// Command kalypso compiles the model of a Kubernetes fleet into the manifests that its clusters
// pull.
package main

import (
	"context"
	"os"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
)

func main() {
	ctx, stop := session.UntilSignal(context.Background())
	go collectEarlier(ctx, os.Getenv)
	code := run(ctx, os.Args[1:], cli.System())
	stop()
	os.Exit(code)
}
