// Package server serves artifacts.
package server

import (
	"context"
	"net/http"
	"time"

	"github.com/fluxcd/pkg/artifact/config"
)

// Start serves the directory of the artifacts until the context ends.
func Start(ctx context.Context, o *config.Options) error {
	s := &http.Server{Addr: o.StorageAddress, Handler: http.FileServer(http.Dir(o.StoragePath)), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		s.Close()
	}()
	if err := s.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}
