package githubtest

import (
	"fmt"
	"strings"
)

// json is the repository as it is within other things.
func (r *Repo) json() object {
	_, name, _ := strings.Cut(r.Name, "/")
	return object{
		"id": r.id, "name": name, "full_name": r.Name, "owner": r.user(r.owner()), "private": r.options.Private,
		"archived": r.options.Archived, "default_branch": r.options.DefaultBranch, "html_url": r.web(),
	}
}

// issueJSON is an item as the endpoints of issues show it.
func (r *Repo) issueJSON(i *item) object {
	o := r.sharedJSON(i, "issues")
	if i.StateReason != "" {
		o["state_reason"] = i.StateReason
	}
	if i.pull {
		o["html_url"] = fmt.Sprintf("%s/pull/%d", r.web(), i.Number)
		o["pull_request"] = object{"url": fmt.Sprintf("%s/pulls/%d", r.url(), i.Number)}
	}
	return o
}

// sharedJSON are the fields of issues and pull requests. On the web, a kind is a part of the address.
func (r *Repo) sharedJSON(i *item, kind string) object {
	o := object{
		"number": i.Number, "html_url": fmt.Sprintf("%s/%s/%d", r.web(), kind, i.Number), "title": i.Title, "body": nil,
		"state": state(i.Open), "user": r.user(i.Author), "labels": r.labels.json(i.Labels), "assignees": r.users(i.Assignees),
		"created_at": orNull(i.Created),
	}
	if i.Body != "" {
		o["body"] = i.Body
	}
	return o
}

// pullJSON is a pull request as lists have it.
func (r *Repo) pullJSON(i *item) object {
	o := r.sharedJSON(i, "pull")
	o["node_id"], o["draft"], o["merged_at"] = i.nodeID(r), i.Draft, orNull(i.MergedAt)
	o["head"], o["base"] = r.end(i.Head, i.HeadCommit), r.end(i.Base, i.BaseCommit)
	o["auto_merge"] = nil
	if i.AutoMerge != "" {
		o["auto_merge"] = object{"enabled_by": r.user(i.Author), "merge_method": i.AutoMerge}
	}
	return o
}

// end is the head or the base of a pull request.
func (r *Repo) end(branch, commit string) object {
	return object{
		"label": r.owner() + ":" + branch, "ref": branch, "sha": commit, "repo": r.json(), "user": r.user(r.owner()),
	}
}

// fullPullJSON is a pull request on its own, with whether it can be merged.
func (r *Repo) fullPullJSON(i *item) object {
	o := r.pullJSON(i)
	o["merged"], o["mergeable_state"] = i.Merged, "unknown"
	if i.Open {
		o["mergeable_state"] = r.mergeableState(i)
	}
	return o
}

func (r *Repo) commentJSON(i *item, comment Comment) object {
	kind := "issues"
	if i.pull {
		kind = "pull"
	}
	return object{
		"id": comment.ID, "body": comment.Body, "user": r.user(comment.Author),
		"html_url":   fmt.Sprintf("%s/%s/%d#issuecomment-%d", r.web(), kind, i.Number, comment.ID),
		"created_at": orNull(comment.Created),
	}
}

func (r *Repo) statusJSON(at int) object {
	status := r.statuses[at]
	return object{
		"id": at + 1, "url": r.url() + "/statuses/" + status.Commit, "state": status.State, "context": status.Context,
		"description": status.Description, "target_url": status.TargetURL, "creator": r.user(status.Author),
		"created_at": orNull(status.Created), "updated_at": orNull(status.Created),
	}
}

func (r *Repo) commitJSON(commit string) object {
	return object{"sha": commit, "url": r.url() + "/commits/" + commit, "html_url": r.web() + "/commit/" + commit}
}
