// Package github is the client of GitHub and GitHub Enterprise for publishing and promoting: it opens and updates
// pull requests and issues, reads and sets the statuses of commits, compares them, and starts workflows. It implements
// the interfaces of the packages gitops and promote. Its errors name the missing permission. Its transport limits and
// retries all requests.
package github
