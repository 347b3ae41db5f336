package yamldoc

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
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

// yamlErrorHint adds to a message that only writers of parsers understand what to do.
func yamlErrorHint(err error) diag.Option {
	switch text := err.Error(); {
	case strings.Contains(text, "<document start>"):
		return diag.Hint("begin each document with a line ---, and remove %YAML and ... lines")
	case strings.Contains(text, "cannot start any token"):
		return diag.Hint("indent with blanks instead of tabs, and put text that begins with @, ` or % in quotes")
	}
	return diag.Hint("")
}
