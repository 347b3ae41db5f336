// Package yamltext writes values as YAML, as the libraries and template functions of Kubernetes do, and tells which
// scalars every reader of YAML reads as strings.
package yamltext
