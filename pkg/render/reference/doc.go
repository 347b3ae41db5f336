// Package reference renders the files of one assignment and proves that no tenant's string became more than a value.
//
// manifest.go and builtin.go make documents of templates and of the configuration. taint.go proves that a string of a
// tenant is one value, tenantstring.go that it stayed a string, and emptystring.go that it changed nothing by being
// empty. It is plain rather than fast: whoever knows a faster way to the same bytes is a Shortcut.
package reference
