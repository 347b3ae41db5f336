package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestPermissionsThatARunAsksFor(t *testing.T) {
	t.Parallel()
	type permissions = map[string]string
	for name, test := range map[string]struct {
		flags *publishFlags
		want  github.Needs
	}{
		"to look":    {nil, github.Needs{Required: permissions{"contents": "read"}}},
		"to publish": {&publishFlags{}, github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{}}},
		"people":     {&publishFlags{reviewers: []string{"ann,bob"}}, github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{}}},
		"teams and issues": {
			&publishFlags{reviewers: []string{"ann,acme/fleet"}, reportIssues: true},
			github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{"issues": "write", "members": "read"}},
		},
		"direct": {&publishFlags{direct: true}, github.Needs{Required: permissions{"contents": "write"}, Optional: permissions{"pull_requests": "write"}}},
	} {
		f := &fleetFlags{publication: test.flags}
		assert.Equal(t, test.want, f.needs(model.Output), name)
		for _, role := range []model.Role{model.Main, model.Platform, model.Base, model.Tenant} {
			assert.Equal(t, github.Needs{Required: permissions{"contents": "read"}}, f.needs(role), name)
		}
	}
}

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
	require.Error(t, err, "a folder")
	assert.NotContains(t, err.Error(), filepath.Dir(file), "the message names it already")
}

// TestDryPromotionNeedsNothingThatWrites: it runs before anybody has approved.
func TestDryPromotionNeedsNothingThatWrites(t *testing.T) {
	t.Parallel()
	for _, f := range []*promoteFlags{{dryRun: true}, {dryRun: true, pullRequest: true}, {dryRun: true, dispatch: "cd.yaml"}} {
		needs := f.needs()
		assert.Equal(t, map[string]string{"contents": "read", "statuses": "read"}, needs.Required)
		assert.Empty(t, needs.Optional)
	}
	assert.Equal(t, "write", (&promoteFlags{}).needs().Required["contents"])
}
