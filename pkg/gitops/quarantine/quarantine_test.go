package quarantine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// causeFleet is a fleet whose registrations may cause errors.
type causeFleet struct {
	fleet       *model.Fleet
	assignments []schedule.Assignment
	last        message.Provenance
	clusterType *model.ClusterType
}

func newCauseFleet() *causeFleet {
	f := &causeFleet{fleet: &model.Fleet{}, clusterType: &model.ClusterType{}}
	f.fleet.Sources = []*model.Source{{Repo: acmeRepo("control-plane"), Ref: model.Ref{Branch: "main", Path: ".", Role: model.Base}}}
	return f
}

func acmeRepo(name string) string { return "https://github.com/acme/" + name }

func inFile(repo, file string, line int) diag.Place {
	return diag.Place{File: &diag.File{Repo: acmeRepo(repo), Branch: "main", Path: file}, Line: line, Column: 1}
}

// register adds a registration, with a target below its path, that is read at now and went out at last.
func (f *causeFleet) register(name, repo, path, now, last string) {
	r := &model.WorkloadRegistration{}
	r.Name.Value = name
	r.Workload.Repo = model.Text{Value: acmeRepo(repo) + ".git", At: inFile("control-plane", name+".yaml", 5)}
	r.Workload.Branch = model.Text{Value: "main", At: inFile("control-plane", name+".yaml", 6)}
	r.Workload.Path.Value = path
	f.fleet.Registrations = append(f.fleet.Registrations, r)
	if now != "" {
		f.fleet.Sources = append(f.fleet.Sources, &model.Source{Repo: acmeRepo(repo), Commit: now, Ref: model.Ref{Branch: "main", Path: path, Role: model.Tenant}})
	}
	if last != "" {
		f.last.Origins = append(f.last.Origins, source.Origin{Role: model.Tenant, Repo: acmeRepo(repo), Branch: "main", Path: giturl.CleanPath(path), Commit: last})
	}
	target := &model.DeploymentTarget{Registration: r}
	target.Name.At = targetOf(repo, path)
	f.fleet.Targets = append(f.fleet.Targets, target)
	f.assignments = append(f.assignments, schedule.Assignment{Target: target, ClusterType: f.clusterType})
}

func targetOf(repo, path string) diag.Place {
	return inFile(repo, strings.TrimPrefix(giturl.CleanPath(path)+"/w.yaml", "./"), 7)
}

func errorAt(at diag.Place, options ...diag.Option) diag.List {
	var list diag.List
	list.Error("rule", at, "wrong", options...)
	return list
}

func concerning(places ...diag.Place) diag.Option {
	return func(d *diag.Diagnostic) { d.Concerns = places }
}

// TestAdd says which registrations an error puts into quarantine, and at which commit.
func TestAdd(t *testing.T) {
	t.Parallel()
	template := inFile("control-plane", "templates.yaml", 3)
	tests := map[string]struct {
		fleet func(f *causeFleet)
		error diag.List
		// want has "name commit" for each, without a commit if it is left out; nil if the platform is to blame.
		want []string
	}{
		"a file of the registration": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "old") },
			errorAt(inFile("a", "w.yaml", 1)),
			[]string{"a old"},
		},
		"a file of nobody": {
			func(f *causeFleet) { f.register("a", "a", "./app/", "new", "old") },
			errorAt(inFile("a", "application/w.yaml", 1)), nil,
		},
		"another branch": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "old") },
			errorAt(diag.Place{File: &diag.File{Repo: acmeRepo("a"), Branch: "dev", Path: "w.yaml"}}), nil,
		},
		"the value that names the repository": {
			func(f *causeFleet) { f.register("a", "a", ".", "", "old") },
			errorAt(inFile("control-plane", "a.yaml", 5)),
			[]string{"a old"},
		},
		"another value of the registration": {
			func(f *causeFleet) { f.register("a", "a", ".", "", "old") },
			errorAt(inFile("control-plane", "a.yaml", 9)), nil,
		},
		"nowhere": {func(f *causeFleet) { f.register("a", "a", ".", "new", "old") }, errorAt(diag.Place{}), nil},
		"never published": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "") },
			errorAt(inFile("a", "w.yaml", 1)),
			[]string{"a "},
		},
		"broken as it went out": {
			func(f *causeFleet) { f.register("a", "a", ".", "old", "old") },
			errorAt(inFile("a", "w.yaml", 1)),
			[]string{"a "},
		},
		"a directory in a directory": {
			func(f *causeFleet) {
				f.register("all", "a", ".", "new", "old")
				f.register("part", "a", "part", "new", "older")
				f.register("other", "a", "other", "new", "old")
			},
			errorAt(inFile("a", "part/w.yaml", 1)),
			[]string{"all old", "part older"},
		},
		"workloads in the control plane's repository": {
			func(f *causeFleet) { f.register("a", "control-plane", "apps", "new", "old") },
			errorAt(inFile("control-plane", "apps/w.yaml", 1)),
			[]string{"a old"},
		},
		"the control plane's own file, registered too": {
			func(f *causeFleet) { f.register("a", "control-plane", ".", "new", "old") },
			errorAt(template), nil,
		},
		"a collision of one that changed": {
			func(f *causeFleet) {
				f.register("a", "a", ".", "old", "old")
				f.register("b", "b", ".", "new", "old")
			},
			errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first")),
			[]string{"b old"},
		},
		"a collision of two that changed": {
			func(f *causeFleet) {
				f.register("a", "a", ".", "new", "")
				f.register("b", "b", ".", "new", "old")
			},
			errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first")),
			[]string{"a ", "b old"},
		},
		"a collision of two that did not": {
			func(f *causeFleet) {
				f.register("a", "a", ".", "old", "old")
				f.register("b", "b", ".", "old", "old")
			},
			errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first")),
			[]string{"a ", "b "},
		},
		"a collision with the platform": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "old") },
			errorAt(template, diag.See(inFile("a", "w.yaml", 1), "first")),
			[]string{"a old"},
		},
		"a template with what changed": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "old") },
			errorAt(template, concerning(targetOf("a", "."))),
			[]string{"a old"},
		},
		"a template with what did not change": {
			func(f *causeFleet) {
				f.register("a", "a", ".", "new", "old")
				f.register("b", "b", ".", "old", "old")
			},
			errorAt(template, concerning(targetOf("a", "."), targetOf("b", "."))), nil,
		},
		"a template with something new, where others fare well": {
			func(f *causeFleet) {
				f.register("a", "a", ".", "new", "")
				f.register("b", "b", ".", "old", "old")
			},
			errorAt(template, concerning(targetOf("a", "."))),
			[]string{"a "},
		},
		"a template with something new, alone": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "") },
			errorAt(template, concerning(targetOf("a", "."))), nil,
		},
		"a template with something new, alone on its cluster type": {
			func(f *causeFleet) {
				f.register("b", "b", ".", "old", "old")
				f.clusterType = &model.ClusterType{}
				f.register("a", "a", ".", "new", "")
				f.last.Current = true
			},
			errorAt(template, concerning(targetOf("a", "."))),
			[]string{"a "},
		},
		"a template with something of which nobody knows whether it is new": {
			func(f *causeFleet) {
				f.register("b", "b", ".", "old", "old")
				f.clusterType = &model.ClusterType{}
				f.register("a", "a", ".", "new", "")
			},
			errorAt(template, concerning(targetOf("a", "."))), nil,
		},
		"a template with all there is, which is new": {
			func(f *causeFleet) {
				f.register("a", "a", ".", "new", "")
				f.register("b", "b", ".", "new", "")
				f.last.Current = true
			},
			errorAt(template, concerning(targetOf("a", "."), targetOf("b", "."))), nil,
		},
		"the same place registered twice": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "old") },
			diag.List{{Severity: diag.Error, Rule: source.RuleDuplicateRegistration, At: inFile("control-plane", "a.yaml", 5)}},
			nil,
		},
		"one of two errors": {
			func(f *causeFleet) { f.register("a", "a", ".", "new", "old") },
			append(errorAt(inFile("a", "w.yaml", 1)), errorAt(template)...), nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCauseFleet()
			test.fleet(f)
			quarantine := New(&f.last)
			assert.Equal(t, test.want != nil, quarantine.Add(f.fleet, f.assignments, test.error))
			var got []string
			for _, held := range quarantine.Registrations() {
				got = append(got, held.Name+" "+held.Commit)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestSteps goes from the tip to the commit that went out last to nothing.
func TestSteps(t *testing.T) {
	t.Parallel()
	const old = "4c1f9e2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	f := newCauseFleet()
	f.register("shop", "shop", ".", "new", old)
	at := source.Place{Repo: acmeRepo("shop"), Branch: "main", Path: "."}
	quarantine := New(nil, &f.last, &message.Provenance{Origins: []source.Origin{{Role: model.Tenant, Repo: at.Repo, Branch: at.Branch, Path: at.Path, Commit: "other"}}})
	commit, leftOut := quarantine.Pins().Commit(at)
	assert.Empty(t, commit)
	assert.False(t, leftOut)
	assert.False(t, quarantine.Add(nil, nil, nil), "nothing was read")

	require.True(t, quarantine.Add(f.fleet, nil, append(errorAt(inFile("shop", "w.yaml", 3)), errorAt(inFile("shop", "x.yaml", 0))...)))
	commit, leftOut = quarantine.Pins().Commit(at)
	assert.Equal(t, old, commit, "the first that knows it")
	assert.False(t, leftOut)
	assert.False(t, quarantine.LeavesOut())
	assert.Empty(t, quarantine.Origins(f.fleet), "it is compiled, so the fleet has it")
	assert.Equal(t, []message.QuarantinedRegistration{{Name: "shop", Commit: old, Why: "w.yaml:3: wrong (and 1 more error)"}}, quarantine.Registrations())
	assert.Contains(t, lines(quarantine.Diagnostics()), `WorkloadRegistration "shop" is quarantined: compiled at 4c1f9e2aaaaa, the last published commit`)

	require.True(t, quarantine.Add(f.fleet, nil, errorAt(inFile("shop", "w.yaml", 9))))
	_, leftOut = quarantine.Pins().Commit(at)
	assert.True(t, leftOut)
	assert.True(t, quarantine.LeavesOut())
	assert.Equal(t, []source.Origin{{Role: model.Tenant, Repo: at.Repo, Branch: at.Branch, Path: at.Path, Commit: old}}, quarantine.Origins(&model.Fleet{}))
	assert.Equal(t, 2, quarantine.Diagnostics().Count(diag.Error), "of what is there now, not of what went out")
	assert.Contains(t, lines(quarantine.Diagnostics()), `4c1f9e2aaaaa, the last published commit, does not compile either (wrong); published output unchanged`)

	assert.False(t, quarantine.Add(f.fleet, nil, errorAt(inFile("shop", "w.yaml", 9))), "it is not there any more")
}

// TestRelease releases those that did nothing but have what others take.
func TestRelease(t *testing.T) {
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
			f := newCauseFleet()
			f.register("a", "a", ".", "new", "old")
			f.register("b", "b", ".", "new", "old")
			errors := errorAt(inFile("a", "w.yaml", 1), diag.See(inFile("b", "w.yaml", 1), "first"))
			if test.broken {
				errors = append(errors, errorAt(inFile("b", "w.yaml", 2))...)
			}
			quarantine := New(&f.last)
			require.True(t, quarantine.Add(f.fleet, nil, errors))
			names := func(h *Set) string {
				var all string
				for _, held := range h.Registrations() {
					all += held.Name
				}
				return all
			}
			asked := 0
			rest := quarantine.Release(func(h *Set) bool {
				asked++
				for _, name := range strings.Split(test.fails, "") {
					if !strings.Contains(names(h), name) {
						return false
					}
				}
				return true
			})
			assert.Equal(t, test.want, names(rest))
			assert.Equal(t, test.asked, asked)
			assert.Equal(t, "ab", names(quarantine), "it stays what it was")
		})
	}
}

func lines(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(diag.Format(d, diag.Style{}))
	}
	return b.String()
}
