package model

// Limits bound what one source may hold, so that no input can exhaust the machine. The zero value
// of a field means no limit.
type Limits struct {
	FileBytes   int64 // one file
	SourceBytes int64 // all files that are read from one source
	Files       int   // files that are read from one source
	Documents   int   // YAML documents in one file
	Nesting     int   // depth of maps and lists within each other
	Targets     int   // deployment targets in one source
	Schemas     int   // JSON Schemas of the workloads in one source
	Aliases     bool  // whether YAML aliases are allowed at all
	Nodes       int   // YAML nodes of one document after its aliases are expanded
	ValueBytes  int   // a key or value of the manifests of an application
	OutputBytes int64 // all files that are rendered for one registration in an environment
}

const mib = 1 << 20

// TenantLimits are the limits for application repositories, unless set otherwise.
func TenantLimits() Limits {
	return Limits{
		FileBytes: mib, SourceBytes: 16 * mib, Files: 1000, Documents: 1000,
		Nesting: 64, Targets: 1000, Schemas: 1000, Nodes: 200_000,
		ValueBytes: 4 << 10, OutputBytes: 256 * mib,
	}
}

// PlatformLimits are the limits for the platform team's own repositories: generous, but enough to
// stop a file that is there by accident. A generated file with ten thousand objects is well below them,
// and an object that Kubernetes could hold (1.5 MiB) as well. Reading as much as they allow in one file
// takes two seconds and 200 MB.
func PlatformLimits() Limits {
	return Limits{
		FileBytes: 4 * mib, SourceBytes: 512 * mib, Files: 100_000, Documents: 50_000,
		Nesting: 200, Targets: 100_000, Schemas: 10_000, Aliases: true, Nodes: 400_000,
	}
}
