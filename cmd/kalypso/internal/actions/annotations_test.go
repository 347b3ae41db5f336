package actions

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

func TestAnnotations(t *testing.T) {
	t.Parallel()
	here := NewWorkflow(actionsEnv(nil), nil).checkout
	for name, test := range map[string]struct {
		d    diag.Diagnostic
		want string
	}{
		"line and column": {
			diag.Diagnostic{Severity: diag.Error, Rule: "r", At: place(controlPlaneURL, "dev", "a/b.yaml", 14, 9), Message: "m"},
			"::error file=a/b.yaml,line=14,col=9,title=r::m",
		},
		"line": {
			diag.Diagnostic{Severity: diag.Warning, Rule: "r", At: place(controlPlaneURL, "dev", "b.yaml", 14, 0), Message: "m"},
			"::warning file=b.yaml,line=14,title=r::m",
		},
		"file": {
			diag.Diagnostic{Severity: diag.Notice, Rule: "r", At: place(controlPlaneURL, "dev", "b.yaml", 0, 0), Message: "m"},
			"::notice file=b.yaml,title=r::m",
		},
		"nowhere": {diag.Diagnostic{Severity: diag.Error, Rule: "r", Message: "m"}, "::error title=r::m"},
		"elsewhere": {
			diag.Diagnostic{Severity: diag.Error, Rule: "r", At: place("https://github.com/acme/app", "main", "w.yaml", 7, 27), Message: "m"},
			"::error title=r::github.com/acme/app@main:w.yaml:7:27: m",
		},
		"hint and related": {
			diag.Diagnostic{
				Severity: diag.Error, Rule: "r", At: place(controlPlaneURL, "dev", "b.yaml", 1, 1), Message: "m", Hint: "h",
				Related: []diag.Related{{At: place(controlPlaneURL, "dev", "c.yaml", 2, 3), Message: "first defined here"}, {Message: "nowhere"}},
			},
			"::error file=b.yaml,line=1,col=1,title=r::m%0Agithub.com/acme/control-plane@dev:c.yaml:2:3: first defined here%0Anowhere%0Ahint: h",
		},
		"odd path": {
			diag.Diagnostic{Severity: diag.Error, Rule: "r", At: place(controlPlaneURL, "dev", "100%,a:b.yaml", 1, 1), Message: "50%"},
			"::error file=100%25%2Ca%3Ab.yaml,line=1,col=1,title=r::50%25",
		},
		"a path that cannot be shown": {
			diag.Diagnostic{Severity: diag.Error, Rule: "r", At: place(controlPlaneURL, "dev", "a\n::error::b", 0, 0), Message: "m"},
			`::error title=r::github.com/acme/control-plane@dev:a\n::error::b: m`,
		},
		"a hostile message": {
			diag.Diagnostic{Severity: diag.Error, Rule: "r", Message: "x\n::stop-commands::y\r##[add-mask]z\x1b[31m\u202e", Hint: "\n::error::"},
			`::error title=r::x\n::stop-commands::y\r##[add-mask]z\x1b[31m\u202e%0Ahint: \n::error::`,
		},
	} {
		lines := annotations(diag.List{test.d}, here, nil)
		assert.Equal(t, []string{test.want}, lines, name)
		for _, line := range lines {
			assert.NotContains(t, line, "\n", name)
			assert.Equal(t, diag.Safe(line), line, name)
		}
	}
}

func TestAnnotationsAreFew(t *testing.T) {
	t.Parallel()
	list := func(errors, warnings, notices int) diag.List {
		var l diag.List
		for i := range errors {
			l.Error("e", diag.Place{}, fmt.Sprint(i))
		}
		for i := range warnings {
			l.Warning("w", diag.Place{}, fmt.Sprint(i))
		}
		for i := range notices {
			l.Notice("n", diag.Place{}, fmt.Sprint(i))
		}
		return l
	}
	count := func(lines []string, severity string) int {
		n := 0
		for _, line := range lines {
			if strings.HasPrefix(line, "::"+severity+" ") || strings.HasPrefix(line, "::"+severity+"::") {
				n++
			}
		}
		return n
	}
	assert.Empty(t, annotations(nil, checkout{}, nil))
	lines := annotations(list(9, 9, 9), checkout{}, nil)
	assert.Len(t, lines, 27)
	assert.Equal(t, "::error title=e::8", lines[8], "all nine fit")

	lines = annotations(list(10, 100, 30), checkout{}, nil)
	for _, severity := range []string{"error", "warning", "notice"} {
		assert.Equal(t, 9, count(lines, severity), severity)
	}
	assert.Equal(t, []string{"::error title=e::7", "::error::2 more errors in the log"}, lines[7:9])
	assert.Equal(t, "::warning::92 more warnings in the log", lines[17])
	assert.Equal(t, "::notice::22 more notices in the log", lines[26])
}

func TestAnnotationsAreShort(t *testing.T) {
	t.Parallel()
	lines := annotations(diag.List{{Severity: diag.Error, Rule: "r", Message: strings.Repeat("é", 10_000)}}, checkout{}, nil)
	require.Len(t, lines, 1)
	text := strings.TrimPrefix(lines[0], "::error title=r::")
	assert.LessOrEqual(t, len(text), maxAnnotationBytes)
	assert.True(t, utf8.ValidString(text))
	assert.True(t, strings.HasSuffix(text, "é…"))
}

func FuzzAnnotation(f *testing.F) {
	f.Add("a.yaml", "m\n::error::x", "h%0A", "r,line=3")
	f.Fuzz(func(t *testing.T, path, message, hint, rule string) {
		line := annotation(diag.Diagnostic{
			Severity: diag.Error, Rule: rule, At: place(controlPlaneURL, "dev", path, 3, 4), Message: message, Hint: hint,
		}, NewWorkflow(actionsEnv(nil), nil).checkout, nil)
		if strings.ContainsAny(line, "\r\n") {
			t.Errorf("%q is several lines", line)
		}
		info, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		for _, property := range strings.Split(strings.TrimPrefix(info, "error "), ",") {
			name, _, found := strings.Cut(property, "=")
			if !found || !slices.Contains([]string{"file", "line", "col", "title"}, name) {
				t.Errorf("%q has the property %q", line, property)
			}
		}
	})
}
