package template

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	sprig3 "github.com/Masterminds/sprig/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// allowedFunctions is the whole list of functions that templates may call. A new one is a decision:
// it must be pure and give the same on every machine.
const allowedFunctions = `
abbrev abbrevboth add add1 add1f addf adler32sum all and any append atoi b32dec b32enc b64dec
b64enc base biggest call camelcase cat ceil chunk clean coalesce compact concat contains deepCopy
deepEqual default dict dig dir div divf duration durationRound empty eq ext fail first float64
floor fromJson ge get gt has hasKey hasPrefix hasSuffix hash hello html indent index initial
initials int int64 isAbs join js kebabcase keys kindIs kindOf last le len list lower lt max maxf
merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact mustDeepCopy mustFirst
mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush
mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral
mustRegexSplit mustRest mustReverse mustSlice mustToJson mustToPrettyJson mustToRawJson mustUniq
mustWithout ne nindent nospace not omit or pick pluck plural prepend print printf println push
quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral
regexSplit repeat replace rest reverse round semver semverCompare seq sha1sum sha256sum sha512sum
slice snakecase sortAlpha split splitList splitn squote stringify sub subf substr swapcase ternary
title toDecimal toJson toPrettyJson toRawJson toString toStrings toYaml trim trimAll trimPrefix
trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unquote until untilStep untitle upper
urlJoin urlParse urlquery values without wrap wrapWith
`

func TestS1AllowedFunctionsAreFrozen(t *testing.T) {
	t.Parallel()
	assert.Equal(t, strings.Fields(allowedFunctions), functionNames())
}

func TestS1EveryFunctionOfSprigIsAllowedOrForbidden(t *testing.T) {
	t.Parallel()
	forbidden := forbiddenFunctions()
	for name := range sprig3.TxtFuncMap() {
		_, isForbidden := forbidden[name]
		_, isAllowed := catalogue()[name]
		assert.NotEqual(t, isAllowed, isForbidden, "function %s: decide", name)
	}
	for name, why := range forbidden {
		assert.Contains(t, sprig3.TxtFuncMap(), name)
		assert.NotEmpty(t, why.reason, name)
		assert.NotEmpty(t, why.hint, name)
	}
}

func TestS1ForbiddenFunctionsSayWhy(t *testing.T) {
	t.Parallel()
	for name := range forbiddenFunctions() {
		_, problems := Parse(blockAt("{{ " + name + " }}"))
		require.Len(t, problems, 1, name)
		assert.Equal(t, "forbidden-function", problems[0].Rule)
		assert.Contains(t, problems[0].Message, `function "`+name+`" is not allowed: it`)
		assert.NotEmpty(t, problems[0].Hint)
	}
	for _, name := range []string{"tpl", "include", "required", "lookup", "toToml", "fromYaml"} {
		_, problems := Parse(blockAt("{{ " + name + " }}"))
		require.Len(t, problems, 1, name)
		assert.Equal(t, "unknown-function", problems[0].Rule)
		assert.Contains(t, problems[0].Hint, "Helm", name)
	}
}

func TestS1TheEnvironmentChangesNothing(t *testing.T) {
	text := everyFunctionOnce()
	want := evaluate(t, text)
	for _, name := range []string{"HOME", "PATH", "LANG", "LC_ALL", "GOOS", "GITHUB_TOKEN", "USER"} {
		t.Setenv(name, "poison")
	}
	t.Setenv("TZ", "Asia/Kathmandu")
	assert.Equal(t, want, evaluate(t, text))
	assert.NotContains(t, want, "poison")
}

func TestS1TwoHundredRunsGiveTheSame(t *testing.T) {
	t.Parallel()
	calls := functionCalls()
	names := slices.Sorted(maps.Keys(calls))
	parsed, want := map[string]*Template{}, map[string]string{}
	for _, name := range names {
		parsed[name], want[name] = mustParse(t, calls[name]), evaluate(t, calls[name])
	}
	random := rand.New(rand.NewPCG(1, 2))
	d := newEngineData()
	for range 200 {
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			got, _, err := parsed[name].Execute(d, Bounds{})
			if err != nil || got != want[name] {
				t.Fatalf("%s: %q and %v instead of %q", name, got, err, want[name])
			}
		}
	}
}

// everyFunctionOnce is a template that calls all functions.
func everyFunctionOnce() string {
	calls := functionCalls()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		b.WriteString(name + ": " + calls[name] + "\n")
	}
	return b.String()
}

// functionCalls has a template for every function, with what it gives in TestEveryFunction.
func functionCalls() map[string]string {
	calls := map[string]string{}
	for name, test := range functionTests() {
		calls[name] = test.text
	}
	return calls
}

type functionTest struct{ text, want string }

func functionTests() map[string]functionTest {
	deep := `(dict "b" (list 2 "two") "a" (dict "x" 1.5))`
	return map[string]functionTest{
		"abbrev":         {`{{ abbrev 5 "hello world" }}`, "he..."},
		"abbrevboth":     {`{{ abbrevboth 5 10 "1234 5678 9123" }}`, "...5678..."},
		"add":            {`{{ add 1 "2" 3.9 }}`, "6"},
		"add1":           {`{{ add1 "010" }}`, "11"},
		"add1f":          {`{{ add1f 1.5 }}`, "2.5"},
		"addf":           {`{{ addf 1.5 2 0.1 }}`, "3.6"},
		"adler32sum":     {`{{ adler32sum "a" }}`, "6422626"},
		"all":            {`{{ all 1 "" }}`, "false"},
		"and":            {`{{ and 1 0 }}`, "0"},
		"any":            {`{{ any 1 "" }}`, "true"},
		"append":         {`{{ append (list 1) 2 }}`, "[1 2]"},
		"atoi":           {`{{ atoi "12" }}`, "12"},
		"b32dec":         {`{{ b32dec "ME======" }}`, "a"},
		"b32enc":         {`{{ b32enc "a" }}`, "ME======"},
		"b64dec":         {`{{ b64dec "YQ==" }}`, "a"},
		"b64enc":         {`{{ b64enc "a" }}`, "YQ=="},
		"base":           {`{{ base "a/b" }}`, "b"},
		"biggest":        {`{{ biggest 1 3 2 }}`, "3"},
		"call":           {`{{ if false }}{{ call .Workload }}{{ end }}`, ""},
		"camelcase":      {`{{ camelcase "http_server" }}`, "HttpServer"},
		"cat":            {`{{ cat "a" nil 1 }}`, "a 1"},
		"ceil":           {`{{ ceil 1.1 }}`, "2"},
		"chunk":          {`{{ chunk 2 (list 1 2 3) }}`, "[[1 2] [3]]"},
		"clean":          {`{{ clean "a/../b/" }}`, "b"},
		"coalesce":       {`{{ coalesce 0 "" "x" }}`, "x"},
		"compact":        {`{{ compact (list 0 1 "") }}`, "[1]"},
		"concat":         {`{{ concat (list 1) (list 2) }}`, "[1 2]"},
		"contains":       {`{{ contains "a" "cat" }}`, "true"},
		"deepCopy":       {`{{ deepCopy ` + deep + ` }}`, "map[a:map[x:1.5] b:[2 two]]"},
		"deepEqual":      {`{{ deepEqual (list 1) (list 1) }}`, "true"},
		"default":        {`{{ default "d" "" }}`, "d"},
		"dict":           {`{{ dict "b" 1 "a" 2 "c" }}`, "map[a:2 b:1 c:]"},
		"dig":            {`{{ dig "a" "x" 0 ` + deep + ` }}`, "1.5"},
		"dir":            {`{{ dir "a/b" }}`, "a"},
		"div":            {`{{ div 7 2 }}`, "3"},
		"divf":           {`{{ divf 7 2 }}`, "3.5"},
		"duration":       {`{{ duration "90" }}`, "1m30s"},
		"durationRound":  {`{{ durationRound "26h" }}`, "1d"},
		"empty":          {`{{ empty "" }}`, "true"},
		"eq":             {`{{ eq 1 2 1 }}`, "true"},
		"ext":            {`{{ ext "a.b" }}`, ".b"},
		"fail":           {`{{ if false }}{{ fail "x" }}{{ end }}`, ""},
		"first":          {`{{ first (list 1 2) }}`, "1"},
		"float64":        {`{{ float64 "1.5" }}`, "1.5"},
		"floor":          {`{{ floor 1.9 }}`, "1"},
		"fromJson":       {`{{ fromJson "{\"b\":[1],\"a\":null}" }}`, "map[a:<nil> b:[1]]"},
		"ge":             {`{{ ge 1 1 }}`, "true"},
		"get":            {`{{ get (dict "a" 1) "a" }}`, "1"},
		"gt":             {`{{ gt 1 1 }}`, "false"},
		"has":            {`{{ has 1 (list 1) }}`, "true"},
		"hasKey":         {`{{ hasKey (dict "a" 1) "a" }}`, "true"},
		"hasPrefix":      {`{{ hasPrefix "a" "ab" }}`, "true"},
		"hasSuffix":      {`{{ hasSuffix "a" "ab" }}`, "false"},
		"hash":           {`{{ hash "v" }}`, "12638153115695167401"},
		"hello":          {`{{ hello }}`, "Hello!"},
		"html":           {`{{ html "<a>" }}`, "&lt;a&gt;"},
		"indent":         {`{{ indent 2 "a\n\nb" }}`, "  a\n  \n  b"},
		"index":          {`{{ index (list 1 2) 1 }}`, "2"},
		"initial":        {`{{ initial (list 1 2) }}`, "[1]"},
		"initials":       {`{{ initials "First Try" }}`, "FT"},
		"int":            {`{{ int "0777" }}`, "777"},
		"int64":          {`{{ int64 1e300 }}`, "-9223372036854775808"},
		"isAbs":          {`{{ isAbs "/a" }}`, "true"},
		"join":           {`{{ join "," (list 1 nil "a") }}`, "1,a"},
		"js":             {`{{ js "'" }}`, `\'`},
		"kebabcase":      {`{{ kebabcase "FirstName" }}`, "first-name"},
		"keys":           {`{{ keys ` + deep + ` (dict "0" 1) }}`, "[a b 0]"},
		"kindIs":         {`{{ kindIs "map" dict }}`, "true"},
		"kindOf":         {`{{ kindOf (list) }}`, "slice"},
		"last":           {`{{ last (list 1 2) }}`, "2"},
		"le":             {`{{ le 1 1 }}`, "true"},
		"len":            {`{{ len "abc" }}`, "3"},
		"list":           {`{{ list 1 "a" }}`, "[1 a]"},
		"lower":          {`{{ lower "A" }}`, "a"},
		"lt":             {`{{ lt 1 1 }}`, "false"},
		"max":            {`{{ max 1 3 2 }}`, "3"},
		"maxf":           {`{{ maxf 1 2.5 }}`, "2.5"},
		"merge":          {`{{ merge (dict "a" 1) (dict "a" 2 "b" 3) }}`, "map[a:1 b:3]"},
		"mergeOverwrite": {`{{ mergeOverwrite (dict "a" 1) (dict "a" 2 "b" 3) }}`, "map[a:2 b:3]"},
		"min":            {`{{ min 2 1 3 }}`, "1"},
		"minf":           {`{{ minf 1.5 2 }}`, "1.5"},
		"mod":            {`{{ mod 7 4 }}`, "3"},
		"mul":            {`{{ mul 2 3 4 }}`, "24"},
		"mulf":           {`{{ mulf 1.5 2 }}`, "3"},
		"mustAppend":     {`{{ mustAppend (list 1) 2 }}`, "[1 2]"},
		"mustChunk":      {`{{ mustChunk 2 (list 1 2 3) }}`, "[[1 2] [3]]"},
		"mustCompact":    {`{{ mustCompact (list 0 1) }}`, "[1]"},
		"mustDeepCopy":   {`{{ mustDeepCopy (list 1) }}`, "[1]"},
		"mustFirst":      {`{{ mustFirst (list 1 2) }}`, "1"},
		"mustFromJson":   {`{{ mustFromJson "[1]" }}`, "[1]"},
		"mustHas":        {`{{ mustHas 1 (list 1) }}`, "true"},
		"mustInitial":    {`{{ mustInitial (list 1 2) }}`, "[1]"},
		"mustLast":       {`{{ mustLast (list 1 2) }}`, "2"},
		"mustMerge":      {`{{ mustMerge (dict "a" 1) (dict "a" 2 "b" 3) }}`, "map[a:1 b:3]"},
		"mustMergeOverwrite": {
			`{{ mustMergeOverwrite (dict "a" 1) (dict "a" 2 "b" 3) }}`, "map[a:2 b:3]",
		},
		"mustPrepend":                {`{{ mustPrepend (list 1) 0 }}`, "[0 1]"},
		"mustPush":                   {`{{ mustPush (list 1) 2 }}`, "[1 2]"},
		"mustRegexFind":              {`{{ mustRegexFind "a+" "baab" }}`, "aa"},
		"mustRegexFindAll":           {`{{ mustRegexFindAll "a" "aba" -1 }}`, "[a a]"},
		"mustRegexMatch":             {`{{ mustRegexMatch "^a$" "a" }}`, "true"},
		"mustRegexReplaceAll":        {`{{ mustRegexReplaceAll "(a)" "ba" "$1$1" }}`, "baa"},
		"mustRegexReplaceAllLiteral": {`{{ mustRegexReplaceAllLiteral "a" "ba" "$1" }}`, "b$1"},
		"mustRegexSplit":             {`{{ mustRegexSplit "," "a,b" -1 }}`, "[a b]"},
		"mustRest":                   {`{{ mustRest (list 1 2) }}`, "[2]"},
		"mustReverse":                {`{{ mustReverse (list 1 2) }}`, "[2 1]"},
		"mustSlice":                  {`{{ mustSlice (list 1 2 3) 1 2 }}`, "[2]"},
		"mustToJson":                 {`{{ mustToJson "<" }}`, `"\u003c"`},
		"mustToPrettyJson":           {`{{ mustToPrettyJson (list 1) }}`, "[\n  1\n]"},
		"mustToRawJson":              {`{{ mustToRawJson "<" }}`, `"<"`},
		"mustUniq":                   {`{{ mustUniq (list 1 1) }}`, "[1]"},
		"mustWithout":                {`{{ mustWithout (list 1 2) 1 }}`, "[2]"},
		"ne":                         {`{{ ne 1 2 }}`, "true"},
		"nindent":                    {`{{ nindent 2 "a" }}`, "\n  a"},
		"nospace":                    {`{{ nospace "a b" }}`, "ab"},
		"not":                        {`{{ not 0 }}`, "true"},
		"omit":                       {`{{ omit (dict "a" 1 "b" 2) "a" }}`, "map[b:2]"},
		"or":                         {`{{ or 0 2 }}`, "2"},
		"pick":                       {`{{ pick (dict "a" 1 "b" 2) "a" }}`, "map[a:1]"},
		"pluck":                      {`{{ pluck "a" (dict "a" 1) (dict "a" 2) }}`, "[1 2]"},
		"plural":                     {`{{ plural "one" "many" 2 }}`, "many"},
		"prepend":                    {`{{ prepend (list 1) 0 }}`, "[0 1]"},
		"print":                      {`{{ print 1 2 "a" }}`, "1 2a"},
		"printf":                     {`{{ printf "%05d|%-3s|%[1]v" 7 "a" }}`, "00007|a  |7"},
		"println":                    {`{{ println 1 "a" }}`, "1 a\n"},
		"push":                       {`{{ push (list 1) 2 }}`, "[1 2]"},
		"quote":                      {`{{ quote "a\"b" nil 1 }}`, `"a\"b" "1"`},
		"regexFind":                  {`{{ regexFind "a+" "baab" }}`, "aa"},
		"regexFindAll":               {`{{ regexFindAll "a" "aba" 1 }}`, "[a]"},
		"regexMatch":                 {`{{ regexMatch "(" "a" }}`, "false"},
		"regexQuoteMeta":             {`{{ regexQuoteMeta "a.b" }}`, `a\.b`},
		"regexReplaceAll":            {`{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }}`, "-W-xxW-"},
		"regexReplaceAllLiteral":     {`{{ regexReplaceAllLiteral "a" "ba" "$1" }}`, "b$1"},
		"regexSplit":                 {`{{ regexSplit "z" "pizza" -1 }}`, "[pi  a]"},
		"repeat":                     {`{{ repeat 3 "a" }}`, "aaa"},
		"replace":                    {`{{ replace "a" "bb" "banana" }}`, "bbbnbbnbb"},
		"rest":                       {`{{ rest (list 1 2) }}`, "[2]"},
		"reverse":                    {`{{ reverse (list 1 2) }}`, "[2 1]"},
		"round":                      {`{{ round 1.2355 2 }}`, "1.24"},
		"semver":                     {`{{ (semver "v1.2.3-a").Minor }}{{ semver "1.2" }}`, "21.2.0"},
		"semverCompare":              {`{{ semverCompare "^1.2.0" "1.3.0" }}`, "true"},
		"seq":                        {`{{ seq 2 -2 -2 }}`, "2 0 -2"},
		"sha1sum":                    {`{{ sha1sum "a" | trunc 6 }}`, "86f7e4"},
		"sha256sum":                  {`{{ sha256sum "a" | trunc 6 }}`, "ca9781"},
		"sha512sum":                  {`{{ sha512sum "a" | trunc 6 }}`, "1f40fc"},
		"slice":                      {`{{ slice (list 1 2 3) 1 }}`, "[2 3]"},
		"snakecase":                  {`{{ snakecase "FirstName" }}`, "first_name"},
		"sortAlpha":                  {`{{ sortAlpha (list "b" "a") }}`, "[a b]"},
		"split":                      {`{{ (split "." "a.b")._1 }}`, "b"},
		"splitList":                  {`{{ splitList "." "a.b" }}`, "[a b]"},
		"splitn":                     {`{{ (splitn "." 2 "a.b.c")._1 }}`, "b.c"},
		"squote":                     {`{{ squote "a" 1 }}`, "'a' '1'"},
		"stringify":                  {`{{ stringify ` + deep + ` }}`, "a: 'x: 1.5'\nb: |\n    - 2\n    - two"},
		"sub":                        {`{{ sub 3 1 }}`, "2"},
		"subf":                       {`{{ subf 3 1.5 }}`, "1.5"},
		"substr":                     {`{{ substr 1 3 "abcd" }}`, "bc"},
		"swapcase":                   {`{{ swapcase "aB" }}`, "Ab"},
		"ternary":                    {`{{ ternary "a" "b" true }}`, "a"},
		"title":                      {`{{ title "a b" }}`, "A B"},
		"toDecimal":                  {`{{ toDecimal "777" }}`, "511"},
		"toJson":                     {`{{ toJson .ConfigData.mixed }}{{ toJson ` + deep + ` }}`, `{"2":"two","x":1}{"a":{"x":1.5},"b":[2,"two"]}`},
		"toPrettyJson":               {`{{ toPrettyJson (dict "a" 1) }}`, "{\n  \"a\": 1\n}"},
		"toRawJson":                  {`{{ toRawJson "<" }}`, `"<"`},
		"toString":                   {`{{ toString 1.50 }}`, "1.5"},
		"toStrings":                  {`{{ toStrings (list 1 nil) }}`, "[1]"},
		"toYaml":                     {`{{ toYaml ` + deep + ` }}`, "a:\n    x: 1.5\nb:\n    - 2\n    - two"},
		"trim":                       {`{{ trim " a " }}`, "a"},
		"trimAll":                    {`{{ trimAll "$" "$a$" }}`, "a"},
		"trimPrefix":                 {`{{ trimPrefix "-" "-a" }}`, "a"},
		"trimSuffix":                 {`{{ trimSuffix "-" "a-" }}`, "a"},
		"trimall":                    {`{{ trimall "$" "$a$" }}`, "a"},
		"trunc":                      {`{{ trunc 2 "abc" }}{{ trunc -1 "abc" }}`, "abc"},
		"tuple":                      {`{{ tuple 1 2 }}`, "[1 2]"},
		"typeIs":                     {`{{ typeIs "int" 1 }}`, "true"},
		"typeIsLike":                 {`{{ typeIsLike "int" 1 }}`, "true"},
		"typeOf":                     {`{{ typeOf .ConfigData }}`, "map[string]interface {}"},
		"uniq":                       {`{{ uniq (list 1 1 2) }}`, "[1 2]"},
		"unquote":                    {`{{ unquote " \"'a'\" " }}`, "a"},
		"until":                      {`{{ until 3 }}{{ until -2 }}`, "[0 1 2][0 -1]"},
		"untilStep":                  {`{{ untilStep 1 6 2 }}`, "[1 3 5]"},
		"untitle":                    {`{{ untitle "First" }}`, "first"},
		"upper":                      {`{{ upper "a" }}`, "A"},
		"urlJoin":                    {`{{ urlJoin (dict "scheme" "http" "host" "h" "path" "/p") }}`, "http://h/p"},
		"urlParse":                   {`{{ (urlParse "http://u@h:1/p?q").hostname }}`, "h"},
		"urlquery":                   {`{{ urlquery "a b" }}`, "a+b"},
		"values":                     {`{{ values ` + deep + ` }}`, "[map[x:1.5] [2 two]]"},
		"without":                    {`{{ without (list 1 2) 1 }}`, "[2]"},
		"wrap":                       {`{{ wrap 5 "hello world" }}`, "hello\nworld"},
		"wrapWith":                   {`{{ wrapWith 5 "|" "helloworld" }}`, "hello|world"},
	}
}

func TestEveryFunction(t *testing.T) {
	t.Parallel()
	tests := functionTests()
	assert.Equal(t, functionNames(), slices.Sorted(maps.Keys(tests)), "every allowed function has a test")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, evaluate(t, test.text))
		})
	}
}

func TestFunctionErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{ toJson (list (div 1 1) (float64 "NaN")) }}`:                "toJson: json: unsupported value: NaN",
		`{{ toJson (dict "a" .Workload) | fromJson | toYaml | fail }}`: "a: hello",
		`{{ chunk 0 (list 1) }}`:                                       "chunk: chunk size 0 is not above 0",
		`{{ mod 1 "x" }}`:                                              "mod: division by zero",
		`{{ first "a" }}`:                                              "first: Cannot find first on type string",
		`{{ repeat -1 "a" }}`:                                          "repeat: strings: negative Repeat count",
		`{{ mustRegexMatch "(" "a" }}`:                                 "mustRegexMatch: error parsing regexp: missing closing ): `(`",
		`{{ addf (float64 "Inf") 1 }}`:                                 "addf: Cannot create a Decimal from +Inf",
		`{{ dig "a" }}`:                                                "dig: dig needs at least three arguments",
		`{{ slice (list 1 2) 5 }}`:                                     "slice: reflect.Value.Slice: slice index out of bounds",
		`{{ urlParse "http://[" }}`:                                    `urlParse: unable to parse url: parse "http://[": missing ']' in host`,
		`{{ semver "x" }}`:                                             "semver: Invalid Semantic Version",
		`{{ printf "%s%p" "a" "b" }}`:                                  `the verb "%p" of printf is not allowed: it prints an address, which differs in every run`,
		`{{ printf "%d" . }}`:                                          "printf: argument 1 is a *template.engineData, which cannot be printed",
		`{{ toJson (dict "a" .ConfigData.loose "b" .ConfigData.mixed) | fail }}`: `{"a":{"x":1,"y":[true]},"b":{"2":"two","x":1}}`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			_, _, err := mustParse(t, text).Execute(newEngineData(), Bounds{})
			require.Error(t, err)
			assert.Equal(t, want, err.Error())
		})
	}
}

func TestYAMLTextReportsWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	d := map[string]any{"f": func() {}}
	_, _, err := mustParse(t, `{{ toYaml .f }}`).Execute(d, Bounds{})
	require.Error(t, err)
	assert.Equal(t, "toYaml: cannot marshal type: func()", err.Error())
}

func TestUnquote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "a": "a", ` "a" `: "a", `'a'`: "a", `"'a'"`: "a", `'"a"'`: `"a"`, `""a""`: "a", `" a "`: " a ", "\t'a'\n": "a", `a"b`: `a"b`,
	} {
		assert.Equal(t, want, unquote(text), "unquote of %q", text)
	}
}
