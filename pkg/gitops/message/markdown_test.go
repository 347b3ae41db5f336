package message

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderhtml "github.com/yuin/goldmark/renderer/html"
)

// htmlOf renders Markdown as GitHub does, with all extensions of GitHub.
func htmlOf(t testing.TB, markdown string) string {
	t.Helper()
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(renderhtml.WithUnsafe()))
	require.NoError(t, md.Convert([]byte(markdown), &out))
	return out.String()
}
