// Package github speaks to GitHub, and to GitHub Enterprise, for those who publish: it opens and
// settles pull requests and issues. What goes in are the decisions of package gitops, whose interfaces
// it implements; what comes out are plain values, and errors that say which permission is missing. How
// requests are paced, repeated and given up is in its transport, for all of them alike.
package github
