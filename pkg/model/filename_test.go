package model

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// A name that is not UTF-8 cannot be opened through io/fs: the file must not be lost without a word.
func TestFileNameThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	source := &Source{Repo: "https://example.com/app", Ref: Ref{Role: Tenant, Path: "."}, FS: fstest.MapFS{
		"caf\ufffd.yaml": {Mode: fs.ModeIrregular},
	}}
	_, diags := Parse(source, &WorkloadRegistration{}, DefaultOptions())
	assert.Equal(t, 1, diags.Count(diag.Error), diags)
	assert.Equal(t, "the file name is not valid UTF-8", diags[0].Message)
}
