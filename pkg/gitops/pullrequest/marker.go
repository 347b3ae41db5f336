package pullrequest

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
)

// marker is what the body of a pull request says of it where people do not see it. What we write is between a
// line with the marker and a line that ends it; what people write around that is theirs.
type marker struct {
	environment string
	// path is that of the GitOps repository, "." for its root.
	path string
	// tree is what is published, by its object id.
	tree string
	// adopted is a pull request that a person opened: its title is theirs.
	adopted bool
	// asked says that reviewers and assignees were asked, which is done once.
	asked bool
	// auto says that auto-merge, if it is on, was turned on by us. It is written before that is done: a run
	// that dies in between must not leave one on that nobody knows to turn off.
	auto bool
	// on says that it was on. If it is off nevertheless, somebody turned it off.
	on bool
	// promoted says that the label for promotions belongs on it.
	promoted bool
	// closed says that we closed it ourselves: then it is no decision of a person against the tree.
	closed bool
}

const (
	// maxForgeBody is how many characters GitHub takes for a body.
	maxForgeBody = message.MaxComment
	// maxForgeTitle is how many it takes for a title.
	maxForgeTitle = 256
	// MaxBody is how many characters a body may have so that the marker fits in, too.
	MaxBody = maxForgeBody - 1_536

	markerEnd = "<!-- /kalypso:v1 -->"
	cutNote   = "\n\n_The rest does not fit in here._"
)

var (
	markerLine = regexp.MustCompile(`(?m)^<!-- kalypso:v1 environment=([a-z0-9.-]{1,253}) path=([A-Za-z0-9%+._~-]+)` +
		` tree=([0-9a-f]{0,64})((?: (?:adopted|asked|auto|on|promoted|closed))*) -->[ \t]*\r?$`)
	environmentName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	treeID          = regexp.MustCompile(`^[0-9a-f]{0,64}$`)
)

// markerFlag is a word at the end of the line.
type markerFlag struct {
	name string
	on   *bool
}

// flags are all that there can be, in the order in which they are written.
func (m *marker) flags() []markerFlag {
	return []markerFlag{{"adopted", &m.adopted}, {"asked", &m.asked}, {"auto", &m.auto}, {"on", &m.on}, {"promoted", &m.promoted}, {"closed", &m.closed}}
}

// String returns the line. Nothing in it can end the comment that it is.
func (m marker) String() string {
	var flags strings.Builder
	for _, flag := range m.flags() {
		if *flag.on {
			flags.WriteString(" " + flag.name)
		}
	}
	return fmt.Sprintf("<!-- kalypso:v1 environment=%s path=%s tree=%s%s -->",
		m.environment, url.QueryEscape(m.path), m.tree, flags.String())
}

func normalPath(path string) string { return cmp.Or(strings.Trim(path, "/"), ".") }

// section is a body, taken apart at the marker for an environment and a path.
type section struct {
	marker        marker
	before, after string
}

// findSection looks for the marker in a body. Markers for others, which people may have copied, are passed over.
func findSection(body, environment, path string) (section, bool) {
	for _, at := range markerLine.FindAllStringSubmatchIndex(body, -1) {
		part := func(n int) string { return body[at[2*n]:at[2*n+1]] }
		found, err := url.QueryUnescape(part(2))
		if err != nil || part(1) != environment || found != normalPath(path) {
			continue
		}
		s := section{before: body[:at[0]], marker: marker{environment: environment, path: found, tree: part(3)}}
		words := strings.Fields(part(4))
		for _, flag := range s.marker.flags() {
			*flag.on = slices.Contains(words, flag.name)
		}
		if end := strings.Index(body[at[1]:], markerEnd); end >= 0 {
			s.after = body[at[1]+end+len(markerEnd):]
		}
		return s, true
	}
	return section{}, false
}

// with returns the body with text of ours in the section, cut so that the forge takes it.
func (s section) with(text string) string {
	text = printable(text)
	// A marker in the text would end the section, or begin another.
	for _, begin := range []string{"<!-- kalypso:", "<!-- /kalypso:"} {
		text = strings.ReplaceAll(text, begin, "&lt;"+begin[1:])
	}
	frame := func(text string) string {
		return s.before + s.marker.String() + "\n\n" + strings.TrimSpace(text) + "\n\n" + markerEnd + s.after
	}
	return frame(cutLines(text, maxForgeBody-utf8.RuneCountInString(frame(""))))
}

// text returns what is in the section of a body now.
func (s section) text(body string) string {
	_, rest, _ := strings.Cut(body[len(s.before):], "-->")
	return strings.TrimSuffix(strings.TrimSuffix(rest, s.after), markerEnd)
}

// cutLines cuts text at the end of a line so that it has at most so many characters.
func cutLines(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	space := limit - utf8.RuneCountInString(cutNote)
	if space <= 0 {
		return ""
	}
	kept := string([]rune(text)[:space])
	if end := strings.LastIndexByte(kept, '\n'); end >= 0 {
		kept = kept[:end]
	}
	return kept + cutNote
}

// cutTitle makes a title one line that is short enough for the forge.
func cutTitle(title string) string {
	return diag.ShortenCharacters(strings.Join(strings.Fields(printable(title)), " "), maxForgeTitle)
}

// printable drops what a forge would drop or replace, after which the text would differ for ever.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// sameMarkdown compares texts as a forge may give them back: with other line ends, without space around them.
func sameMarkdown(a, b string) bool {
	normal := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return normal(a) == normal(b)
}
