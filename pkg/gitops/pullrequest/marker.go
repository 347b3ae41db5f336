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

// marker is the hidden state in the body of a pull request. Text of kalypso is between a line with the marker and a line
// that ends it; text of people around that is never changed.
type marker struct {
	environment string
	// path is the directory in the GitOps repository, "." for its root.
	path string
	// tree is the object id of the published tree.
	tree string
	// adopted is true for a pull request that a person opened: its title is not changed.
	adopted bool
	// asked is true after reviewers and assignees were requested, which is done once.
	asked bool
	// auto is true if kalypso turned auto-merge on. It is written before: a run that is killed in between must not leave
	// auto-merge on without a record.
	auto bool
	// on is true after auto-merge was on. If it is off now, somebody turned it off.
	on bool
	// promoted is true if it should have the label for promotions.
	promoted bool
	// closed is true if kalypso closed it: then a person has not declined the tree.
	closed bool
}

const (
	// maxForgeBody is GitHub's limit for a body in characters.
	maxForgeBody = message.MaxComment
	// maxForgeTitle is GitHub's limit for a title in characters.
	maxForgeTitle = 256
	// MaxBody is the maximum length of a body in characters without the marker.
	MaxBody = maxForgeBody - 1_536

	markerEnd = "<!-- /kalypso:v1 -->"
	cutNote   = "\n\n_The rest does not fit._"
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

// flags returns all flags, in the order of the line.
func (m *marker) flags() []markerFlag {
	return []markerFlag{{"adopted", &m.adopted}, {"asked", &m.asked}, {"auto", &m.auto}, {"on", &m.on}, {"promoted", &m.promoted}, {"closed", &m.closed}}
}

// String returns the line, an HTML comment. No value can end the comment.
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

// section is a body, split at the marker for an environment and a path.
type section struct {
	marker        marker
	before, after string
}

// findSection finds the marker in a body. It ignores markers of other environments, which people may have copied.
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

// with returns the body with a new text in the section, cut off at the limit of the forge.
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

func (s section) text(body string) string {
	_, rest, _ := strings.Cut(body[len(s.before):], "-->")
	return strings.TrimSuffix(strings.TrimSuffix(rest, s.after), markerEnd)
}

// cutLines cuts text at the end of a line so that it has at most limit characters.
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

// cutTitle returns a title in one line within the limit of the forge.
func cutTitle(title string) string {
	return diag.ShortenCharacters(strings.Join(strings.Fields(printable(title)), " "), maxForgeTitle)
}

// printable removes characters that a forge removes or replaces, because the text would differ in every run.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// SameMarkdown compares texts, ignoring line endings and surrounding space, which a forge may change.
func SameMarkdown(a, b string) bool {
	normal := func(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }
	return normal(a) == normal(b)
}
