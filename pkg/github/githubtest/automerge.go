package githubtest

import "strings"

// setAutoMerge makes a pull request merge itself later, or not. GitHub refuses that for one that could be
// merged now. The problem is an error in GraphQL's form.
func (s *Server) setAutoMerge(token *Token, asked graphqlRequest) (problem object) {
	id := asked.Variables.ID
	repo, i := s.findPull(id)
	if i == nil || repo.options.Private && !token.reaches(repo) {
		return object{"type": "NOT_FOUND", "message": "Could not resolve to a node with the global id of '" + id + "'"}
	}
	repo.sync()
	if !token.reaches(repo) || !token.has("pull_requests=write") || !token.has("contents=write") {
		return object{
			"type": "FORBIDDEN", "message": "Resource not accessible by integration",
			"extensions": object{"saml_failure": false},
		}
	}
	method, why := "", ""
	if asked.Query == enableMutation {
		method = strings.ToLower(asked.Variables.Method)
		why = repo.noAutoMerge(i, method, asked.Variables.Head)
	} else if i.AutoMerge == "" {
		why = "Can't disable auto-merge for this pull request"
	}
	if why != "" {
		return object{"type": "UNPROCESSABLE", "message": why}
	}
	i.AutoMerge = method
	repo.touch(i)
	return nil
}

// findPull finds a pull request by its global id.
func (s *Server) findPull(id string) (*Repo, *item) {
	for _, repo := range s.repos {
		for _, i := range repo.items {
			if i.pull && i.nodeID(repo) == id {
				return repo, i
			}
		}
	}
	return nil, nil
}

// noAutoMerge says why a pull request may not merge itself, or nothing.
func (r *Repo) noAutoMerge(i *item, method, expected string) string {
	mergeable := ""
	if i.Open {
		mergeable = r.mergeableState(i)
	}
	switch {
	case !r.options.AllowAutoMerge:
		return "Pull request Auto merge is not allowed for this repository"
	case !i.Open:
		return "Pull request is closed"
	case expected != i.HeadCommit:
		return headModified
	case !r.allows(method):
		return "Pull request Merge method " + method + " merging is not allowed on this repository"
	case mergeable != "blocked" && mergeable != "behind" && mergeable != "unknown":
		return "Pull request Pull request is in " + mergeable + " status"
	}
	return ""
}
