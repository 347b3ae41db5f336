// Package githubtest is a stand-in for GitHub's API, for tests: an HTTP server on loopback that keeps state,
// checks every request and answer against JSON Schemas made of the OpenAPI description that GitHub publishes, and refuses
// what GitHub refuses.
//
//	hub := githubtest.NewServer(t, githubtest.Options{})
//	repo := hub.AddRepo("acme/gitops", githubtest.RepoOptions{Dir: bareRepository})
//	hub.AddToken("secret", githubtest.Token{Name: "workflow", Permissions: githubtest.AllPermissions()})
//	// … the code under test talks to hub.URL …
//	repo.MergePull(1, "squash") // as a person would
//
// A request that does not fit the description is a bug of the code under test: it is answered with 400 and fails the
// test at its end. So is a request to an endpoint, or with a field, that the stand-in does not know. Of the GraphQL API
// it knows the documents in the folder graphql, which tools/graphql checks against GitHub's schema.
package githubtest
