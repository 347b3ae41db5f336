package gitops

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// jury is a fleet whose registrations may be to blame.
type jury struct {
	fleet       *model.Fleet
	assignments []schedule.Assignment
	last        Provenance
	clusterType *model.ClusterType
}

func newJury() *jury {
	j := &jury{fleet: &model.Fleet{}, clusterType: &model.ClusterType{}}
	j.fleet.Sources = []*model.Source{{Repo: acmeRepo("control-plane"), Ref: model.Ref{Branch: "main", Path: ".", Role: model.Base}}}
	return j
}

func acmeRepo(name string) string { return "https://github.com/acme/" + name }

func inFile(repo, file string, line int) diag.Place {
	return diag.Place{File: &diag.File{Repo: acmeRepo(repo), Branch: "main", Path: file}, Line: line, Column: 1}
}

// register adds a registration, with a target below its path, that is read at now and went out at last.
func (j *jury) register(name, repo, path, now, last string) {
	r := &model.WorkloadRegistration{}
	r.Name.Value = name
	r.Workload.Repo = model.Text{Value: acmeRepo(repo) + ".git", At: inFile("control-plane", name+".yaml", 5)}
	r.Workload.Branch = model.Text{Value: "main", At: inFile("control-plane", name+".yaml", 6)}
	r.Workload.Path.Value = path
	j.fleet.Registrations = append(j.fleet.Registrations, r)
	if now != "" {
		j.fleet.Sources = append(j.fleet.Sources, &model.Source{Repo: acmeRepo(repo), Commit: now, Ref: model.Ref{Branch: "main", Path: path, Role: model.Tenant}})
	}
	if last != "" {
		j.last.Origins = append(j.last.Origins, Origin{Role: model.Tenant, Repo: acmeRepo(repo), Branch: "main", Path: cleanPath(path), Commit: last})
	}
	target := &model.DeploymentTarget{Registration: r}
	target.Name.At = targetOf(repo, path)
	j.fleet.Targets = append(j.fleet.Targets, target)
	j.assignments = append(j.assignments, schedule.Assignment{Target: target, ClusterType: j.clusterType})
}

func targetOf(repo, path string) diag.Place {
	return inFile(repo, strings.TrimPrefix(cleanPath(path)+"/w.yaml", "./"), 7)
}

func errorAt(at diag.Place, options ...diag.Option) diag.List {
	var list diag.List
	list.Error("rule", at, "wrong", options...)
	return list
}

func concerning(places ...diag.Place) diag.Option {
	return func(d *diag.Diagnostic) { d.Concerns = places }
}

// TestHoldBlame says who is held back for an error, and at which commit.
func TestHoldBlame(t *testing.T) {
	t.Parallel()
	template := inFile("control-plane", "templates.yaml", 3)
	tests := map[string]struct {
		fleet func(j *jury)
		error diag.List
		// want has "name commit" for each, without a commit if it is left out; nil if the platform is to blame.
		want []string
	}{
		"a file of the registration": {
			func(j *jury) { j.register("a", "a", ".", "new", "old") },
			errorAt(inFile("a", "w.yaml", 1)),
			[]string{"a old"},
		},
		"a file of nobody": {
			func(j *jury) { j.register("a", "a", "./app/", "new", "old") },
			errorAt(inFile("a", "application/w.yaml", 1)), nil,
		},
		"another branch": {
			func(j *jury) { j.register("a", "a", ".", "new", "old") },
			errorAt(diag.Place{File: &diag.File{Repo: acmeRepo("a"), Branch: "dev", Path: "w.yaml"}}), nil,
		},
		"the value that names the repository": {
			func(j *jury) { j.register("a", "a", ".", "", "old") },
			errorAt(inFile("control-plane", "a.yaml", 5)),
			[]string{"a old"},
		},
		"another value of the registration": {
			func(j *jury) { j.register("a", "a", ".", "", "old") },
			errorAt(inFile("control-plane", "a.yaml", 9)), nil,
		},
		"nowhere": {func(j *jury) { j.register("a", "a", ".", "new", "old") }, errorAt(diag.Place{}), nil},
		"never published": {
			func(j *jury) { j.register("a", "a", ".", "new", "") },
			errorAt(inFile("a", "w.yaml", 1)),
			[]string{"a "},
		},
		"broken as it went out": {
			func(j *jury) { j.register("a", "a", ".", "old", "old") },
			errorAt(inFile("a", "w.yaml", 1)),
			[]string{"a "},
		},
		"a folder in a folder": {
			func(j *jury) {
				j.register("all", "a", ".", "new", "old")
				j.register("part", "a", "part", "new", "older")
				j.register("other", "a", "other", "new", "old")
			},
			errorAt(inFile("a", "part/w.yaml", 1)),
			[]string{"all old", "part older"},
		},
		"workloads in the control plane's repository": {
			func(j *jury) { j.register("a", "control-plane", "apps", "new", "old") },
			errorAt(inFile("control-plane", "apps/w.yaml", 1)),
			[]string{"a old"},
		},
		"the control plane's own file, registered too": {
			func(j *jury) { j.register("a", "control-plane", ".", "new", "old") },
			errorAt(template), nil,
		},
		"a collision of one that changed": {
			func(j *jury) {
				j.register("a", "a", ".", "old", "old")
				j.register("b", "b", ".", "new", "old")
			},
			errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first")),
			[]string{"b old"},
		},
		"a collision of two that changed": {
			func(j *jury) {
				j.register("a", "a", ".", "new", "")
				j.register("b", "b", ".", "new", "old")
			},
			errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first")),
			[]string{"a ", "b old"},
		},
		"a collision of two that did not": {
			func(j *jury) {
				j.register("a", "a", ".", "old", "old")
				j.register("b", "b", ".", "old", "old")
			},
			errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first")),
			[]string{"a ", "b "},
		},
		"a collision with the platform": {
			func(j *jury) { j.register("a", "a", ".", "new", "old") },
			errorAt(template, diag.See(inFile("a", "w.yaml", 1), "first")),
			[]string{"a old"},
		},
		"a template with what changed": {
			func(j *jury) { j.register("a", "a", ".", "new", "old") },
			errorAt(template, concerning(targetOf("a", "."))),
			[]string{"a old"},
		},
		"a template with what did not change": {
			func(j *jury) {
				j.register("a", "a", ".", "new", "old")
				j.register("b", "b", ".", "old", "old")
			},
			errorAt(template, concerning(targetOf("a", "."), targetOf("b", "."))), nil,
		},
		"a template with something new, where others fare well": {
			func(j *jury) {
				j.register("a", "a", ".", "new", "")
				j.register("b", "b", ".", "old", "old")
			},
			errorAt(template, concerning(targetOf("a", "."))),
			[]string{"a "},
		},
		"a template with something new, alone": {
			func(j *jury) { j.register("a", "a", ".", "new", "") },
			errorAt(template, concerning(targetOf("a", "."))), nil,
		},
		"a template with something new, alone on its cluster type": {
			func(j *jury) {
				j.register("b", "b", ".", "old", "old")
				j.clusterType = &model.ClusterType{}
				j.register("a", "a", ".", "new", "")
				j.last.Current = true
			},
			errorAt(template, concerning(targetOf("a", "."))),
			[]string{"a "},
		},
		"a template with something of which nobody knows whether it is new": {
			func(j *jury) {
				j.register("b", "b", ".", "old", "old")
				j.clusterType = &model.ClusterType{}
				j.register("a", "a", ".", "new", "")
			},
			errorAt(template, concerning(targetOf("a", "."))), nil,
		},
		"a template with all there is, which is new": {
			func(j *jury) {
				j.register("a", "a", ".", "new", "")
				j.register("b", "b", ".", "new", "")
				j.last.Current = true
			},
			errorAt(template, concerning(targetOf("a", "."), targetOf("b", "."))), nil,
		},
		"the same place registered twice": {
			func(j *jury) { j.register("a", "a", ".", "new", "old") },
			diag.List{{Severity: diag.Error, Rule: ruleDuplicateRegistration, At: inFile("control-plane", "a.yaml", 5)}},
			nil,
		},
		"one of two errors": {
			func(j *jury) { j.register("a", "a", ".", "new", "old") },
			append(errorAt(inFile("a", "w.yaml", 1)), errorAt(template)...), nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJury()
			test.fleet(j)
			hold := NewHold(&j.last)
			assert.Equal(t, test.want != nil, hold.Blame(j.fleet, j.assignments, test.error))
			var got []string
			for _, held := range hold.Registrations() {
				got = append(got, held.Name+" "+held.Commit)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestHoldSteps goes from the tip to the commit that went out last to nothing.
func TestHoldSteps(t *testing.T) {
	t.Parallel()
	const old = "4c1f9e2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	j := newJury()
	j.register("shop", "shop", ".", "new", old)
	at := place{acmeRepo("shop"), "main", "."}
	hold := NewHold(nil, &j.last, &Provenance{Origins: []Origin{{Role: model.Tenant, Repo: at.repo, Branch: at.branch, Path: at.path, Commit: "other"}}})
	commit, leftOut := hold.commitOf(at)
	assert.Empty(t, commit)
	assert.False(t, leftOut)
	assert.False(t, hold.Blame(nil, nil, nil), "nothing was read")

	require.True(t, hold.Blame(j.fleet, nil, append(errorAt(inFile("shop", "w.yaml", 3)), errorAt(inFile("shop", "x.yaml", 0))...)))
	commit, leftOut = hold.commitOf(at)
	assert.Equal(t, old, commit, "the first that knows it")
	assert.False(t, leftOut)
	assert.False(t, hold.LeavesOut())
	assert.Empty(t, hold.Origins(j.fleet), "it is compiled, so the fleet has it")
	assert.Equal(t, []HeldRegistration{{"shop", old, "w.yaml:3: wrong (and 1 more error)"}}, hold.Registrations())
	assert.Contains(t, lines(hold.Diagnostics()), `WorkloadRegistration "shop" is held back: it is compiled at 4c1f9e2aaaaa, which went out last`)

	require.True(t, hold.Blame(j.fleet, nil, errorAt(inFile("shop", "w.yaml", 9))))
	_, leftOut = hold.commitOf(at)
	assert.True(t, leftOut)
	assert.True(t, hold.LeavesOut())
	assert.Equal(t, []Origin{{Role: model.Tenant, Repo: at.repo, Branch: at.branch, Path: at.path, Commit: old}}, hold.Origins(&model.Fleet{}))
	assert.Equal(t, 2, hold.Diagnostics().Count(diag.Error), "of what is there now, not of what went out")
	assert.Contains(t, lines(hold.Diagnostics()), `4c1f9e2aaaaa, which went out last, cannot be compiled either (wrong), so what is published of it stays as it is`)

	assert.False(t, hold.Blame(j.fleet, nil, errorAt(inFile("shop", "w.yaml", 9))), "it is not there any more")
}

// TestHoldAcquit lets those go that did nothing but have what others take.
func TestHoldAcquit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// broken says that b is broken by itself too.
		broken bool
		// fails are those with whom nothing works unless they are held back.
		fails string
		want  string
		asked int
	}{
		"one takes what the other has": {fails: "b", want: "b", asked: 3},
		"both take something new":      {fails: "", want: "ab", asked: 2},
		"both are wrong":               {fails: "ab", want: "ab", asked: 2},
		"one is broken as well":        {broken: true, want: "b", asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJury()
			j.register("a", "a", ".", "new", "old")
			j.register("b", "b", ".", "new", "old")
			errors := errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first"))
			if test.broken {
				errors = append(errors, errorAt(inFile("b", "w.yaml", 2))...)
			}
			hold := NewHold(&j.last)
			require.True(t, hold.Blame(j.fleet, nil, errors))
			names := func(h *Hold) string {
				var all string
				for _, held := range h.Registrations() {
					all += held.Name
				}
				return all
			}
			asked := 0
			fair := hold.Acquit(func(h *Hold) bool {
				asked++
				for _, name := range strings.Split(test.fails, "") {
					if !strings.Contains(names(h), name) {
						return false
					}
				}
				return true
			})
			assert.Equal(t, test.want, names(fair))
			assert.Equal(t, test.asked, asked)
			assert.Equal(t, "ab", names(hold), "it stays what it was")
		})
	}
}

// TestComparePartial removes nothing that a partial output does not have, but for what is in the folders
// that it has.
func TestComparePartial(t *testing.T) {
	t.Parallel()
	var files []string
	for _, folder := range []string{"edge/a", "edge/b", "gone/c"} {
		files = append(files, target(folder, "a: 1\n")...)
	}
	files = append(files, "edge/"+readme, "gone/"+readme, "edge/a/platform-config.yaml=a: 1\n")
	wanted := tree(append(target("edge/a", "a: 1\n"), "edge/"+readme)...)
	wanted.Partial = true
	change, err := Compare(t.Context(), publishedFiles(files...), wanted)
	require.NoError(t, err)
	assert.Equal(t, "3 targets on 2 cluster types: +0 ~1 -0 =2", change.Plan().String())
	require.Len(t, change.Files, 1)
	assert.Equal(t, "edge/a/"+render.ConfigFileYAML, change.Files[0].Path)
	assert.Equal(t, Removed, change.Files[0].Action)
}

// TestNewestOfOursIsTheEnvironments passes over what was published of other environments.
func TestNewestOfOursIsTheEnvironments(t *testing.T) {
	t.Parallel()
	id := func(n byte) plumbing.Hash { return plumbing.Hash{n} }
	message := func(environment string) string {
		return "Render\n\n" + Provenance{Version: "v1", Environment: environment}.trailers()
	}
	graph := commitGraph{
		id(1): {message: message("stage"), parents: []plumbing.Hash{id(2)}},
		id(2): {message: message("dev")},
	}
	assert.Equal(t, "dev", graph.newestOfOurs(id(1), "dev").Environment)
	assert.Equal(t, "stage", graph.newestOfOurs(id(1), "stage").Environment)
	assert.Nil(t, graph.newestOfOurs(id(1), "prod"))
}
