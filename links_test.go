package kalypso_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinks keeps every link within the repository whole: those of Markdown files, anchors included, and the URLs of our
// files that anything else names, as comments of workflows do, which are copied to where no relative link leads back.
func TestLinks(t *testing.T) {
	t.Parallel()
	broken, looked, err := brokenLinks(os.DirFS("."))
	require.NoError(t, err)
	assert.Greater(t, looked, 100)
	assert.Empty(t, broken)
}

// TestLinksEveryPageIsInTheIndex keeps docs/README.md complete.
func TestLinksEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile("docs/README.md")
	require.NoError(t, err)
	named := map[string]bool{"docs/README.md": true}
	for _, to := range linksOf(string(index)) {
		file, _, _ := strings.Cut(to, "#")
		named[path.Join("docs", file)] = true
	}
	require.NoError(t, fs.WalkDir(os.DirFS("."), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			assert.True(t, named[name], "docs/README.md does not name %s", name)
		}
		return err
	}))
}

func TestLinksBrokenOnesAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[a](b.md)":                           "",
		"[`a`](b.md#two-words)":               "",
		"[a](b.md#a-link-and-code)":           "",
		"[a](b.md#twice-1)":                   "",
		"[a](/docs/b.md)":                     "",
		"[a](#here)\n\n## Here\n":             "",
		"[a](https://example.com/none.md)":    "",
		"![a](b.png)":                         "docs/a.md: b.png: no such file",
		"[a](c.md)":                           "docs/a.md: c.md: no such file",
		"[a](../../b.md)":                     "docs/a.md: ../../b.md: no such file",
		"[a\nb](c.md)":                        "docs/a.md: c.md: no such file",
		"[a](b.md#three-words)":               "docs/a.md: b.md#three-words: no such heading",
		"[a](b.md#code)":                      "docs/a.md: b.md#code: no such heading",
		"[a](b.md#twice-2)":                   "docs/a.md: b.md#twice-2: no such heading",
		"[a](#there)\n\n## Here\n":            "docs/a.md: #there: no such heading",
		ourFiles + "docs/c.md":                "docs/a.md: " + ourFiles + "docs/c.md: no such file",
		"(" + ourFiles + "docs/b.md#two).":    "docs/a.md: " + ourFiles + "docs/b.md#two: no such heading",
		"more: " + ourFiles + "docs/b.md.":    "",
		"```text\n[a](c.md)\n```\n":           "",
		"<img src=\"c.png\">":                 "docs/a.md: c.png: no such file",
		"[a]: c.md\n":                         "docs/a.md: c.md: no such file",
		"no link: `[a](c.md)` nor `--x(y.md)": "",
	} {
		broken, _, err := brokenLinks(fstest.MapFS{
			"docs/a.md": {Data: []byte(text)},
			"docs/b.md": {Data: []byte("# Two words\n\n## A [link](b.md) and `code`!\n\n## Twice\n\n## Twice\n\n```sh\n# code\n```\n")},
		})
		require.NoError(t, err)
		if want == "" {
			assert.Empty(t, broken, text)
		} else {
			assert.Equal(t, []string{want}, broken, text)
		}
	}
}

// ourFiles is where the files of this repository are shown.
const ourFiles = "https://github.com/kalypso-gitops/kalypso/blob/main/"

var (
	fenced       = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan     = regexp.MustCompile("`[^`\n]*`")
	inlineLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	otherLink    = regexp.MustCompile(`(?m)^\[[^\]]+\]: (\S+)$|(?:src|href)="([^"]+)"`)
	ourURL       = regexp.MustCompile(regexp.QuoteMeta(ourFiles) + `[\w./#-]*\w`)
	scheme       = regexp.MustCompile(`^[a-z]+:`)
	heading      = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	linkInHeader = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// brokenLinks returns the links to files or headings that do not exist, and how many it looked at.
func brokenLinks(root fs.FS) (broken []string, looked int, err error) {
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if slices.Contains([]string{".git", "build", "dist"}, name) {
				return fs.SkipDir
			}
			return nil
		case !slices.Contains([]string{".md", ".go", ".yaml", ".yml", ".txtar", ".sh", ".tmpl"}, path.Ext(name)) || name == "links_test.go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		links := ourURL.FindAllString(string(text), -1)
		if path.Ext(name) == ".md" {
			links = append(links, linksOf(string(text))...)
		}
		for _, link := range links {
			looked++
			if why := follow(root, name, link); why != "" {
				broken = append(broken, name+": "+link+": "+why)
			}
		}
		return nil
	})
	return broken, looked, err
}

// linksOf returns the links of a Markdown text that lead to the same repository.
func linksOf(text string) []string {
	text = fenced.ReplaceAllString(text, "")
	var links []string
	for _, match := range inlineLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(text, "code"), -1) {
		links = append(links, match[1])
	}
	for _, match := range otherLink.FindAllStringSubmatch(text, -1) {
		links = append(links, match[1]+match[2])
	}
	return slices.DeleteFunc(links, scheme.MatchString)
}

// follow says why a link in a file does not exist in the schema, or nothing.
func follow(root fs.FS, from, link string) string {
	to, anchor, anchored := strings.Cut(strings.TrimPrefix(link, ourFiles), "#")
	switch {
	case to == "":
		to = from
	case to[0] == '/':
		to = to[1:]
	case !strings.HasPrefix(link, ourFiles):
		to = path.Join(path.Dir(from), to)
	}
	if !fs.ValidPath(to) {
		return "no such file"
	}
	if _, err := fs.Stat(root, to); err != nil {
		return "no such file"
	}
	if anchored && path.Ext(to) == ".md" {
		text, err := fs.ReadFile(root, to)
		if err != nil || !slices.Contains(anchors(string(text)), anchor) {
			return "no such heading"
		}
	}
	return ""
}

// anchors are what GitHub makes of headings: in lower case, without punctuation, with hyphens for spaces, and with a number
// if it is not the first of that name.
func anchors(text string) []string {
	var all []string
	seen := map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := linkInHeader.ReplaceAllString(match[1], "$1")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		if n := seen[anchor]; n > 0 {
			all = append(all, anchor+"-"+strconv.Itoa(n))
		} else {
			all = append(all, anchor)
		}
		seen[anchor]++
	}
	return all
}
