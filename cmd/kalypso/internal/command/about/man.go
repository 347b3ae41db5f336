package about

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// NewMan makes a command that packagers need, and therefore hidden: it writes a manual page for every command.
func NewMan(e *cli.Host) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages to a folder",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			err := os.MkdirAll(args[0], 0o755)
			if err == nil {
				err = doc.GenManTree(root, manHeader(e), args[0])
			}
			if err != nil {
				return cli.Failure("write the manual pages: %w", err)
			}
			return nil
		},
	}
}

// manHeader dates the pages with the commit, so that a build of the same commit writes the same.
func manHeader(e *cli.Host) *doc.GenManHeader {
	date, err := time.Parse(time.RFC3339, e.Build.Date)
	if err != nil { // built without a repository
		date = e.Now()
	}
	return &doc.GenManHeader{Section: "1", Source: fmt.Sprint("kalypso ", e.Build.Version), Manual: "Kalypso", Date: &date}
}
