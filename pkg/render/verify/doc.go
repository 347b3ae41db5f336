// Package verify reads rendered YAML as a stranger would: what is wrong with it, and which objects are in it.
package verify
