package githubtest

import (
	"cmp"
	"fmt"
	"strings"
)

// setAutoMerge makes a pull request merge itself later, or not. GitHub refuses that for one that could be
// merged now. The problem is an error in GraphQL's form.
func (s *Server) setAutoMerge(token *Token, on bool, input map[string]any) (result, problem object, err error) {
	id, _ := input["pullRequestId"].(string)
	repo, i := s.findPull(id)
	if i == nil || repo.options.Private && !token.reaches(repo) {
		return nil, object{"type": "NOT_FOUND", "message": "Could not resolve to a node with the global id of '" + id + "'"}, nil
	}
	if err := repo.sync(); err != nil {
		return nil, nil, err
	}
	if !token.reaches(repo) || !token.has("pull_requests=write") || !token.has("contents=write") {
		return nil, object{
			"type": "FORBIDDEN", "message": "Resource not accessible by integration",
			"extensions": object{"saml_failure": false},
		}, nil
	}
	method, why := "", ""
	if on {
		asked, _ := input["mergeMethod"].(string)
		method = strings.ToLower(cmp.Or(asked, "MERGE")) // the default of the schema
		expected, _ := input["expectedHeadOid"].(string)
		why = repo.noAutoMerge(i, method, expected)
	} else if i.AutoMerge == "" {
		why = "Can't disable auto-merge for this pull request"
	}
	if why != "" {
		return nil, object{"type": "UNPROCESSABLE", "message": why}, nil
	}
	i.AutoMerge = method
	repo.touch(i)
	by := object{"login": token.Login}
	return object{
		"actor": by, "clientMutationId": input["clientMutationId"], "pullRequest": repo.graphqlPull(i, by),
	}, nil, nil
}

// graphqlPull is a pull request as the schema has it.
func (r *Repo) graphqlPull(i *item, by object) object {
	o := object{
		"id": i.nodeID(r), "number": i.Number, "url": fmt.Sprintf("%s/pull/%d", r.web(), i.Number),
		"state": strings.ToUpper(state(i.Open)), "headRefOid": i.HeadCommit, "autoMergeRequest": nil,
	}
	if i.AutoMerge != "" {
		o["autoMergeRequest"] = object{
			"enabledAt": orNull(i.Updated), "enabledBy": by, "mergeMethod": strings.ToUpper(i.AutoMerge),
		}
	}
	return o
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
	case expected != "" && expected != i.HeadCommit:
		return headModified
	case !r.allows(method):
		return "Pull request Merge method " + method + " merging is not allowed on this repository"
	case mergeable != "blocked" && mergeable != "behind" && mergeable != "unknown":
		return "Pull request Pull request is in " + mergeable + " status"
	}
	return ""
}
