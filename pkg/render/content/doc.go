// Package content holds the contents of files, which share what is the same in many of them.
package content
