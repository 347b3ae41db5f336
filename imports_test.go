// Package kalypso_test guards the order of the packages: which package may import which.
package kalypso_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/kalypso-gitops/kalypso"

// A layer is a package and what it may import beyond the standard library.
type layer struct {
	dir        string   // below the module's root
	pure       bool     // computes only: it imports nothing of impure
	thirdParty []string // module or package paths; what is below them is allowed too
}

// isTool reports whether the layer is a program that only serves work on kalypso itself. It may import what tests may.
func (r layer) isTool() bool { return strings.HasPrefix(r.dir, "hack/") }

// helper reports whether the layer is there for tests, of any layer, and only for them. It may import what tests may.
func (r layer) helper() bool { return strings.HasSuffix(r.dir, "test") }

// layout lists every package, in order: each may import only layers above its own.
var layout = []layer{
	{dir: "pkg/diag", pure: true},
	{dir: "internal/retryafter"},
	{dir: "pkg/markdown", pure: true},
	{dir: "pkg/model/yamldoc", pure: true, thirdParty: []string{"go.yaml.in/yaml/v2", "go.yaml.in/yaml/v3"}},
	{dir: "pkg/model", pure: true, thirdParty: []string{
		"github.com/go-git/go-git/v5/plumbing/format/gitignore", // the matcher that Flux uses; the rest of go-git is not pure
		"go.yaml.in/yaml/v3",
		"golang.org/x/sync/errgroup",
		"k8s.io/apimachinery",
	}},
	{dir: "pkg/schedule", pure: true, thirdParty: []string{"k8s.io/apimachinery"}},
	{dir: "pkg/render/jsonschema", pure: true, thirdParty: []string{
		"github.com/santhosh-tekuri/jsonschema/v6",
		"golang.org/x/text",
	}},
	{dir: "pkg/render/yamltext", pure: true, thirdParty: []string{"go.yaml.in/yaml/v2", "go.yaml.in/yaml/v3", "sigs.k8s.io/yaml"}},
	{dir: "pkg/render/template", pure: true, thirdParty: []string{"github.com/Masterminds", "github.com/mitchellh/hashstructure"}},
	{dir: "pkg/render/config", pure: true, thirdParty: []string{"go.yaml.in/yaml/v2", "go.yaml.in/yaml/v3"}},
	{dir: "pkg/render/verify", pure: true, thirdParty: []string{"go.yaml.in/yaml/v3", "k8s.io/apimachinery"}},
	{dir: "pkg/render/content", pure: true},
	{dir: "pkg/render/rendertest"},
	{dir: "pkg/render/reference", pure: true, thirdParty: []string{"go.yaml.in/yaml/v3"}},
	{dir: "pkg/render/incremental", pure: true, thirdParty: []string{"github.com/mitchellh/hashstructure", "go.yaml.in/yaml/v3", "k8s.io/apimachinery"}},
	{dir: "pkg/render", pure: true, thirdParty: []string{"golang.org/x/sync/errgroup", "k8s.io/apimachinery"}},
	{dir: "pkg/model/fleettest"}, // its tests compile what it makes
	{dir: "pkg/gitops/giterror"},
	{dir: "pkg/gitops/giturl", thirdParty: []string{"github.com/go-git/go-git/v5/plumbing"}},
	{dir: "pkg/gitops/credentials"},
	{dir: "pkg/gitops/gitobject", thirdParty: []string{
		"github.com/go-git/go-billy/v5",
		"github.com/go-git/go-git/v5",
		"github.com/hiddeco/sshsig",
		"github.com/klauspost/compress/zlib",
		"golang.org/x/crypto/ssh",
		"golang.org/x/sync/errgroup",
	}},
	{dir: "pkg/gitops/wire", thirdParty: []string{
		"github.com/go-git/go-git/v5/plumbing",
		"github.com/skeema/knownhosts",
		"golang.org/x/crypto/ssh",
	}},
	{dir: "pkg/gitops/memo"},
	{dir: "pkg/gitops/server", thirdParty: []string{"github.com/go-git/go-git/v5/plumbing"}},
	{dir: "pkg/gitops/local", thirdParty: []string{
		"github.com/go-git/go-billy/v5",
		"github.com/go-git/go-git/v5",
	}},
	{dir: "pkg/gitops/remote", thirdParty: []string{
		"github.com/go-git/go-git/v5/plumbing",
		"golang.org/x/sync/errgroup",
	}},
	{dir: "pkg/gitops/source", thirdParty: []string{"golang.org/x/sync/errgroup"}},
	{dir: "pkg/gitops/change", pure: true, thirdParty: []string{
		"github.com/go-git/go-git/v5/plumbing",
		"go.yaml.in/yaml/v3",
		"golang.org/x/sync/errgroup",
	}},
	{dir: "pkg/gitops/message", pure: true, thirdParty: []string{"github.com/rogpeppe/go-internal/diff"}},
	{dir: "pkg/gitops/quarantine"},
	{dir: "pkg/gitops/pullrequest"},
	{dir: "pkg/gitops", thirdParty: []string{
		"github.com/go-git/go-git/v5/plumbing",
		"go.yaml.in/yaml/v3",
		"golang.org/x/sync/errgroup",
	}},
	{dir: "pkg/gitops/gitopstest"},
	{dir: "pkg/impact", pure: true},
	{dir: "pkg/promote/baserepo", pure: true, thirdParty: []string{"go.yaml.in/yaml/v3"}},
	{dir: "pkg/promote"},
	{dir: "pkg/promote/fleet/statustext", pure: true},
	{dir: "pkg/promote/fleet/api"},
	{dir: "pkg/promote/fleet/argocd"},
	{dir: "pkg/promote/fleet/azure", thirdParty: []string{"github.com/Azure/azure-sdk-for-go/sdk"}},
	{dir: "pkg/promote/fleet/flux", thirdParty: []string{"golang.org/x/sync/errgroup", "k8s.io/apimachinery", "k8s.io/client-go"}},
	{dir: "pkg/promote/fleet/flux/fluxtest"},
	{dir: "pkg/promote/fleet/command", thirdParty: []string{"github.com/google/shlex", "sigs.k8s.io/json"}},
	{dir: "pkg/promote/fleet"},
	{dir: "pkg/github", thirdParty: []string{
		"github.com/golang-jwt/jwt/v5",
		"github.com/google/go-github/v53/github",
		"golang.org/x/sync/errgroup",
	}},
	{dir: "pkg/github/githubtest/branchtest"},
	{dir: "pkg/github/githubtest/openapitest"},
	{dir: "pkg/github/githubtest"},
	{dir: "pkg/github/githubtest/scripttest"},
	{dir: "cmd/kalypso/internal/term", thirdParty: []string{"github.com/fatih/color", "github.com/google/shlex", "github.com/mattn/go-isatty"}},
	{dir: "cmd/kalypso/internal/results", thirdParty: []string{"sigs.k8s.io/yaml"}},
	{dir: "cmd/kalypso/internal/actions"},
	{dir: "cmd/kalypso/internal/cli", thirdParty: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
	{dir: "cmd/kalypso/internal/session", thirdParty: []string{"github.com/rogpeppe/go-internal/diff", "github.com/spf13/cobra"}},
	{dir: "cmd/kalypso/internal/fleetstatus"},
	{dir: "cmd/kalypso/internal/scaffold", pure: true, thirdParty: []string{"k8s.io/apimachinery", "sigs.k8s.io/yaml"}},
	{dir: "cmd/kalypso/internal/htmlreport", pure: true, thirdParty: []string{"golang.org/x/sync/errgroup"}},
	{dir: "cmd/kalypso/internal/command/render", thirdParty: []string{"github.com/spf13/cobra"}},
	{dir: "cmd/kalypso/internal/command/validate", thirdParty: []string{"github.com/spf13/cobra"}},
	{dir: "cmd/kalypso/internal/command/diff", thirdParty: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
	{dir: "cmd/kalypso/internal/command/explain", thirdParty: []string{"github.com/spf13/cobra"}},
	{dir: "cmd/kalypso/internal/command/report", thirdParty: []string{"github.com/spf13/cobra"}},
	{dir: "cmd/kalypso/internal/command/promotion", thirdParty: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
	{dir: "cmd/kalypso/internal/command/initialize", thirdParty: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
	{dir: "cmd/kalypso/internal/command/doctor", thirdParty: []string{"github.com/spf13/cobra", "go.yaml.in/yaml/v3"}},
	{dir: "cmd/kalypso/internal/command/about", thirdParty: []string{"github.com/spf13/cobra"}},
	{dir: "cmd/kalypso", thirdParty: []string{
		"github.com/spf13/cobra",
		"github.com/spf13/pflag",
	}},
	{dir: "hack/bench"},
	{dir: "hack/openapi"},
}

// impure is what pure layers may not import: files, network, processes, chance. Below these paths too.
var impure = []string{
	"crypto/rand", "io/ioutil", "log", "math/rand", "net", "os", "path/filepath", "plugin", "runtime/debug", "syscall", "unsafe",
}

// harmless are packages below those of impure that only compute.
var harmless = []string{"net/mail", "net/netip", "net/url"}

func TestImports(t *testing.T) {
	t.Parallel()
	problems, err := check(os.DirFS("."), layout)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// TestImportsInContributing keeps the line of packages that newcomers read in the order of the plan.
func TestImportsInContributing(t *testing.T) {
	t.Parallel()
	var layers []string
	for _, r := range layout {
		if name, found := strings.CutPrefix(r.dir, "pkg/"); found && !strings.Contains(name, "/") {
			layers = append(layers, name)
		}
	}
	text, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), "\n"+strings.Join(append(layers, "cmd/kalypso"), " ← ")+"\n")
}

func TestImportsRefused(t *testing.T) {
	t.Parallel()
	layers := []layer{
		{dir: "pkg/low", pure: true, thirdParty: []string{"example.com/yaml"}},
		{dir: "pkg/high", thirdParty: []string{"example.com/git/v5"}},
		{dir: "pkg/high/hightest"},
		{dir: "cmd/top"},
		{dir: "hack/tool"},
	}
	const low, high = "pkg/low/a.go", "pkg/high/a.go"
	for name, test := range map[string]struct {
		file, imports, want string
	}{
		"earlier layer":            {file: high, imports: module + "/pkg/low"},
		"later layer":              {low, module + "/pkg/high", "pkg/low/a.go imports pkg/high, which comes later"},
		"later layer in a test":    {"pkg/low/a_test.go", module + "/pkg/high", "pkg/low/a_test.go imports pkg/high, which comes later"},
		"own layer in a test":      {file: "pkg/low/a_test.go", imports: module + "/pkg/low"},
		"helper in a test":         {file: "pkg/low/a_test.go", imports: module + "/pkg/high/hightest"},
		"helper in a program":      {"cmd/top/a.go", module + "/pkg/high/hightest", "cmd/top/a.go imports pkg/high/hightest, which is for tests only"},
		"helper in a tool":         {file: "hack/tool/a.go", imports: module + "/pkg/high/hightest"},
		"tool in a program":        {"cmd/top/a.go", module + "/hack/tool", "cmd/top/a.go imports hack/tool, which comes later"},
		"any module in a helper":   {file: "pkg/high/hightest/a.go", imports: "example.com/server"},
		"helper imports its layer": {file: "pkg/high/hightest/a.go", imports: module + "/pkg/high"},
		"unknown layer":            {high, module + "/pkg/utils", "pkg/high/a.go imports pkg/utils, which is not in the table"},
		"layer without a row":      {"pkg/utils/a.go", "fmt", "pkg/utils is not in the table"},
		"layer within a layer":     {"pkg/low/sub/a.go", "fmt", "pkg/low/sub is not in the table"},
		"allowed module":           {file: low, imports: "example.com/yaml"},
		"allowed below a module":   {file: high, imports: "example.com/git/v5/plumbing"},
		"same prefix, other name":  {low, "example.com/yamlish", "pkg/low/a.go imports example.com/yamlish, which is not allowed there"},
		"module of another layer":  {low, "example.com/git/v5", "pkg/low/a.go imports example.com/git/v5, which is not allowed there"},
		"any module in a test":     {file: "pkg/low/a_test.go", imports: "example.com/assert"},
		"files":                    {low, "os", "pkg/low/a.go imports os, which a pure package may not"},
		"processes":                {low, "os/exec", "pkg/low/a.go imports os/exec, which a pure package may not"},
		"files in a pure package":  {low, "path/filepath", "pkg/low/a.go imports path/filepath, which a pure package may not"},
		"network":                  {low, "net/http", "pkg/low/a.go imports net/http, which a pure package may not"},
		"files in a test":          {file: "pkg/low/a_test.go", imports: "os"},
		"files in a layer of edge": {file: high, imports: "os"},
		"URLs":                     {file: low, imports: "net/url"},
		"test data":                {file: "pkg/low/testdata/a.go", imports: "os"},
		"another module":           {file: "tools/sub/a.go", imports: "os"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{
				"go.mod":                   {Data: []byte("module " + module)},
				"tools/go.mod":             {Data: []byte("module " + module + "/tools")},
				"pkg/low/doc.go":           {Data: []byte("package low")},
				"pkg/high/doc.go":          {Data: []byte("package high")},
				"pkg/high/hightest/doc.go": {Data: []byte("package hightest")},
				"cmd/top/main.go":          {Data: []byte("package main")},
				"hack/tool/main.go":        {Data: []byte("package main")},
				".hidden/ignore.go":        {Data: []byte("not Go")},
				test.file:                  {Data: fmt.Appendf(nil, "package p\nimport %q", test.imports)},
			}
			problems, err := check(tree, layers)
			require.NoError(t, err)
			if test.want == "" {
				assert.Empty(t, problems)
				return
			}
			assert.Equal(t, []string{test.want}, problems)
		})
	}
}

func TestImportsTableHasNoEmptyRoom(t *testing.T) {
	t.Parallel()
	problems, err := check(fstest.MapFS{}, []layer{{dir: "pkg/gone"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"pkg/gone is in the table but has no Go files"}, problems)
}

// clock is what package time reads from the machine: the time and its zone.
var clock = []string{
	"After", "AfterFunc", "Local", "LoadLocation", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

// TestR18PureRoomsHaveNoClock: what the core makes of its input cannot depend on when or where it runs. That it has no
// chance, environment or network is in the table of imports.
func TestR18PureRoomsHaveNoClock(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, r := range layout {
		if !r.pure {
			continue
		}
		files, err := filepath.Glob(r.dir + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			looked++
			assert.Empty(t, uses(t, file, "time", clock), file)
		}
	}
	assert.Greater(t, looked, 50)
	assert.NotEmpty(t, uses(t, "pkg/gitops/wire/network.go", "time", clock), "what it looks for is found where it is")
}

// uses returns which of some names of a package a file uses.
func uses(t *testing.T, file, pkg string, names []string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var found []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && slices.Contains(names, selector.Sel.Name) {
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == pkg {
				found = append(found, pkg+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return found
}

// check reads the imports of all Go files below root and returns a line for each that layers does not allow.
func check(root fs.FS, layers []layer) ([]string, error) {
	files, err := goFiles(root)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, r := range layers {
		if !slices.ContainsFunc(files, func(file string) bool { return path.Dir(file) == r.dir }) {
			problems = append(problems, r.dir+" is in the table but has no Go files")
		}
	}
	for _, file := range files {
		imports, err := importsOf(root, file)
		if err != nil {
			return nil, err
		}
		problems = append(problems, judge(file, imports, layers)...)
	}
	return slices.Compact(problems), nil
}

// goFiles lists the Go files of the module at root: not those of modules within, of test data, or of the root itself,
// which holds no code.
func goFiles(root fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && foreign(root, name):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ".go" && path.Dir(name) != ".":
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

func foreign(root fs.FS, dir string) bool {
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || base == "testdata" {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

func importsOf(root fs.FS, file string) ([]string, error) {
	source, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		imports = append(imports, name)
	}
	return imports, nil
}

// judge returns a line for each import that the file's layer does not allow.
func judge(file string, imports []string, layers []layer) []string {
	at := find(layers, path.Dir(file))
	if at < 0 {
		return []string{path.Dir(file) + " is not in the table"}
	}
	var problems []string
	for _, name := range imports {
		if reason := refusal(name, at, layers, layers[at].helper() || layers[at].isTool() || strings.HasSuffix(file, "_test.go")); reason != "" {
			problems = append(problems, fmt.Sprintf("%s imports %s, which %s", file, strings.TrimPrefix(name, module+"/"), reason))
		}
	}
	return problems
}

// refusal says why the layer at the given place may not import the package of that name; empty if it may.
func refusal(name string, at int, layers []layer, test bool) string {
	if dir, ours := strings.CutPrefix(name, module+"/"); ours {
		return refusalOfRoom(find(layers, dir), at, layers, test)
	}
	here := layers[at]
	switch {
	case test:
		return ""
	case !standard(name) && !below(name, here.thirdParty):
		return "is not allowed there"
	case here.pure && below(name, impure) && !below(name, harmless):
		return "a pure package may not"
	}
	return ""
}

func refusalOfRoom(other, at int, layers []layer, test bool) string {
	switch {
	case other < 0:
		return "is not in the table"
	case layers[other].helper():
		if !test {
			return "is for tests only"
		}
	case other > at:
		return "comes later"
	}
	return ""
}

func find(layers []layer, dir string) int {
	return slices.IndexFunc(layers, func(r layer) bool { return r.dir == dir })
}

// standard reports whether a package is of the standard library: only there has the first part of a path no dot.
func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// below reports whether name is one of roots or below one.
func below(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return name == root || strings.HasPrefix(name, root+"/")
	})
}
