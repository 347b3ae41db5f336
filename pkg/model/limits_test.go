package model

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// thorough reports whether long tables are to be tried row by row and limits at their full size, as make ci-full does.
func thorough() bool { return os.Getenv("KALYPSO_WHOLE_MATRIX") != "" }

// The limits as the contract has them (SPEC 4).
func TestS8DefaultLimits(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Limits{
		Limits:    yamldoc.Limits{Documents: 1000, Nesting: 64, Nodes: 200_000},
		FileBytes: 1 << 20, SourceBytes: 16 << 20, Files: 1000, Targets: 1000, Schemas: 1000,
		ValueBytes: 4 << 10, OutputBytes: 256 << 20,
	}, DefaultOptions().Tenant)
	assert.Equal(t, Limits{
		Limits:    yamldoc.Limits{Documents: 50_000, Nesting: 200, Nodes: 400_000, Aliases: true},
		FileBytes: 4 << 20, SourceBytes: 512 << 20, Files: 100_000, Targets: 100_000, Schemas: 10_000,
	}, DefaultOptions().Platform)
	options := DefaultOptions()
	for role, want := range map[Role]Limits{Tenant: DefaultOptions().Tenant, Main: DefaultOptions().Platform, Base: DefaultOptions().Platform, Platform: DefaultOptions().Platform} {
		assert.Equal(t, want, options.limits(role))
	}
}

// Each limit holds for what is one beyond it, and not for what is exactly at it.
func TestS8Limits(t *testing.T) {
	t.Parallel()
	platform := DefaultOptions().Platform
	platform.SourceBytes = 40 << 20 // half a gigabyte would take too long
	if !thorough() {                // other limits than the default ones hold in the same way
		platform.SourceBytes, platform.FileBytes = 6<<20, 2<<20
		platform.Files, platform.Documents, platform.Targets = 3000, 3000, 3000
	}
	for _, limits := range []struct {
		name string
		role Role
		Limits
	}{{"tenant", Tenant, DefaultOptions().Tenant}, {"platform", Platform, platform}} {
		for _, c := range []struct {
			name string
			// repo is a repository of a size.
			repo     func(size int) tree
			limit    int
			problems []string
		}{
			{
				"bytes of a file", func(size int) tree { return tree{"f.yaml": "#" + strings.Repeat(" ", size-1)} }, int(limits.FileBytes),
				[]string{fmt.Sprintf("repo:f.yaml: error: the file has %d bytes, more than %d [file-too-large]", limits.FileBytes+1, limits.FileBytes)},
			},
			{
				"bytes of an ignore file", func(size int) tree { return tree{".sourceignore": "#" + strings.Repeat(" ", size-1)} }, int(limits.FileBytes),
				[]string{fmt.Sprintf("repo:.sourceignore: error: the file has %d bytes, more than %d [file-too-large]", limits.FileBytes+1, limits.FileBytes)},
			},
			{
				"bytes of a source", func(size int) tree {
					files := tree{}
					for i := 0; size > 0; i++ {
						n := min(size, int(limits.FileBytes))
						files[fmt.Sprintf("%03d.yaml", i)] = strings.Repeat(" ", n)
						size -= n
					}
					return files
				}, int(limits.SourceBytes),
				[]string{fmt.Sprintf("repo: error: the YAML files of repo below \".\" have more than %d bytes in total [source-too-large]", limits.SourceBytes)},
			},
			{
				"files", func(size int) tree {
					files := tree{"not-read.txt": ""}
					for i := range size {
						files[fmt.Sprintf("%d.yaml", i)] = ""
					}
					return files
				}, limits.Files,
				[]string{fmt.Sprintf("repo: error: repo has more than %d YAML files below \".\" [too-many-files]", limits.Files)},
			},
			{
				"documents", func(size int) tree { return tree{"f.yaml": strings.Repeat("---\n[]\n", size)} }, limits.Documents,
				[]string{fmt.Sprintf("repo:f.yaml: error: the file has more than %d documents [too-many-documents]", limits.Documents)},
			},
			{
				"nested lists", func(size int) tree {
					return tree{"f.yaml": "# x\n" + strings.Repeat("[", size) + "x" + strings.Repeat("]", size)}
				}, limits.Nesting,
				[]string{fmt.Sprintf("repo:f.yaml:2:%d: error: nested more than %d levels deep [too-deep]", limits.Nesting+1, limits.Nesting)},
			},
			{
				"nested maps", func(size int) tree {
					return tree{"f.yaml": "[" + strings.Repeat("{a: ", size-1) + "x" + strings.Repeat("}", size-1) + "]"}
				}, limits.Nesting,
				[]string{fmt.Sprintf("repo:f.yaml:1:%d: error: nested more than %d levels deep [too-deep]", 4*limits.Nesting-2, limits.Nesting)},
			},
			{
				"targets", func(size int) tree {
					files, each := tree{}, (size-1)/4
					for i := range 4 {
						files[fmt.Sprintf("sub%d/f.yaml", i)] = workloadOf(fmt.Sprintf("w%d", i), each)
					}
					files["rest.yaml"] = workloadOf("rest", size-4*each)
					return files
				}, limits.Targets,
				[]string{fmt.Sprintf("repo: error: repo has %d deployment targets, more than %d [too-many-targets]", limits.Targets+1, limits.Targets)},
			},
			{
				"schemas", func(size int) tree {
					return tree{"a.yaml": strings.Replace(workloadOf("a", 1), "manifests: {}", "manifests: {}, configSchemas: ["+strings.Repeat("'',", size-1)+"]", 1) +
						"  configSchemas: ['']\n"}
				}, limits.Schemas,
				[]string{fmt.Sprintf("repo: error: repo has %d schemas, more than %d [too-large]", limits.Schemas+1, limits.Schemas)},
			},
		} {
			t.Run(limits.name+"/"+c.name, func(t *testing.T) {
				if (testing.Short() || raceDetector) && limits.role == Platform {
					t.Skip("large files")
				}
				t.Parallel()
				options := Options{Tenant: limits.Limits, Platform: limits.Limits}
				isEmptyFile := func(d diag.Diagnostic) bool { return d.Rule == "empty-file" }
				objects, diags := Parse(sourceOf(limits.role, c.repo(c.limit).fs()), registrationOf("app", "shop"), options)
				diags = slices.DeleteFunc(diags, isEmptyFile)
				assert.Empty(t, shown(diags), "at the limit")
				assert.False(t, objects.Incomplete)
				objects, diags = Parse(sourceOf(limits.role, c.repo(c.limit+1).fs()), registrationOf("app", "shop"), options)
				diags = slices.DeleteFunc(diags, isEmptyFile)
				assert.Equal(t, c.problems, shown(diags), "one more")
				assert.True(t, objects.Incomplete)
				assert.Empty(t, objects.Workloads)
			})
		}
	}
}

// workloadOf is a workload with n deployment targets.
func workloadOf(name string, n int) string {
	var b strings.Builder
	b.WriteString(api + "kind: Workload\nmetadata: {name: " + name + "}\nspec:\n  deploymentTargets:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: t%d, environment: dev, manifests: {}}\n", i)
	}
	return b.String()
}

// What is counted are the values that aliases stand for, not what is written.
func TestS8Nodes(t *testing.T) {
	t.Parallel()
	count := func(content string, nodes int) []string {
		docs, diags := testDocuments(content)
		require.Empty(t, diags)
		for i := range docs {
			docs[i].Check(yamldoc.Limits{Aliases: true, Nodes: nodes}, &diags)
		}
		return rules(diags)
	}
	for content, nodes := range map[string]int{
		"[a, b, c]":                    4,
		"{a: b}":                       3,
		"{a: [b, {c: d}]}":             7,
		"[&x a, *x, *x]":               4,
		"[&x [a, b], *x, *x]":          10,
		"[&x [a, b], &y [*x, *x], *y]": 18,
		"{a: &x {b: c}, d: {<<: *x}, e: {f: *x}}": 17,
	} {
		assert.Empty(t, count(content, nodes), content)
		assert.Equal(t, []string{"too-large"}, count(content, nodes-1), content)
	}
}

// The depth is that of what aliases stand for: they must not get around the limit.
func TestS8NestedAliases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content string
		nesting int
		at      string
	}{
		{"[&x [[a]], [*x]]", 4, "1:13"},
		{"[&x [[a]], *x]", 3, "1:6"},
		{"[&x a, [[*x]]]", 3, "1:9"},
		{"{a: &x {b: c}, d: &y {e: *x}, f: {g: *y}}", 4, "1:38"},
		{"{a: &x [], b: [[*x]]}", 4, "1:17"},
	} {
		read := func(nesting int) []string {
			docs, diags := testDocuments(c.content)
			require.Empty(t, diags)
			docs[0].Check(yamldoc.Limits{Aliases: true, Nesting: nesting}, &diags)
			return places(diags)
		}
		assert.Empty(t, read(c.nesting), c.content)
		assert.Equal(t, []string{c.at + " too-deep"}, read(c.nesting-1), c.content)
	}
}

func TestS8TenantsHaveNoAliases(t *testing.T) {
	t.Parallel()
	for content, at := range map[string]string{
		"a: &x 1\nb: *x\n":                      "2:4",
		"a: &x {b: c}\nd:\n  <<: *x\n":          "3:7",
		"- &x a\n- [*x]\n":                      "2:4",
		"&x a: b\n*x : c\n":                     "2:1",
		"apiVersion: v1\n---\na: &x 1\nb: *x\n": "4:4",
	} {
		_, diags := parseOne(Tenant, content)
		assert.Contains(t, places(diags), at+" yaml-alias", content)
		_, diags = parseOne(Platform, content)
		assert.NotContains(t, rules(diags), "yaml-alias", content)
	}
	_, diags := parseOne(Tenant, "- &x a\n")
	assert.Empty(t, shown(diags), "an anchor alone does no harm")
}

func TestAliasInItself(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"a: &x [*x]\n":          "1:8 invalid-yaml",
		"a: &x {b: {<<: *x}}\n": "1:16 invalid-yaml",
		"a: &x {<<: [*x]}\n":    "1:13 invalid-yaml",
		"&x [a, {b: [*x]}]\n":   "1:13 invalid-yaml",
		"&x {*x : a}\n":         "1:5 invalid-yaml",
		"a: &x [&y [*x], *y]\n": "1:12 invalid-yaml",
	} {
		_, diags := parseOne(Platform, content)
		assert.Contains(t, places(diags), want, content)
	}
}

// The ignore file of a tenant is matched against each of its files.
func TestS8Patterns(t *testing.T) {
	t.Parallel()
	patterns := mostPatterns - len(fluxExclusions)
	read := func(ignore tree) []string {
		ignore["app/x.yaml"], ignore["z.yaml"] = "", ""
		paths, diags := files(sourceOf(Tenant, ignore.fs()), DefaultOptions().Tenant, false)
		assert.Equal(t, diags.HasErrors(), paths == nil)
		return shown(diags)
	}
	const tooMany = "error: more than 1000 patterns apply here, or this pattern is longer than 250 bytes [too-many-patterns]"
	assert.Empty(t, read(tree{".sourceignore": strings.Repeat("a\n", patterns)}))
	assert.Equal(t, []string{fmt.Sprintf("repo:.sourceignore:%d: %s", patterns+1, tooMany)}, read(tree{".sourceignore": strings.Repeat("a\n", patterns+1)}))
	assert.Equal(t, []string{"repo:app/.sourceignore:3: " + tooMany},
		read(tree{".sourceignore": strings.Repeat("a\n", patterns-1), "app/.sourceignore": "# x\nb\nc\n"}))
	assert.Empty(t, read(tree{"app/.sourceignore": strings.Repeat("a\n", patterns), "b/.sourceignore": strings.Repeat("a\n", patterns)}),
		"what is in force in another directory does not count")
	assert.Empty(t, read(tree{".sourceignore": "x\n" + strings.Repeat("y", longestPattern)}))
	assert.Equal(t, []string{"repo:.sourceignore:2: " + tooMany}, read(tree{".sourceignore": "x\n" + strings.Repeat("y", longestPattern+1)}))
}

// sizedFS says that its only file has a size, and fails the test if that file is read.
type sizedFS struct {
	tree
	t    *testing.T
	size int64
}

func (s sizedFS) Open(name string) (fs.File, error) {
	if name == "f.yaml" {
		s.t.Error("the file is read")
	}
	return s.tree.fs().Open(name)
}

func (s sizedFS) Stat(name string) (fs.FileInfo, error) {
	info, err := s.tree.fs().Stat(name)
	return sizedInfo{info, s.size}, err
}

type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (i sizedInfo) Size() int64 { return i.size }

// A file that is too large is not even loaded.
func TestS8LargeFilesAreNotRead(t *testing.T) {
	t.Parallel()
	for _, role := range []Role{Tenant, Platform, Base} {
		_, diags := parseSource(sourceOf(role, sizedFS{tree{"f.yaml": ""}, t, 50 << 20}))
		assert.Equal(t, []string{"file-too-large"}, rules(diags))
	}
}

// Hostile files end in an error, or are read, in under two seconds and 200 MB (SECURITY S8). What has the same outcome
// for tenants is read with the limits of the platform alone, which are the higher ones. The test is not parallel
// because it measures.
func TestS8Bombs(t *testing.T) {
	if raceDetector {
		t.Skip("it measures")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program, whatever GOGC says
	aliases := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		item := fmt.Sprintf("*a%d, ", i-1)
		aliases += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(item, 9), ", "))
	}
	merges := "a0: &a0 {x: y}\n"
	for i := 1; i < 40; i++ {
		merges += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d, *a%d], k%d: v}\n", i, i, i-1, i-1, i-1, i)
	}
	chain := "a0: &a0 [x]\n"
	for i := 1; i < 2000; i++ {
		chain += fmt.Sprintf("a%d: &a%d [[[[[*a%d]]]]]\n", i, i, i-1)
	}
	template := api + "kind: Template\nmetadata: {name: t}\nspec:\n  type: config\n  manifests:\n  - "
	longKey := template + "? " + strings.Repeat("k", 400_000) + "\n    : [" + strings.Repeat("x, ", 200_000) + "x]\n"
	alike := map[string]string{ // which row stands for another in make test
		"200,000 open braces":               "500,000 open brackets",
		"10,000 dashes":                     "10,000 brackets",
		"500,000 question marks":            "500,000 open brackets",
		"a million documents":               "5 MB",
		"documents of a comment":            "hundreds of thousands of documents",
		"null documents":                    "hundreds of thousands of documents",
		"a large scalar":                    "a large number",
		"100,000 duplicate keys":            "90,000 duplicate keys",
		"500,000 items":                     "as many items as the platform may have",
		"as many keys of a flow mapping":    "as many items as the platform may have",
		"comments without number":           "a comment behind each value",
		"a plain scalar of many lines":      "a quote that is open",
		"not UTF-8":                         "NUL",
		"tags that grow, behind a document": "tags that grow",
	}
	for _, c := range []struct {
		name, content string
		tenant        []string // what a tenant gets
		platform      []string // what the platform gets
	}{
		{"alias bomb", aliases, []string{"yaml-alias"}, []string{"too-large"}},
		{"alias bomb by merging", merges, []string{"yaml-alias"}, []string{"too-large"}},
		{"aliases that nest", chain, []string{"yaml-alias"}, []string{"too-deep"}},
		{"10,000 brackets", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), []string{"too-deep"}, []string{"too-deep"}},
		{"10,000 open brackets", strings.Repeat("[", 10_000), []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"500,000 open brackets", strings.Repeat("[", 500_000), []string{"too-large"}, []string{"too-large"}},
		{"200,000 open braces", strings.Repeat("{a: ", 200_000), []string{"too-large"}, []string{"too-large"}},
		{"10,000 dashes", strings.Repeat("- ", 10_000) + "a", []string{"too-deep"}, []string{"too-deep"}},
		{"500,000 question marks", strings.Repeat("? ", 500_000) + "a", []string{"too-large"}, []string{"too-large"}},
		{"a million documents", strings.Repeat("a\n---\n", 1_000_000), []string{"file-too-large"}, []string{"file-too-large"}},
		{"hundreds of thousands of documents", strings.Repeat("a\n---\n", 600_000), []string{"file-too-large"}, []string{"too-many-documents"}},
		{"a million empty documents", strings.Repeat("---\n", 1_000_000), []string{"file-too-large"}, nil},
		{"documents of a comment", strings.Repeat("#\n---\n", 600_000), []string{"file-too-large"}, []string{"too-many-documents"}},
		{"null documents", strings.Repeat("~\n---\n", 600_000), []string{"file-too-large"}, []string{"too-many-documents"}},
		{"a million bad separators", strings.Repeat("a\n----\n", 140_000), []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"a million lines", strings.Repeat("\n", 1_000_000) + "a: |\n\n x\n", []string{"no-kind"}, []string{"no-kind"}},
		{"a large scalar", "a: " + strings.Repeat("x", 1_000_000), []string{"no-kind"}, []string{"no-kind"}},
		{"a large number", "a: " + strings.Repeat("9", 1_000_000), []string{"no-kind"}, []string{"no-kind"}},
		{"a large key", "? " + strings.Repeat("x", 1_000_000) + "\n: a\n", []string{"no-kind"}, []string{"no-kind"}},
		{"a large key above many values", longKey, []string{"too-large"}, []string{}},
		{
			"a large field name", api + "kind: Workload\n? " + strings.Repeat("x", 1_000_000) + "\n: a\n",
			[]string{"missing-field", "unknown-field"},
			[]string{"missing-field", "unknown-field"},
		},
		{"100,000 duplicate keys", strings.Repeat("a: b\n", 100_000), nil, nil},
		{"90,000 duplicate keys", strings.Repeat("a: b\n", 90_000), nil, nil},
		{"90,000 unknown fields", api + "kind: Workload\nmetadata: {name: a}\nspec:\n" + manyFields(90_000), nil, nil},
		{"90,000 bad labels", api + "kind: Workload\nspec: {deploymentTargets: []}\nmetadata:\n  name: a\n  labels:\n" + manyFields(90_000), nil, nil},
		{"500,000 items", "[" + strings.Repeat("a,", 500_000) + "]", []string{"too-large"}, []string{"too-large"}},
		{"as many items as the platform may have", "[" + strings.Repeat("a,", 399_998) + "]", []string{"too-large"}, []string{}},
		{"as many keys of a flow mapping", "{" + strings.Repeat("a,", 199_998) + "}", nil, nil},
		{"anchors without number", manyAnchors(70_000), []string{"no-kind"}, []string{"no-kind"}},
		{"comments without number", strings.Repeat("# x\n", 250_000) + "a: b # c\n", []string{"no-kind"}, []string{"no-kind"}},
		{"a comment behind each value", strings.Repeat("- a # c\n", 90_000), []string{}, []string{}},
		{"a wrong indentation at the end", "a:\n" + strings.Repeat("  - a\n", 90_000) + " b: c\n", []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"tabs", strings.Repeat("\t", 1_000_000), []string{}, []string{"empty-file"}},
		{"a quote that is open", "a: '" + strings.Repeat("x\n\n", 300_000), []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"a plain scalar of many lines", "a\n" + strings.Repeat(" x\n\n", 250_000), []string{}, []string{}},
		{"carriage returns", strings.Repeat("a: b\r", 1000), nil, nil},
		{"line separators", "a: \"" + strings.Repeat("\u2028", 300_000) + "\"", []string{"no-kind"}, []string{"no-kind"}},
		{"NUL", strings.Repeat("\x00", 1_000_000), []string{"not-text"}, []string{"not-text"}},
		{"not UTF-8", strings.Repeat("\xff", 1_000_000), []string{"not-text"}, []string{"not-text"}},
		{"byte order marks", strings.Repeat("\ufeff", 300_000), nil, nil},
		{"directives", strings.Repeat("%TAG ! tag:x,2024:\n", 50_000), []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"tags that grow", "%TAG ! " + strings.Repeat("x", 500_000) + "\n--- [" + strings.Repeat("!a b,", 80_000) + "]", []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"tags that grow, behind a document", "a\r...\r%TAG ! " + strings.Repeat("x", 500_000) + "\r--- [" + strings.Repeat("!a b,", 80_000) + "]", []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"directives, each another", repeatedly(60_000, "%%TAG !%d! x\n") + "--- a", []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"an alias of a long name", "a: *" + strings.Repeat("x", 1_000_000), []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"tags", "a: " + strings.Repeat("!x ", 300_000), []string{"invalid-yaml"}, []string{"invalid-yaml"}},
		{"5 MB", strings.Repeat("a: b\n", 1<<20), []string{"file-too-large"}, []string{"file-too-large"}},
	} {
		if alike[c.name] != "" && !thorough() {
			continue
		}
		for role, want := range map[Role][]string{Tenant: c.tenant, Platform: c.platform} {
			if role == Tenant && slices.Equal(c.tenant, c.platform) && !thorough() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", c.name, role), func(t *testing.T) {
				repo := sourceOf(role, tree{"f.yaml": c.content}.fs())
				var diags diag.List
				assertModest(t, func() { _, diags = parseSource(repo) })
				if want != nil {
					assert.Equal(t, want, slices.Compact(rules(diags)))
				}
				for _, d := range diags {
					require.NotNil(t, d.At.File)
				}
				fmt.Fprintf(io.Discard, "%v", shown(diags))
			})
		}
	}
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "    %d!: x\n", i)
	}
	return b.String()
}

// repeatedly formats the numbers from 0 to n-1, one after the other.
func repeatedly(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func manyAnchors(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d: &x b\n", i)
	}
	return b.String()
}

// assertModest fails if a function needs two seconds or 200 MB. On a machine that has other things to
// do it may need several tries.
func assertModest(t *testing.T, run func()) {
	t.Helper()
	var took time.Duration
	var peak uint64
	for range 5 {
		took, peak = measure(run)
		if took < 2*time.Second && peak < 200<<20 {
			return
		}
	}
	t.Errorf("it took %v and %d MB", took, peak>>20)
}

// measure runs a function, and tells how long it took and how much the heap grew at its peak.
func measure(run func()) (took time.Duration, peak uint64) {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before := stats.HeapAlloc
	done, sampled := make(chan bool), make(chan uint64)
	go func() {
		most := before
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
			select {
			case <-done:
				sampled <- most
				return
			case <-ticker.C:
			}
		}
	}()
	start := time.Now()
	run()
	took = time.Since(start)
	close(done)
	return took, <-sampled - before
}

// A generated file, as large as a file may be and with ten thousand objects, is read.
func TestS8GeneratedFilesAreRead(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata:\n  name: c%05d\n  labels:\n    region: north\n    size: large\nspec:\n  reconciler: argocd\n  namespaceService: default\n"
	comment := "# " + strings.Repeat("x", 220) + "\n"
	var file strings.Builder
	for i := 0; file.Len() < int(DefaultOptions().Platform.FileBytes)-500; i++ {
		fmt.Fprintf(&file, comment+object+"---\n", i)
	}
	objects, diags := parse(Platform, tree{"f.yaml": file.String()})
	noProblem(t, diags)
	assert.Greater(t, len(objects.ClusterTypes), 10_000)
}

// A message may quote what is written, but not all of it.
func TestS8MessagesAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500_000)
	for name, content := range map[string]string{
		"alias":       "a: *" + long + "\n",
		"field":       api + "kind: Workload\n" + "? " + long + "\n: a\n",
		"name":        api + "kind: ClusterType\nmetadata: {name: " + long + "}\nspec: {reconciler: a, namespaceService: b}\n",
		"kind":        api + "kind: " + long + "\n",
		"two bytes":   api + "kind: " + strings.Repeat("ä", 500_000) + "\n",
		"apiVersion":  "apiVersion: scheduler.kalypso.io/" + long + "\nkind: Workload\n",
		"label":       api + "kind: ClusterType\nmetadata: {name: a, labels: {a: " + long + "}}\nspec: {reconciler: a, namespaceService: b}\n",
		"environment": api + "kind: Environment\nmetadata: {name: " + long + "}\n",
	} {
		role := Platform
		files := tree{"f.yaml": content}
		if name == "environment" {
			role, files = Main, tree{EnvironmentsDirectory + "/f.yaml": content}
		}
		_, diags := parse(role, files)
		require.NotEmpty(t, diags, name)
		for _, d := range diags {
			assert.LessOrEqual(t, len(d.Message)+len(d.Hint), 2*(longestMessage+len("…")), name)
		}
	}
}

func TestS8ConfigMapsAreNoLargerThanKubernetesAllows(t *testing.T) {
	t.Parallel()
	config := func(bytes int) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  key: " + strings.Repeat("x", bytes-len("key")) + "\n"
	}
	objects, diags := parseOne(Platform, config(mostConfigBytes))
	noProblem(t, diags)
	assert.False(t, objects.ConfigMaps[0].Broken)
	objects, diags = parseOne(Platform, config(mostConfigBytes+1))
	assert.Equal(t, []string{`repo:f.yaml:3:18: error: ConfigMap "c" has 1048577 bytes, but Kubernetes allows 1048576 [too-large]`}, shown(diags))
	assert.True(t, objects.ConfigMaps[0].Broken)
}
