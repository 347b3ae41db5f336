// Package markdown escapes text of others for GitHub's Markdown.
//
// The input is any text, from names to error messages of other systems. The output is Markdown that shows the text in one
// line, also in a table, without effect: no link, image, HTML, comment, mention or reference to an issue.
//
// GitHub looks for mentions, references to issues, emoji and links in the rendered Markdown, where no escape helps, but
// not in code: Code, Cell and HTMLCode show text as code. Text shows prose, and breaks these patterns.
package markdown
