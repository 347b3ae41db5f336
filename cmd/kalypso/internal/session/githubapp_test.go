package session

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadAppKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "app.pem")
	require.NoError(t, os.WriteFile(file, []byte("key"), 0o600))
	for mode, warned := range map[os.FileMode]bool{0o400: false, 0o600: false, 0o640: true, 0o644: true, 0o604: true} {
		require.NoError(t, os.Chmod(file, mode))
		var said bytes.Buffer
		key, err := readAppKey(&said, file)
		require.NoError(t, err)
		assert.Equal(t, "key", string(key))
		assert.Equal(t, warned, said.Len() > 0, mode)
	}
	_, err := readAppKey(&bytes.Buffer{}, filepath.Dir(file))
	require.Error(t, err, "a directory")
	assert.NotContains(t, err.Error(), filepath.Dir(file), "the message names it already")
}
