package render

import (
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lookedAt are values of all the types that templates meet, and some more.
func lookedAt() map[string]any {
	one, nothing := 1, (*int)(nil)
	return map[string]any{
		"nil": nil, "true": true, "false": false, "zero": 0, "one": 1, "int64": int64(1), "minus": -1, "uint": uint(1), "uint8": uint8(200),
		"huge": ^uint64(0), "float": 1.0, "float32": float32(0.5), "complex": complex(1, 2), "text": "a", "other": "b", "empty": "", "digits": "1",
		"list": []any{1, "a", nil}, "texts": []string{"a"}, "array": [2]int{1, 2}, "no list": []any(nil), "map": map[string]any{"a": 1, "": "e"},
		"any keys": map[any]any{1: "one", "a": "text", true: "yes"}, "int keys": map[int]string{1: "one"}, "no map": map[string]any(nil),
		"struct": struct{ A int }{1}, "pointer": &one, "nil pointer": nothing, "error": fmt.Errorf("x"), "nested": map[string]any{"a": []any{map[string]any{"b": 1}}},
	}
}

// What text/template brings and what is written here in its place give the same, errors included.
func TestLookFunctionsAreThoseOfTextTemplate(t *testing.T) {
	t.Parallel()
	values := lookedAt()
	try := func(call string) {
		theirs, theirErr := plainly(call, values)
		ours, ourErr := ourWay(t, call, values)
		require.Equal(t, theirs, ours, call)
		if strings.Contains(theirErr, "error calling index: reflect:") { // a panic: one beyond the end
			require.Contains(t, ourErr, "index out of range", call)
			return
		}
		require.Equal(t, theirErr, ourErr, call)
	}
	for a := range values {
		for b := range values {
			for _, function := range []string{"eq", "ne", "lt", "le", "gt", "ge", "index"} {
				try(fmt.Sprintf("{{ %s (index . %q) (index . %q) }}", function, a, b))
			}
		}
		try(fmt.Sprintf("{{ eq (index . %q) }}", a))
		try(fmt.Sprintf("{{ index (index . %q) }}", a))
		try(fmt.Sprintf(`{{ eq (index . %q) 2 "b" 1 }}`, a))
	}
	for _, call := range []string{
		`{{ index .nested "a" 0 "b" }}`, `{{ index .nested "a" 1 "b" }}`, `{{ index .nested "a" -1 }}`, `{{ index .nested "b" 0 }}`,
		`{{ index nil 1 }}`, `{{ index .list nil }}`, `{{ index .list 1.5 }}`, `{{ index .text 0 }}`, `{{ eq }}`, `{{ lt 1 }}`, `{{ index }}`,
		`{{ 1 | eq 1 }}`, `{{ eq 1.5 1.5 }}`, `{{ eq 'a' 97 }}`, `{{ lt "a" "b" }}`, `{{ .map.a | eq 1 | not }}`,
	} {
		try(call)
	}
}

// plainly renders with what text/template brings.
func plainly(text string, data any) (result, problem string) {
	parsed, err := template.New("t").Parse(text)
	if err != nil {
		return "", err.Error()
	}
	var b strings.Builder
	if err := parsed.Execute(&b, data); err != nil {
		return "", err.Error()
	}
	return b.String(), ""
}

// ourWay renders the same with our functions in their place.
func ourWay(t *testing.T, text string, data any) (result, problem string) {
	t.Helper()
	functions := template.FuncMap{}
	for _, f := range lookFunctions() {
		f.prepare()
		r := &run{}
		r.reset(Bounds{})
		functions[f.name] = f.bind(r)
	}
	parsed, err := template.New("t").Funcs(functions).Parse(text)
	if err != nil {
		return "", err.Error()
	}
	var b strings.Builder
	if err := parsed.Execute(&b, data); err != nil {
		return "", err.Error()
	}
	return b.String(), ""
}

// What looks at a long text pays for its length.
func TestS8LookingAtLongTextsIsCounted(t *testing.T) {
	t.Parallel()
	const long = `{{ $x := repeat 100000 "a" }}{{ $y := repeat 100000 "a" }}{{ $m := dict $x 1 }}`
	for _, call := range []string{
		"eq $x $y", "eq 1 1", "ne $x $y", "lt $x $y", "le $x $y", "gt $x $y", "ge $x $y", `eq $x "b" $y`, "index $m $x",
		"hasKey $m $x", "get $m $x", `dig $x "" $m`, "int $x", "float64 $x", "add 1 $x", "atoi $x", "typeIsLike $x 1",
	} {
		_, _, err := mustParse(t, long+"{{ range 10 }}{{ $z := "+call+" }}{{ end }}").Execute(nil, Bounds{Steps: 10_000})
		if call == "eq 1 1" {
			require.NoError(t, err, call)
			continue
		}
		require.Error(t, err, call)
		assert.Equal(t, ruleTooLong, asExecError(err).Rule, call)
	}
}
