// Package github speaks to GitHub, and to GitHub Enterprise, for those who publish and promote: it opens and settles
// pull requests and issues, reads and sets the statuses of commits, compares them, and starts workflows. What goes in
// are the decisions of the packages gitops and promote, whose interfaces it implements; what comes out are plain
// values, and errors that say which permission is missing. How requests are paced, repeated and given up is in its
// transport, for all of them alike.
package github
