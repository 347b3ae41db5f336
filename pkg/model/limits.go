package model

import "github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"

// Limits bound what one source may hold, so that no input can exhaust the machine. The zero value
// of a field means no limit.
type Limits struct {
	yamldoc.Limits
	FileBytes   int64 // one file
	SourceBytes int64 // all files that are read from one source
	Files       int   // files that are read from one source
	Targets     int   // deployment targets in one source
	Schemas     int   // JSON Schemas of the workloads in one source
	ValueBytes  int   // a key or value of the manifests of an application
	OutputBytes int64 // all files that are rendered for one registration in an environment
}

const mib = 1 << 20

// Options says how sources are parsed.
type Options struct {
	Platform, Tenant Limits
	// IgnoreKustomization skips kustomization.yaml files instead of refusing them.
	IgnoreKustomization bool
}

// DefaultOptions are the options of a run without flags.
//
// The limits for the platform team's own repositories are generous, but enough to stop a file that is there by
// accident. A generated file with ten thousand objects is well below them, and an object that Kubernetes could hold
// (1.5 MiB) as well. Reading as much as they allow in one file takes two seconds and 200 MB.
func DefaultOptions() Options {
	return Options{
		Platform: Limits{
			Limits:    yamldoc.Limits{Documents: 50_000, Nesting: 200, Nodes: 400_000, Aliases: true},
			FileBytes: 4 * mib, SourceBytes: 512 * mib, Files: 100_000, Targets: 100_000, Schemas: 10_000,
		},
		Tenant: Limits{
			Limits:    yamldoc.Limits{Documents: 1000, Nesting: 64, Nodes: 200_000},
			FileBytes: mib, SourceBytes: 16 * mib, Files: 1000, Targets: 1000, Schemas: 1000,
			ValueBytes: 4 << 10, OutputBytes: 256 * mib,
		},
	}
}

func (o Options) limits(role Role) Limits {
	if role == Tenant {
		return o.Tenant
	}
	return o.Platform
}
