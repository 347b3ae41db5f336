package message

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/content"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const githubLimit = 65_000

// manyTargets returns target folders on cluster types.
func manyTargets(clusterTypes, targets int) []string {
	var all []string
	for c := range clusterTypes {
		all = append(all, fmt.Sprintf("site-%03d/", c)+gitopstest.Readme)
		for i := range targets {
			all = append(all, targetFiles(fmt.Sprintf("site-%03d/app-%03d", c, i), "")...)
		}
	}
	return all
}

// largeChange changes the configuration of all targets of a large fleet, of every tenth in a different way.
func largeChange(clusterTypes, targets int) *change.Change {
	diff := &change.Change{ClusterTypes: clusterTypes}
	for c := range clusterTypes {
		for i := range targets {
			old := fmt.Sprintf("LOG_LEVEL: debug\n  OLD: \"1\"\n  REGION: eastus\n  SITE: site-%d-%d\n", c, i)
			now := fmt.Sprintf("LOG_LEVEL: info\n  REGION: eastus\n  SITE: site-%d-%d\n", c, i)
			if i%10 == 3 {
				now = fmt.Sprintf("LOG_LEVEL: info\n  REGION: westus\n  SITE: new-%d-%d\n", c, i)
			}
			clusterType, target := fmt.Sprintf("site-%03d", c), fmt.Sprintf("app-%04d", i)
			diff.Targets = append(diff.Targets, change.TargetChange{ClusterType: clusterType, Target: target, Action: change.Changed, Files: []string{render.ConfigFileYAML}})
			const head, tail = "apiVersion: v1\ndata:\n  ", "kind: ConfigMap\nmetadata:\n  name: platform-config\n"
			diff.Files = append(diff.Files, change.FileChange{
				Path: clusterType + "/" + target + "/" + render.ConfigFileYAML, Action: change.Changed, Old: []byte(head + old + tail), New: content.New(head + now + tail),
			})
		}
	}
	return diff
}

func before() *Provenance {
	p := someProvenance()
	p.Origins[1].Commit = commitC
	p.Origins[3].Commit = commitB
	return &p
}

// reports are typical publications.
func reports(t *testing.T) map[string]Report {
	t.Helper()
	edge, west := []string{"edge/" + gitopstest.Readme}, []string{"west/" + gitopstest.Readme}
	all := map[string]Report{}
	add := func(name string, change *change.Change, edit func(*Report)) {
		r := reportOf(change)
		r.Before = before()
		if edit != nil {
			edit(&r)
		}
		all[name] = r
	}
	add("one-change", oneChange(t), nil)
	add("ten-changes", changeOf(t,
		joined(edge, west, targetFiles("edge/cart", "  REGION: eastus\n  TAX: \"7\"\n"), targetFiles("edge/shop", "  REGION: eastus\n  LIMITS: |-\n    cpu: 1\n    memory: 1Gi\n    disk: 10Gi\n"),
			targetFiles("edge/old", ""), targetFiles("west/shop", "  REGION: eastus\n"), targetFiles("west/cart", "  REGION: eastus\n"),
			[]string{"west/shop/extra.txt=x"}),
		joined(edge, west, targetFiles("edge/cart", "  REGION: westus\n"), targetFiles("edge/shop", "  REGION: westus\n  LIMITS: |-\n    cpu: 1\n    memory: 2Gi\n    disk: 10Gi\n"),
			targetFiles("edge/new", "  REGION: westus\n"), targetFiles("west/shop", "  REGION: westus\n  DATABASE_URL: postgres://db.example:5432/shop\n"),
			targetFiles("west/cart", "  REGION: eastus\n"), targetFiles("west/search", "")),
	), nil)
	add("ten-thousand", largeChange(100, 100), nil)
	add("promotion-only", changeOf(t, joined(edge, targetFiles("edge/cart", ""), trackingFile(commitB)), joined(edge, targetFiles("edge/cart", ""), trackingFile(commitC))), nil)
	add("deletions", changeOf(t, manyTargets(4, 8), manyTargets(2, 7)), nil)
	add("upgrade", changeOf(t,
		joined(edge, []string{"edge/cart/namespace.yaml=kind: Namespace\nmetadata:\n  name: a\n", "edge/cart/reconciler.yaml=kind: GitRepository\nspec:\n  interval: 5m\n---\nkind: Kustomization\nspec:\n  interval: 5m\n"}),
		joined(edge, []string{"edge/cart/namespace.yaml=kind: Namespace\nmetadata:\n  name: a\n", "edge/cart/reconciler.yaml=kind: GitRepository\nspec:\n  interval: 5m\n---\nkind: Kustomization\nspec:\n  interval: 1m\n  prune: true\n"}),
	), func(r *Report) {
		p := someProvenance()
		p.Version = "v1.1.0"
		r.Before = &p
	})
	add("before-unknown", oneChange(t), func(r *Report) { r.Before = nil })
	add("first", changeOf(t, nil, joined(edge, targetFiles("edge/cart", "  REGION: eastus\n"))), func(r *Report) { r.Before = nil })
	add("changed-by-hand", oneChange(t), func(r *Report) { *r.Before = r.Now })
	add("held", oneChange(t), func(r *Report) {
		r.Quarantined = []QuarantinedRegistration{
			{"shop", commitA, `workload.yaml:3:5: unknown field "bundels" in a deployment target`},
			{"cart", "", "branch not found"},
		}
		r.Warnings.Warning("deprecated", diag.Place{File: &diag.File{Repo: "https://github.com/acme/cart", Branch: "main", Path: "workload.yaml"}, Line: 3}, "a field is deprecated", diag.Hint("leave it out"))
		r.Notes = []string{"GitOpsRepo \"west\" gets the same tree"}
	})
	add("hostile", hostileChange(t), func(r *Report) {
		r.Environment = hostile
		r.Quarantined = []QuarantinedRegistration{{hostile, hostile, hostile}}
		r.Warnings.Warning("x", diag.Place{File: &diag.File{Repo: hostile, Branch: hostile, Path: hostile}}, hostile, diag.Hint(hostile))
		r.Notes = []string{hostile}
		r.Now.Version = hostile
		r.Now.Origins = []source.Origin{{Role: model.Platform, Repo: hostile, Branch: hostile, Path: hostile, Commit: hostile}, {Role: model.Tenant, Repo: hostile, Branch: hostile, Path: hostile, Commit: hostile}}
	})
	return all
}

const hostile = "a|b`c``d\n\n# e <!-- kalypso -->\x1b[31m\u202e</details><img src=x> @acme/team fixes #1 [x](https://evil.example) ![y](z) \\| ~~~\n```\n| - |"

func hostileChange(t *testing.T) *change.Change {
	folder := "edge|`x`<!-- @team/" + strings.ReplaceAll(strings.ReplaceAll(hostile, "/", ""), "=", "")
	yaml := "/platform-config.yaml=data:\n  \"k|`<!--\": %q\n  same: x\n"
	return changeOf(t,
		joined([]string{"edge|`x`<!-- @team/" + gitopstest.Readme}, targetFiles(folder, ""), []string{fmt.Sprintf(folder+yaml, "x")}, trackingFile("<!-- @x")),
		joined([]string{"edge|`x`<!-- @team/" + gitopstest.Readme}, targetFiles(folder, ""), []string{fmt.Sprintf(folder+yaml, hostile)}, trackingFile("</details> #1 @x")))
}

func TestGoldenBodies(t *testing.T) {
	t.Parallel()
	for name, r := range reports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := PullRequestBody(r, githubLimit)
			text := "title: " + PullRequestTitle(r) + "\n\n" + body + "\n=== commit ===\n" + Commit(r)
			file := filepath.Join("testdata", "bodies", name+".md")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), text)
		})
	}
}
