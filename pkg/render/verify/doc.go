// Package verify reads rendered YAML as any YAML reader would: what is wrong with it, and which objects are in it.
package verify
