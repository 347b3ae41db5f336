package baserepo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scribe writes a file with a BaseRepo as people might, and at the same time what it should become.
type scribe struct {
	*rand.Rand
	before, after strings.Builder
}

func (s *scribe) write(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.before.WriteString(text)
	s.after.WriteString(text)
}

func (s *scribe) replace(old, text string) {
	s.before.WriteString(old)
	s.after.WriteString(text)
}

func (s *scribe) pick(of ...string) string { return of[s.IntN(len(of))] }

// between writes what may stand between two lines.
func (s *scribe) between() {
	s.write("%s", s.pick("", "", "", "", "\n", "# note\n", " # commit: x\n", "\n# a: b\n\n"))
}

// behind is what may stand behind a value.
func (s *scribe) behind() string {
	return s.pick("", "", "", " ", "\t", " # note", "  # it's \"so\": {x}", " # ☃")
}

// aValue is how a text is written: around it, in quotes, and on how many lines.
type aValue struct {
	properties, quotes string
	// block is the header of a block scalar.
	block string
}

func (s *scribe) value() aValue {
	v := aValue{properties: s.pick("", "", "", "", "!!str ", fmt.Sprintf("&a%d ", s.Uint32()))}
	v.quotes = s.pick("", "", "'", `"`)
	if s.IntN(8) == 0 {
		v.quotes, v.block = "", s.pick("|", ">", "|-", ">-", "|+", ">+")
	}
	return v
}

// in writes a text as the value of a key in a block mapping.
func (v aValue) in(s *scribe, old, text string, indent int) {
	deeper := strings.Repeat(" ", indent+1+s.IntN(3))
	if v.block != "" {
		s.write(" %s%s%s\n%s", v.properties, v.block, s.pick("", " # note"), deeper)
		s.replace(old, text)
		return
	}
	s.write("%s%s", s.pick(" ", " ", " ", "   ", "\t", "\n"+deeper, " # note\n\n# more\n"+deeper), v.properties)
	s.replace(v.quotes+old+v.quotes, v.quotes+text+v.quotes)
	s.write("%s", s.behind())
}

// fields are those of spec in an order, and the commit among them if there is one.
func (s *scribe) fields() []string {
	fields := []string{"repo", "branch"}
	if s.IntN(2) == 0 {
		fields = append(fields, "path")
	}
	if s.IntN(3) > 0 {
		fields = append(fields, "commit")
	}
	s.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return fields
}

func (s *scribe) text(field string) string {
	return map[string]string{"repo": s.pick("https://github.com/acme/cp", "git@github.com:acme/cp.git"), "branch": s.pick("main", "grün"), "path": s.pick(".", "./apps")}[field]
}

func (s *scribe) blockSpec() {
	indent := 1 + s.IntN(6)
	blanks := strings.Repeat(" ", indent)
	s.write("spec:%s\n", s.behind())
	fields := s.fields()
	var quotes []string
	for i, field := range fields {
		s.between()
		s.write("%s%s:", blanks, field)
		v := s.value()
		quotes = append(quotes, v.quotes)
		switch {
		case field == "commit" && s.IntN(4) == 0:
			rest := s.pick("", " # none", "\n# none")
			s.replace(rest, " "+newCommit+rest)
		case field == "commit":
			v.in(s, s.pick(oldCommit, "main"), newCommit, indent)
		default:
			text := s.text(field)
			v.block = strings.TrimSuffix(v.block, "+") // blank lines below would belong to the value
			v.in(s, text, text, indent)
		}
		if i == len(fields)-1 && !slices.Contains(fields, "commit") {
			s.replace("", "\n"+blanks+"commit: "+sameQuotes(quotes, newCommit))
		}
		s.write("\n")
	}
}

// sameQuotes puts a text in quotes if all others are.
func sameQuotes(quotes []string, text string) string {
	if len(slices.Compact(slices.Clone(quotes))) == 1 {
		return quotes[0] + text + quotes[0]
	}
	return text
}

func (s *scribe) flowSpec() {
	s.write("spec:%s{%s", s.pick(" ", " # note\n    ", "   "), s.pick("", " ", "\n  ", " # note\n    "))
	fields := s.fields()
	var quotes []string
	for i, field := range fields {
		last, quote := i == len(fields)-1, s.pick("", "", "'", `"`)
		quotes = append(quotes, quote)
		s.write("%s: %s", field, s.pick("", "", "!!str ", "\n  "))
		if field == "commit" {
			s.replace(quote+oldCommit+quote, quote+newCommit+quote)
		} else {
			s.write("%s%s%s", quote, s.text(field), quote)
		}
		if last && !slices.Contains(fields, "commit") {
			s.replace("", ", commit: "+sameQuotes(quotes, newCommit))
		}
		switch {
		case last:
		case i == len(fields)-2:
			s.write(", ") // the last one shares its line, so that the commit does as well
		default:
			s.write(",%s", s.pick(" ", "", " # note\n     !!str "))
		}
	}
	s.write("%s}%s\n", s.pick("", " ", ",", " # note\n  "), s.behind())
}

func (s *scribe) document() {
	parts := []func(){
		func() { s.write("apiVersion: scheduler.kalypso.io/v1alpha1%s\n", s.behind()) },
		func() { s.write("kind: BaseRepo\n") },
		func() {
			s.write("%s", s.pick("metadata: {name: main}\n", "metadata:\n  name: main # commit\n  labels: {commit: "+oldCommit+"}\n"))
		},
		s.blockSpec,
	}
	if s.IntN(3) == 0 {
		parts[3] = s.flowSpec
	}
	s.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for _, part := range parts {
		s.between()
		part()
	}
	s.between()
}

func (s *scribe) file() (before, after string) {
	const other = "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: BaseRepo\nmetadata: {name: other}\nspec: {repo: https://x.example, branch: b, commit: " + oldCommit + "}\n"
	s.write("%s", s.pick("", "", "---\n", "# first\n---\n", other+"--- # next\n", "- 1\n---\n"+other+"---\n"))
	s.document()
	s.write("%s", s.pick("", "", "...\n", "---\n", "---\n"+other))
	before, after = s.before.String(), s.after.String()
	if s.IntN(4) == 0 {
		before, after = strings.ReplaceAll(before, "\n", "\r\n"), strings.ReplaceAll(after, "\n", "\r\n")
	}
	if s.IntN(6) == 0 {
		before, after = byteOrderMark+before, byteOrderMark+after
	}
	return before, after
}

// Files of random layouts become what they should, to the byte.
func TestSetCommitOfGeneratedFiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		s := &scribe{Rand: rand.New(rand.NewPCG(seed, 5))}
		before, after := s.file()
		got, err := SetCommit([]byte(before), theBase(t, before), newCommit)
		require.NoError(t, err, "seed %d:\n%s", seed, before)
		require.Equal(t, after, string(got), "seed %d", seed)
	}
}
