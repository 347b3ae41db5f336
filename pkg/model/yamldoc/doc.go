// Package yamldoc reads YAML files as documents whose nodes have positions in the file, within limits.
//
// In: the bytes of a file. Out: its documents, divided as kustomize divides a file, with scalars that Resolve reads as
// Kubernetes reads them (YAML 1.1), and a diag.List with what is no YAML or too large. It knows no kinds.
package yamldoc
