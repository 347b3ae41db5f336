package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/scaffold"
)

// workflows compares the workflows on the base branch with those that kalypso init writes for the environments in
// promotion order.
func (r *run) workflows(order []string) {
	const check = "workflows"
	plan := scaffold.Fleet{Base: r.Loader.BaseBranch(), Environments: order, FleetSources: map[string][]string{}, Action: scaffold.UnknownAction}
	for _, e := range r.Known {
		name := e.Name.Value
		if name != e.ControlPlane.Branch.Value {
			r.warn(check, "compare them by hand", "not checked: workflows (environment %q is the branch %q, and kalypso init writes workflows only for equal names)",
				name, e.ControlPlane.Branch.Value)
			return
		}
		if e.Promotion != nil {
			for _, fleet := range e.Promotion.Checks.Fleets {
				plan.FleetSources[name] = append(plan.FleetSources[name], fleet.Value)
			}
		}
	}
	wanted, err := plan.Workflows(scaffold.OfControlPlane)
	if err != nil {
		r.unchecked(check, "workflows", err)
		return
	}
	var missing, outdated, incomplete []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		found, err := fs.ReadFile(r.Loader.Main().FS, path.Join(scaffold.WorkflowDirectory, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			r.unchecked(check, "workflow "+name, err)
		case !isCurrent(found, []byte(wanted[name])):
			outdated = append(outdated, name)
		}
		if strings.Contains(string(found), scaffold.Action+"@"+scaffold.UnknownCommit) {
			incomplete = append(incomplete, name)
		}
		r.autoMerge = r.autoMerge || strings.Contains(string(found), "--auto-merge")
	}
	where := scaffold.WorkflowDirectory + " of branch " + plan.Base
	if len(incomplete) > 0 {
		r.error(check, fmt.Sprintf("replace %s after %s@ with the full SHA of a commit of kalypso, on all branches", scaffold.UnknownCommit, scaffold.Action),
			"%s uses %s@%s, which is a placeholder: %s", where, scaffold.Action, scaffold.UnknownCommit, strings.Join(incomplete, ", "))
	}
	if len(missing) > 0 {
		r.warn(check, "in a clone, run kalypso init --workflows control-plane; if other automation runs kalypso, ignore this", "%s has no %s", where, strings.Join(missing, ", "))
	}
	if len(outdated) > 0 {
		r.warn(check, "in a clone, run kalypso init /tmp/new --workflows control-plane && diff -r "+scaffold.WorkflowDirectory+" /tmp/new/"+scaffold.WorkflowDirectory,
			"%s differs from what kalypso init writes: %s", where, strings.Join(outdated, ", "))
	}
	if len(missing)+len(outdated)+len(incomplete) == 0 {
		r.ok(check, "%s has the workflows of kalypso init", where)
	}
}

// isCurrent reports whether a workflow has all that a generated one has.
func isCurrent(found, generated []byte) bool {
	var have, want any
	return yaml.Unmarshal(found, &have) == nil && yaml.Unmarshal(generated, &want) == nil && covers(have, want)
}

// covers reports whether a part of a workflow has all keys, list items and lines of a generated one. Users add to workflows
// and replace what is their own: schedules, runners, names, scripts and versions of actions.
func covers(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		found, ok := have.(map[string]any)
		for key, value := range want {
			part, has := found[key]
			own := slices.Contains([]string{"cron", "description", "name", "run", "run-name", "runs-on", "timeout-minutes", "uses", "version"}, key)
			ok = ok && has && (own || covers(part, value))
		}
		return ok
	case []any:
		found, ok := have.([]any)
		for _, item := range want {
			ok = ok && slices.ContainsFunc(found, func(one any) bool { return covers(one, item) })
		}
		return ok
	case string:
		found, ok := have.(string)
		lines := strings.Split(found, "\n")
		for line := range strings.SplitSeq(want, "\n") {
			ok = ok && (slices.Contains(lines, line) || line == "read" && found == "write") // of permissions
		}
		return ok
	}
	return have == want
}
