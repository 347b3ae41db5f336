// Package config replaces the package of the same name in github.com/fluxcd/pkg/artifact, for tests: the flags that set where
// artifacts are stored and served.
package config

import (
	"os"
	"time"

	"github.com/spf13/pflag"
)

// Options has the values of the flags.
type Options struct {
	StoragePath              string
	StorageAddress           string
	StorageAdvAddress        string
	ArtifactRetentionTTL     time.Duration
	ArtifactRetentionRecords int
	ArtifactDigestAlgo       string
}

// BindFlags defines the flags of source-controller.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.StoragePath, "storage-path", os.Getenv("STORAGE_PATH"), "directory of the artifacts")
	fs.StringVar(&o.StorageAddress, "storage-addr", ":9090", "address of the file server")
	fs.StringVar(&o.StorageAdvAddress, "storage-adv-addr", os.Getenv("STORAGE_ADV_ADDR"), "address in the URLs of artifacts")
	fs.DurationVar(&o.ArtifactRetentionTTL, "artifact-retention-ttl", time.Minute, "ignored")
	fs.IntVar(&o.ArtifactRetentionRecords, "artifact-retention-records", 2, "ignored")
	fs.StringVar(&o.ArtifactDigestAlgo, "artifact-digest-algo", "sha256", "algorithm of digests")
}
