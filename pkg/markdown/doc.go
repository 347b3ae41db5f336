// Package markdown writes text of others into GitHub's Markdown so that it stays text.
//
// In: any text, from names to error messages of other systems. Out: Markdown that shows the text in one line, also in a
// table, and in which nothing of it takes effect: no link, image, HTML, comment, mention or reference to an issue.
//
// GitHub looks for mentions, references to issues, emoji and links in what Markdown has made, where no escape helps, but
// not in code: Code, Cell and HTMLCode show text as code. Text shows prose, and breaks what GitHub looks for.
package markdown
