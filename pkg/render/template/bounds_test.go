package template

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bombs are templates that would take for ever or eat all memory.
func bombs() map[string]string {
	return map[string]string{
		"a loop that does nothing":            `{{ range 300000000 }}{{ end }}`,
		"a loop with a long body":             "{{ range 249000 }}" + strings.Repeat("{{ $x := 1 }}", 900) + "{{ end }}",
		"loops in loops":                      `{{ range 30000 }}{{ range 30000 }}{{ range 30000 }}{{ end }}{{ end }}{{ end }}`,
		"a loop that continues":               `{{ range 300000000 }}{{ continue }}{{ end }}`,
		"a loop over a function's list":       `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`,
		"a template that calls itself":        `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
		"a template that calls itself twice":  `{{ define "a" }}{{ if gt . 0 }}{{ template "a" (sub . 1 | int) }}{{ template "a" (sub . 1 | int) }}{{ end }}{{ end }}{{ template "a" 900 }}`,
		"the text calls itself":               `{{ template "(text)" . }}`,
		"two templates call each other":       `{{ define "a" }}{{ template "b" }}{{ end }}{{ define "b" }}{{ template "a" }}{{ end }}{{ template "a" }}`,
		"a chain of doubling templates":       doublingTemplates(30),
		"a long text twice":                   `{{ $x := repeat 300000000 "a" }}{{ $y := repeat 300000000 "a" }}`,
		"a long text, often":                  `{{ range 100000 }}{{ $x := repeat 1000000 "a" }}{{ end }}`,
		"a text that doubles":                 `{{ $x := "a" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`,
		"a text that doubles by joining":      `{{ $x := "a" }}{{ range 40 }}{{ $x = join $x (list $x $x $x) }}{{ end }}`,
		"a text that doubles by replacing":    `{{ $x := "aa" }}{{ range 40 }}{{ $x = replace "a" $x $x }}{{ end }}`,
		"a list that doubles":                 `{{ $x := list 1 }}{{ range 40 }}{{ $x = concat $x $x }}{{ end }}`,
		"a list of itself twice":              `{{ $x := list 1 }}{{ range 90 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`,
		"a map of itself twice":               `{{ $x := dict }}{{ range 90 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ toYaml $x }}`,
		"a map of itself twice, copied":       `{{ $x := dict }}{{ range 90 }}{{ $x = merge (dict "a" $x) (dict "b" $x) }}{{ end }}{{ toJson $x }}`,
		"a list in a list in a list":          `{{ $x := list }}{{ range 100000 }}{{ $x = list $x }}{{ end }}{{ toYaml $x }}`,
		"a long list":                         `{{ until 300000000 }}`,
		"a long list downwards":               `{{ until -300000000 }}`,
		"a long list by steps":                `{{ untilStep -4611686018427387904 4611686018427387904 1 }}`,
		"a list that steps over its end":      `{{ untilStep 0 9223372036854775807 4611686018427387904 }}`,
		"a long sequence":                     `{{ seq 1 300000000 }}`,
		"deep indentation":                    `{{ indent 300000000 "a" }}`,
		"deep indentation of many lines":      `{{ nindent 10000 (repeat 10000 "\n") }}`,
		"wrapping with a long text":           `{{ wrapWith 1 (repeat 1000 "x") (repeat 100000 "a") }}`,
		"splitting into characters":           `{{ split "" (repeat 1000000 "a") }}`,
		"padding":                             `{{ printf "%1000000d%1000000d" 1 2 }}`,
		"padding by an argument":              `{{ printf "%*d%*d" 1000000 1 1000000 2 }}`,
		"padding every item":                  `{{ printf "%1000d" (until 100000) }}`,
		"padding again and again":             `{{ range 100000 }}{{ $x := printf "%1000000d" 1 }}{{ end }}`,
		"an argument printed again and again": `{{ printf (repeat 10000 "%[1]s") (repeat 100000 "a") }}`,
		"a replacement of matches by matches": `{{ regexReplaceAll "a+" (repeat 100000 "a") (repeat 1000 "$0") }}`,
		"a replacement between all bytes":     `{{ regexReplaceAllLiteral "" (repeat 100000 "a") (repeat 1000 "b") }}`,
		"a large expression":                  `{{ regexMatch "(((a{30}){30}){1}|(b{30}){30})*c" (repeat 1000000 "a") }}`,
		"a large expression, often":           `{{ range 100000 }}{{ $x := regexMatch "(a{30}){30}" "a" }}{{ end }}`,
		"many compared with many":             `{{ uniq (until 100000) }}`,
		"large output":                        `{{ range 1000000 }}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{{ end }}`,
		"large output by a value":             `{{ range 1000000 }}{{ $.ConfigData.list }}{{ end }}`,
		"nested text that doubles":            `{{ .ConfigData.doubling }}`,
		"nested text that grows":              `{{ $x := "{{ .ConfigData.doubling }}" }}{{ repeat 10000 $x }}`,
		"nested text that loops":              `{{ "{{ range 300000000 }}{{ end }}" }}`,
		"sorting a map in a loop":             `{{ $m := dict }}{{ range until 5000 }}{{ $m = merge $m (dict (toString .) .) }}{{ end }}`,
		"a decoded bomb":                      `{{ print (repeat 5000 "[") (repeat 5000 "]") | fromJson }}`,
		"comparing long texts":                `{{ $x := repeat 1000000 "a" }}{{ $y := repeat 1000000 "a" }}{{ range 200000 }}{{ if le $x $y }}{{ end }}{{ end }}`,
		"looking up a long key":               `{{ $x := repeat 1000000 "a" }}{{ $m := dict "a" 1 }}{{ range 200000 }}{{ if index $m $x }}{{ end }}{{ end }}`,
		"reading a long number":               `{{ $x := repeat 1000000 "9" }}{{ range 200000 }}{{ $y := float64 $x }}{{ end }}`,
		"maps without number":                 `{{ range 249000 }}{{ $x := dict "a" (dict "b" 2) }}{{ end }}`,
		"versions without number":             `{{ range 249000 }}{{ $x := semverCompare "^1.2.3 || ~2.3 || >4" "1.2.3" }}{{ end }}`,
		"writing deep values":                 `{{ $x := list }}{{ range 99 }}{{ $x = list $x }}{{ end }}{{ range 100000 }}{{ $y := toYaml $x }}{{ end }}`,
		"decoding again and again":            `{{ $x := printf "[%s1]" (repeat 20000 "1,") }}{{ range 1000000 }}{{ $y := fromJson $x }}{{ end }}`,
	}
}

func doublingTemplates(n int) string {
	var b strings.Builder
	b.WriteString(`{{ define "t0" }}{{ end }}`)
	for i := range n {
		fmt.Fprintf(&b, `{{ define "t%d" }}{{ template "t%d" }}{{ template "t%d" }}{{ end }}`, i+1, i, i)
	}
	fmt.Fprintf(&b, `{{ template "t%d" }}`, n)
	return b.String()
}

func TestS8BombsFailFastAndSmall(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program, whatever GOGC says
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			template := mustParse(t, text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			result, _, err := template.Execute(newEngineData(), bombBounds(name))
			elapsed := time.Since(start)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			assert.Empty(t, result)
			assert.NotEmpty(t, asError(err).Rule)
			// No limit on the time, which says as much about the machine: one that hangs ends the tests.
			assert.Less(t, after.Sys, before.Sys+256<<20)
			if testing.Verbose() {
				t.Logf("%v, %d MiB in all: %v", elapsed, (after.TotalAlloc-before.TotalAlloc)>>20, err)
			}
		})
	}
}

// bombBounds are the default ones, but for the race detector, with which each step takes many times as
// long: there a tenth of the steps shows the same, as it does for bombs that keep nothing from one step to the next.
func bombBounds(bomb string) Bounds {
	keepsNothing := slices.Contains([]string{
		"a loop that continues", "a template that calls itself twice", "large output by a value", "reading a long number", "maps without number",
		"versions without number", "writing deep values", "decoding again and again",
	}, bomb)
	if raceDetector || keepsNothing {
		return Bounds{Steps: DefaultSteps / share(10, 1)}
	}
	return Bounds{}
}

// text/template looks for a variable among all that there are.
func TestS8ManyVariables(t *testing.T) {
	t.Parallel()
	_, problems := Parse(blockAt(strings.Repeat("{{ $x := 1 }}", 1000)))
	require.Empty(t, problems)
	_, problems = Parse(blockAt(strings.Repeat("{{ $x := 1 }}", 1001)))
	require.Len(t, problems, 1)
	require.Equal(t, "the template has more than 1000 variables (:=)", problems[0].Message)
}

func TestBoundsAreCountedNotTimed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		bounds     Bounds
		want       string
	}{
		{"as many steps as there are", `{{ range 9 }}{{ end }}`, Bounds{Steps: 10}, ""},
		{
			"one more", `{{ range 10 }}{{ end }}`,
			Bounds{Steps: 10},
			"the template takes more than 10 steps, the last in the range in line 1",
		},
		{
			"a template is a step", `{{ define "a" }}{{ end }}{{ template "a" }}{{ template "a" }}`,
			Bounds{Steps: 2},
			`the template takes more than 2 steps, the last in template "a"`,
		},
		{
			"a long body is many steps", "{{ range 9 }}" + strings.Repeat("{{ $x := 1 }}", 40) + "{{ end }}",
			Bounds{Steps: 100},
			"the template takes more than 100 steps, the last in the range in line 1",
		},
		{"as many bytes as there are", `12345{{ "67890" }}`, Bounds{Bytes: 10}, ""},
		{"one byte more", `12345{{ "678901" }}`, Bounds{Bytes: 10}, "the result is larger than 10 bytes"},
		{"text without actions", `12345678901`, Bounds{Bytes: 10}, "the result is larger than 10 bytes"},
		{"a value as large as may be", `{{ $x := repeat 10 "a" }}`, Bounds{Bytes: 10}, ""},
		{"a value one larger", `{{ $x := repeat 11 "a" }}`, Bounds{Bytes: 10}, "repeat returns a value of more than 10 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			template := mustParse(t, test.text)
			for range 3 {
				_, _, err := template.Execute(nil, test.bounds)
				if test.want == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, test.want)
				}
			}
		})
	}
}

func TestRealTemplatesStayFarFromTheBounds(t *testing.T) {
	t.Parallel()
	d := newEngineData()
	config := map[string]any{}
	for i := range 300 {
		config[fmt.Sprintf("key-%03d", i)] = map[string]any{"name": strings.Repeat("v", 50), "list": []any{"a", "b", i}}
	}
	d.ConfigData = config
	for _, text := range []string{
		"{{ toYaml .ConfigData | indent 4 }}\n{{ hash .ConfigData }}\n{{ stringify .ConfigData | nindent 2 }}",
		`{{ range $k, $v := .ConfigData }}{{ $k }}={{ $v.name | quote | replace "v" "ww" }}{{ end }}`,
		`{{ $l := list }}{{ range $k, $v := .ConfigData }}{{ $l = append $l $v }}{{ end }}{{ toYaml $l }}`,
		`{{ $d := dict }}{{ range $k, $v := .ConfigData }}{{ $d = merge $d (dict $k $v.name) }}{{ end }}{{ len $d }}`,
		`{{ range $k, $v := .ConfigData }}{{ if regexMatch "^[a-z]+-[0-9]{3}$" $k }}{{ $k }}{{ end }}{{ end }}`,
	} {
		_, missing, err := mustParse(t, text).Execute(d, Bounds{})
		require.NoError(t, err, text)
		assert.Empty(t, missing)
	}
}

func TestSizesOfLists(t *testing.T) {
	t.Parallel()
	const huge = math.MaxInt64
	assert.InDelta(t, 4.5*nodeWeight, listSize(0, 7, 2), 0)
	assert.InDelta(t, 4.5*nodeWeight, listSize(7, 0, -2), 0)
	assert.Zero(t, listSize(0, 7, 0))
	assert.True(t, math.IsInf(listSize(0, huge, huge/2), 1))
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
		assert.Equal(t, ruleTooLong, asError(err).Rule, call)
	}
}
