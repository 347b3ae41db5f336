// Package change compares a rendered tree with what is published: files, targets and the keys of configuration.
package change
