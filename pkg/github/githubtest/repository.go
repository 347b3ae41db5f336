package githubtest

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (c *call) showRepo() answer {
	r := c.repo
	o := r.json()
	if c.token.reaches(r) && c.token.has("contents=write") { // hidden from others
		o["allow_merge_commit"], o["allow_squash_merge"] = r.allows("merge"), r.allows("squash")
		o["allow_rebase_merge"], o["allow_auto_merge"] = r.allows("rebase"), r.options.AllowAutoMerge
		o["squash_merge_commit_message"] = cmp.Or(r.options.SquashMessage, "COMMIT_MESSAGES")
	}
	return ok(o)
}

func (c *call) showRef() answer {
	branch, isBranch := strings.CutPrefix(c.values["ref"], "heads/")
	tip := c.repo.branches.Tips()[branch]
	if !isBranch || tip == "" {
		panic(notFound())
	}
	return ok(object{"ref": "refs/heads/" + branch, "object": object{"type": "commit", "sha": tip}})
}

func (c *call) showBranch() answer {
	name := c.values["branch"]
	tip := c.repo.branches.Tips()[name]
	if tip == "" {
		panic(refuse(http.StatusNotFound, "Branch not found"))
	}
	protected := slices.Contains(c.repo.options.Protected, name)
	return ok(object{"name": name, "commit": object{"sha": tip}, "protected": protected, "protection": object{"enabled": protected}})
}

func (c *call) listRules() answer {
	return page(c, c.repo.options.Rules[c.values["branch"]], func(kind string) object {
		return object{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": c.repo.Name, "ruleset_id": 1}
	})
}

func (c *call) showRuleset() answer {
	bypass := "never"
	if slices.Contains(c.repo.options.MayBypass, c.login()) {
		bypass = "always"
	}
	return ok(object{"id": c.number("ruleset_id"), "current_user_can_bypass": bypass})
}

func (c *call) showWorkflowPermissions() answer {
	permissions := "read"
	if c.repo.options.WorkflowsWrite {
		permissions = "write"
	}
	return ok(object{
		"default_workflow_permissions": permissions, "can_approve_pull_request_reviews": !c.repo.options.ActionsMayNotOpenPulls,
	})
}

// compare answers how two commits relate. It shows no files.
func (c *call) compare() answer {
	from, to, both := strings.Cut(c.values["basehead"], "...")
	base, head := c.repo.resolve(from), c.repo.resolve(to)
	if !both || base == "" || head == "" {
		panic(notFound())
	}
	common := c.repo.branches.MergeBase(base, head)
	if common == "" {
		panic(refuse(http.StatusNotFound, fmt.Sprintf("No common ancestor between %s and %s.", from, to)))
	}
	ahead, behind := c.repo.branches.Between(base, head), c.repo.branches.Between(head, base)
	a := page(c, ahead, c.repo.commitJSON)
	a.body = object{
		"status": relation(len(ahead), len(behind)), "ahead_by": len(ahead), "behind_by": len(behind),
		"total_commits": len(ahead), "commits": a.body, "files": []object{},
		"base_commit": c.repo.commitJSON(base), "merge_base_commit": c.repo.commitJSON(common),
	}
	return a
}

// relation is how a commit relates to another, in GitHub's words.
func relation(ahead, behind int) string {
	switch {
	case ahead > 0 && behind > 0:
		return "diverged"
	case ahead > 0:
		return "ahead"
	case behind > 0:
		return "behind"
	}
	return "identical"
}

func (c *call) createStatus() answer {
	asked := decode[struct {
		State       string
		Context     string
		Description string
		TargetURL   string `json:"target_url"`
	}](c)
	status := Status{
		Commit: c.values["sha"], Context: cmp.Or(asked.Context, "default"), State: asked.State,
		Description: asked.Description, TargetURL: asked.TargetURL, Author: c.login(), Created: c.registry.now(),
	}
	c.repo.statuses.check(status, c.repo.branches.Has(status.Commit))
	c.repo.statuses = append(c.repo.statuses, status)
	c.repo.mergeWaiting()
	return created(c.repo.statusJSON(len(c.repo.statuses) - 1))
}

func (c *call) listStatuses() answer {
	commit := c.repo.resolve(c.values["ref"])
	if commit == "" {
		panic(noCommit(c.values["ref"]))
	}
	var found []int
	for at, status := range slices.Backward(c.repo.statuses) {
		if status.Commit == commit {
			found = append(found, at)
		}
	}
	return page(c, found, c.repo.statusJSON)
}

func (c *call) dispatchWorkflow() answer {
	asked := decode[struct {
		Ref    string
		Inputs map[string]string
	}](c)
	workflow := path.Base(c.values["workflow_id"])
	c.repo.checkDispatch(workflow, asked.Ref, asked.Inputs)
	c.repo.events = append(c.repo.events, Dispatch{Workflow: workflow, Ref: asked.Ref, Inputs: asked.Inputs, Author: c.login()})
	return answer{status: http.StatusNoContent}
}

// checkDispatch refuses to start a workflow that GitHub would not start. It must be on the default branch to be known at
// all; what counts then is how it is on the branch that is asked for.
func (r *Repo) checkDispatch(name, ref string, inputs map[string]string) {
	const no = http.StatusUnprocessableEntity
	tips := r.branches.Tips()
	listed := slices.Contains(r.options.Workflows, name)
	switch {
	case !listed && r.workflow(tips[r.options.DefaultBranch], name) == nil:
		panic(notFound())
	case tips[ref] == "":
		panic(refuse(no, "No ref found for: "+ref))
	case listed:
		return
	}
	asked := r.workflow(tips[ref], name)
	if asked == nil || !asked.dispatched {
		panic(refuse(no, "Workflow does not have 'workflow_dispatch' trigger"))
	}
	if unexpected := asked.unexpected(inputs); len(unexpected) > 0 {
		panic(refuse(no, fmt.Sprintf("Unexpected inputs provided: [%s]", strings.Join(unexpected, ", "))))
	}
	if missing := asked.missing(inputs); missing != "" {
		panic(refuse(no, fmt.Sprintf("Required input '%s' not provided", missing)))
	}
}

// workflow reads a workflow file of a commit; it is nil if there is none.
func (r *Repo) workflow(commit, name string) *workflow {
	if commit == "" {
		return nil
	}
	text, found := r.branches.File(commit, ".github/workflows/"+name)
	if !found {
		return nil
	}
	var file struct {
		On yaml.Node `yaml:"on"`
	}
	check(yaml.Unmarshal([]byte(text), &file))
	return triggers(&file.On)
}
