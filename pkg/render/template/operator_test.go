package template

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"text/template"

	sprig2 "github.com/Masterminds/sprig"
	"github.com/stretchr/testify/assert"
)

// The in-cluster operator has sprig 2.22. What a template of it gives there it must give here.

// differsFromOperator says where we differ from sprig 2.22 on purpose.
var differsFromOperator = map[string]string{
	"fail":      "it never gives anything",
	"camelcase": "2.22 leaves it to the version of another library, of which ours is newer",
	"keys":      "2.22 gives the keys in a random order",
	"values":    "2.22 gives the values in a random order",
}

func operatorArguments() []any {
	return []any{
		"", "a", "b,a", "Hello World", " \t\"x'\n", "äöü", "7", "010", "0x1f", "5.5", "-3", "true", "YQ==", "a+", "1.2.3", "~1.2",
		"http://u:p@h:1/p?q#f", 0, 1, 2, 3, -1, int64(70), 2.5, -0.5, 1e18, uint8(9), true, false, nil,
		[]any{},
		[]any{"b", "a", 1, nil, "a"},
		[]string{"b", "a"},
		[]int{3, 1, 2},
		map[string]any{},
		map[string]any{"a": 1, "b": map[string]any{"c": "d"}},
		map[string]any{"b": map[string]any{"e": 2}, "scheme": "x"},
		map[string]string{"k": "v"},
	}
}

func TestFunctionsGiveWhatTheOperatorGives(t *testing.T) {
	t.Parallel()
	operator := sprig2.TxtFuncMap()
	for name := range catalogue() {
		if _, both := operator[name]; !both || differsFromOperator[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := operatorArguments()
			few := []any{"", "a", "b,a", "%d", 0, 2, -1, []any{"a", 2}, map[string]any{"a": 1}}
			compared := 0
			for _, pools := range [][][]any{nil, {all}, {all, all}, {few, few, all}, {few[:5], few[:5], few[3:], few[:3]}} {
				if takes(operator[name], len(pools)) {
					compared += compareFunction(t, name, operator, pools)
				}
			}
			assert.Positive(t, compared, "no arguments were right for %s", name)
		})
	}
}

// takes reports whether a function can be called with n arguments. With others both refuse the template.
func takes(function any, n int) bool {
	signature := reflect.TypeOf(function)
	if signature.IsVariadic() {
		return n >= signature.NumIn()-1
	}
	return n == signature.NumIn()
}

// compareFunction calls a function with every combination of arguments, there and here, and returns
// how many of them it took there.
func compareFunction(t *testing.T, name string, operator template.FuncMap, pools [][]any) int {
	t.Helper()
	text := "{{ " + name
	for i := range pools {
		text += fmt.Sprintf(" .a%d", i)
	}
	text += " }}"
	theirs := template.Must(template.New("").Funcs(operator).Parse(text))
	ours := mustParse(t, text)
	compared := 0
	combine(pools, map[string]any{}, func(data map[string]any) {
		var b bytes.Buffer
		if theirs.Execute(&b, data) != nil || strings.Contains(b.String(), ActionStart) {
			return
		}
		compared++
		got, _, err := ours.Execute(data, Bounds{})
		if err != nil || got != b.String() {
			t.Errorf("%s with %#v: %q and %v instead of %q", text, data, got, err, b.String())
		}
	})
	return compared
}

func combine(pools [][]any, data map[string]any, visit func(map[string]any)) {
	if len(data) == len(pools) {
		visit(data)
		return
	}
	key := fmt.Sprintf("a%d", len(data))
	for _, value := range pools[len(data)] {
		data[key] = value
		combine(pools, data, visit)
	}
	delete(data, key)
}

func TestVersionsCompareAsTheOperatorDoes(t *testing.T) {
	t.Parallel()
	theirs := template.Must(template.New("").Funcs(sprig2.TxtFuncMap()).Parse("{{ semverCompare .c .v }}"))
	ours := mustParse(t, "{{ semverCompare .c .v }}")
	constraints := []string{
		"1.2.3", "=1.2", "!=1.2.3", ">1.2.3", ">=1.2", "<2", "<=2.0.0", "~1.2.3", "~1", "^1.2.3", "^0.2.3", "^0.0.3", "^0", "*",
		"1.x", "1.2.x", "1.2 - 1.4", ">=1.2, <2", ">=1 || <0.5", ">=1.2.3-0", "~1.2.3-beta", "^1.2.3-beta.2", ">1.2.3-alpha", "v1.2.3",
	}
	versions := []string{
		"1.2.3", "v1.2.3", "1.2", "1", "0.2.3", "0.2.4", "0.3.0", "0.0.3", "0.0.4", "0.4.9", "1.2.4", "1.3.0", "1.4.5", "2.0.0",
		"2.0.0-rc.1", "1.2.3-beta", "1.2.3-beta.2", "1.2.3-beta.10", "1.2.4-beta", "1.3.0-alpha", "1.2.3+build", "10.0.0",
	}
	for _, constraint := range constraints {
		for _, version := range versions {
			data := map[string]any{"c": constraint, "v": version}
			var b bytes.Buffer
			if theirs.Execute(&b, data) != nil {
				continue
			}
			got, _, err := ours.Execute(data, Bounds{})
			if assert.NoError(t, err, "%s %s", constraint, version) {
				assert.Equal(t, b.String(), got, "%s %s", constraint, version)
			}
		}
	}
}
