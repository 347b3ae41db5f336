package term

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPager(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variables []string
		piped     bool
		want      []string
	}{
		"none set":            {want: []string{"less"}},
		"of all programs":     {variables: []string{"PAGER=more -s"}, want: []string{"more", "-s"}},
		"quoted":              {variables: []string{`PAGER="my pager" -s`}, want: []string{"my pager", "-s"}},
		"of kalypso":          {variables: []string{"PAGER=more", "KALYPSO_PAGER=most"}, want: []string{"most"}},
		"empty":               {variables: []string{"PAGER="}},
		"cat":                 {variables: []string{"PAGER=cat"}},
		"empty for kalypso":   {variables: []string{"KALYPSO_PAGER=", "PAGER=more"}},
		"more for kalypso":    {variables: []string{"KALYPSO_PAGER=more", "PAGER=cat"}, want: []string{"more"}},
		"no terminal":         {variables: []string{"PAGER=more"}, piped: true},
		"cannot be split":     {variables: []string{`PAGER="more`}, want: []string{"less"}},
		"another name's tail": {variables: []string{"MANPAGER=most"}, want: []string{"less"}},
	} {
		o := IO{StdoutTerminal: !test.piped, Environ: func() []string { return test.variables }}
		assert.Equal(t, test.want, o.pager(), name)
	}
	assert.Nil(t, IO{StdoutTerminal: true}.pager(), "no variables are known")
}

// TestPageWithoutPager shows the text although the pager cannot be started.
func TestPageWithoutPager(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	o := IO{Stdout: &stdout, Stderr: &stderr, StdoutTerminal: true, Environ: func() []string { return []string{"PAGER=/nowhere/pager"} }}
	require.NoError(t, o.Page([]byte("text\n")))
	assert.Equal(t, "text\n", stdout.String())
	assert.Contains(t, stderr.String(), "kalypso: pager /nowhere/pager: ")
}
