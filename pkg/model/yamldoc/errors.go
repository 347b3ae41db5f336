package yamldoc

import (
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s+)?line (\d+): `)
	// yamlParserError is what the library's parser says, as opposed to its scanner: it counts lines
	// from 0. https://github.com/yaml/go-yaml/blob/v3/parserc.go
	yamlParserError = regexp.MustCompile(`did not find expected (?:<stream-start>|<document start>|node content|'-' indicator|key|',' or '[\]}]')|` +
		`found (?:undefined tag handle|incompatible YAML document|duplicate %(?:YAML|TAG) directive)`)
	yamlUnknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// longestName bounds the regular expression that is made of a name.
const longestName = 1000

// yamlErrorLine finds the line of an error in a chunk, counting from 1. The library's message has
// none if it is the first.
func yamlErrorLine(text string, err error) int {
	message := err.Error()
	if match := yamlUnknownAnchor.FindStringSubmatch(message); match != nil && len(match[1]) <= longestName {
		return aliasLine(text, match[1])
	}
	match := yamlLine.FindStringSubmatch(message)
	if match == nil {
		return 1
	}
	line, _ := strconv.Atoi(match[1])
	if yamlParserError.MatchString(message) {
		line++
	}
	return line
}

// aliasLine finds the line in which an alias is used: the library does not tell.
func aliasLine(text, name string) int {
	alias := regexp.MustCompile(`(?m)(?:^|[\s\[{,])\*` + regexp.QuoteMeta(name) + `(?:[\s\]},]|$)`)
	at := alias.FindStringIndex(text)
	if at == nil {
		return 1
	}
	return 1 + strings.Count(text[:at[0]+strings.IndexByte(text[at[0]:], '*')], "\n")
}

func yamlErrorText(err error) string {
	text := yamlLine.ReplaceAllString(err.Error(), "")
	text = strings.TrimPrefix(text, "yaml: ")
	return strings.Join(strings.Fields(text), " ")
}

// yamlErrorHint says what to do about a message that only writers of parsers understand.
func yamlErrorHint(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "<document start>"):
		return "begin each document with a line ---, and remove %YAML and ... lines"
	case strings.Contains(text, "cannot start any token"):
		return "indent with blanks instead of tabs, and put text that begins with @, ` or % in quotes"
	case strings.Contains(text, misplacedColon):
		return `put a value that contains ": " in quotes`
	}
	return ""
}

// misplacedColon is the error of a line that is indented further than the key above it, among others.
const misplacedColon = "mapping values are not allowed in this context"

// fault is what is probably wrong in a text. Lines count from 1.
type fault struct {
	// line is the line to change.
	line int
	// other is a line with an indentation that does not match it; 0 if the indentation is right.
	other int
	hint  string
}

// blockError are errors of a line that does not belong to the block above it. The library reports the first line of a block
// around it.
var blockError = regexp.MustCompile(`^did not find expected (?:key|'-' indicator)$`)

// findFault finds what is wrong. The library reports the line in which it notices a wrong indentation. That is the line to
// change unless it has the indentation of others, which the line that it does not match has not. If thorough is true, the
// text is parsed several times.
func findFault(text string, err error, thorough bool) fault {
	problem, lines := yamlErrorText(err), strings.Split(text, "\n")
	found := fault{line: min(yamlErrorLine(text, err), len(lines)), hint: yamlErrorHint(err)}
	if conflict := slices.IndexFunc(lines, isConflict); conflict >= 0 {
		return fault{line: conflict + 1, hint: "resolve the merge conflict"}
	}
	switch {
	case blockError.MatchString(problem):
		if thorough {
			found.line = blockErrorLine(lines, problem)
			found.other = firstOfBlock(lines, found.line)
		}
	case problem == misplacedColon:
		above := lineAbove(lines, found.line, func(int) bool { return true })
		switch {
		case above == 0 || strings.HasSuffix(lines[above-1], ":") || column(lines, above) > column(lines, found.line):
		case column(lines, above) < column(lines, found.line):
			found.other = above
		case !strings.Contains(lines[above-1], ":"):
			return fault{line: above, hint: "write a colon between key and value"}
		case !strings.Contains(lines[above-1]+" ", ": "):
			return fault{line: above, hint: "write a blank after the colon"}
		}
	}
	switch {
	case found.other == 0:
	case opensBlock(lines, found.other, found.line): // so the indentation is right, and the error is in the line
		return fault{line: found.line, hint: "put the whole value in one pair of quotes"}
	case indentation(lines, found.other) != indentation(lines, found.line):
		found.hint = "indent the keys of a map, the items of a list and the lines of a text equally"
		if isOnly(lines, found.other) && !isOnly(lines, found.line) {
			found.line, found.other = found.other, found.line
		}
	case strings.HasSuffix(problem, "key"):
		return fault{line: found.line, hint: "put the whole value in one pair of quotes"}
	default:
		return fault{line: found.line, hint: `begin each item of the list with "- "`}
	}
	return found
}

// blockErrorLine returns the first line up to which the text has an error.
func blockErrorLine(lines []string, problem string) int {
	return 1 + sort.Search(len(lines)-1, func(i int) bool {
		decoder := yaml.NewDecoder(strings.NewReader(strings.Join(lines[:i+1], "\n")))
		for {
			if err := decodeNode(decoder, &yaml.Node{}); err != nil {
				return yamlErrorText(err) == problem
			}
		}
	})
}

// firstOfBlock returns the first line of the block that a line belongs to by its indentation, or the line above if that is
// none; 0 if there is no line above.
func firstOfBlock(lines []string, line int) int {
	parent := lineAbove(lines, line, func(n int) bool { return indentation(lines, n) < indentation(lines, line) })
	for first := parent + 1; first < line; first++ {
		if hasContent(lines, first) {
			return first
		}
	}
	return parent
}

// isConflict reports whether git begins the two sides of a conflict with a line.
func isConflict(line string) bool { return strings.HasPrefix(line, "<<<<<<< ") }

// opensBlock reports whether a line ends with a colon and another one is indented further, as the first line of a block is.
func opensBlock(lines []string, above, line int) bool {
	return strings.HasSuffix(strings.TrimSpace(lines[above-1]), ":") && indentation(lines, above) < indentation(lines, line)
}

// lineAbove returns the last line with content above a line that matches; 0 if there is none.
func lineAbove(lines []string, line int, matches func(line int) bool) int {
	for line--; line > 0; line-- {
		if hasContent(lines, line) && matches(line) {
			return line
		}
	}
	return 0
}

func hasContent(lines []string, line int) bool {
	text := strings.TrimSpace(lines[line-1])
	return text != "" && text[0] != '#'
}

func indentation(lines []string, line int) int {
	return len(lines[line-1]) - len(strings.TrimLeft(lines[line-1], " "))
}

// column is how many characters precede the text of a line, also if it begins items of lists.
func column(lines []string, line int) int {
	text := lines[line-1]
	for strings.HasPrefix(strings.TrimLeft(text, " "), "- ") {
		text = strings.Replace(text, "-", " ", 1)
	}
	return len(text) - len(strings.TrimLeft(text, " "))
}

// isOnly reports whether no other line has the indentation of a line.
func isOnly(lines []string, line int) bool {
	for n := range lines {
		if n+1 != line && hasContent(lines, n+1) && indentation(lines, n+1) == indentation(lines, line) {
			return false
		}
	}
	return true
}
