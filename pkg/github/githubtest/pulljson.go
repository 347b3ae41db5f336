package githubtest

import "fmt"

// pullJSON is a pull request as lists have it.
func (r *Repo) pullJSON(i *item) object {
	o := r.sharedJSON(i)
	url, web := fmt.Sprintf("%s/pulls/%d", r.url(), i.Number), fmt.Sprintf("%s/pull/%d", r.web(), i.Number)
	o["node_id"], o["url"], o["html_url"] = i.nodeID(r), url, web
	o["issue_url"] = fmt.Sprintf("%s/issues/%d", r.url(), i.Number)
	o["draft"], o["merged_at"], o["merge_commit_sha"] = i.Draft, orNull(i.MergedAt), nil
	if i.MergeCommit != "" {
		o["merge_commit_sha"] = i.MergeCommit
	}
	o["requested_reviewers"], o["requested_teams"] = r.users(i.Reviewers), r.teams(i.Teams)
	o["head"], o["base"] = r.end(i.Head, i.HeadCommit), r.end(i.Base, i.BaseCommit)
	o["auto_merge"] = nil
	if i.AutoMerge != "" {
		o["auto_merge"] = object{
			"enabled_by": r.user(i.Author), "merge_method": i.AutoMerge, "commit_title": "", "commit_message": "",
		}
	}
	return o
}

// end is the head or the base of a pull request.
func (r *Repo) end(branch, commit string) object {
	return object{
		"label": r.owner() + ":" + branch, "ref": branch, "sha": commit, "repo": r.json(), "user": r.user(r.owner()),
	}
}

func (r *Repo) teams(slugs []string) []object {
	teams := make([]object, len(slugs))
	for i, slug := range slugs {
		teams[i] = object{"id": i + 1, "node_id": "T_" + slug, "name": slug, "slug": slug}
	}
	return teams
}

// fullPullJSON is a pull request on its own, with whether it can be merged.
func (r *Repo) fullPullJSON(i *item) object {
	o := r.pullJSON(i)
	o["merged"], o["comments"], o["merged_by"] = i.Merged, len(i.Comments), nil
	if i.MergedBy != "" {
		o["merged_by"] = r.user(i.MergedBy)
	}
	o["mergeable"], o["mergeable_state"] = nil, "unknown"
	if i.Open {
		mergeable := r.mergeableState(i)
		o["mergeable_state"] = mergeable
		if mergeable != "unknown" {
			o["mergeable"] = mergeable != "dirty"
		}
	}
	return o
}
