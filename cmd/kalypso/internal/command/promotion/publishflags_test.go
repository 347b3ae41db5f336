package promotion

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/command/render"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

func TestPermissionsThatARunAsksFor(t *testing.T) {
	t.Parallel()
	type permissions = map[string]string
	for name, test := range map[string]struct {
		args []string
		want github.Needs
	}{
		"to publish": {nil, github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{}}},
		"people":     {[]string{"--reviewer=ann,bob"}, github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{}}},
		"teams and issues": {
			[]string{"--reviewer=ann,acme/fleet", "--report-issues"},
			github.Needs{Required: permissions{"contents": "write", "pull_requests": "write"}, Optional: permissions{"issues": "write", "members": "read"}},
		},
		"direct": {[]string{"--direct"}, github.Needs{Required: permissions{"contents": "write"}, Optional: permissions{"pull_requests": "write"}}},
	} {
		var flags render.PublishFlags
		cmd := &cobra.Command{}
		flags.Add(cmd, &cli.Host{})
		require.NoError(t, cmd.ParseFlags(test.args), name)
		assert.Equal(t, test.want, *flags.Permissions(model.Output), name)
		for _, role := range []model.Role{model.Main, model.Platform, model.Base, model.Tenant} {
			assert.Nil(t, flags.Permissions(role), name)
		}
	}
}
