package render

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestPermissionsThatARunAsksFor(t *testing.T) {
	t.Parallel()
	type permissions = map[string]string
	for name, test := range map[string]struct {
		flags *PublishFlags
		want  github.Needs
	}{
		"to publish": {&PublishFlags{}, github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{}}},
		"people":     {&PublishFlags{reviewers: []string{"ann,bob"}}, github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{}}},
		"teams and issues": {
			&PublishFlags{reviewers: []string{"ann,acme/fleet"}, reportIssues: true},
			github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{"issues": "write", "members": "read"}},
		},
		"direct": {&PublishFlags{direct: true}, github.Needs{Required: permissions{"contents": "write"}, Optional: permissions{"pull_requests": "write"}}},
	} {
		assert.Equal(t, test.want, *test.flags.Permissions(model.Output), name)
		for _, role := range []model.Role{model.Main, model.Platform, model.Base, model.Tenant} {
			assert.Nil(t, test.flags.Permissions(role), name)
		}
	}
}
