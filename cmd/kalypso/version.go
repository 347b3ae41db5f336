package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// build is what the program was made of.
type build struct {
	// Version is that of the module; without one it is the commit, and without that devel.
	Version string `json:"version"`
	// Commit and Date are of the source, as RFC 3339; empty if Go did not find a repository.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	// Modified says that the source had changes that are not in the commit.
	Modified  bool   `json:"modified,omitempty"`
	GoVersion string `json:"goVersion"`
	// Platform is the one that the program runs on, as linux/amd64.
	Platform string `json:"platform"`
}

// thisBuild is that of the process.
func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// buildOf reads what Go stamps into every program, so that releases need no linker flags. A program of go install knows
// its version, but no commit. It takes nil for a program without a stamp.
func buildOf(info *debug.BuildInfo) build {
	if info == nil {
		return build{Version: "unknown"}
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	b := build{
		Version: info.Main.Version, Commit: settings["vcs.revision"], Date: settings["vcs.time"],
		Modified: settings["vcs.modified"] == "true", GoVersion: info.GoVersion,
		Platform: settings["GOOS"] + "/" + settings["GOARCH"],
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = strings.TrimSuffix("devel-"+b.Commit, "-")
	}
	return b
}

// print writes the build for people, one thing in a line; what is not known has none.
func (b build) print(w io.Writer) error {
	commit := b.Commit
	if b.Modified {
		commit += " and changes that are not committed"
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "kalypso %s\n", b.Version)
	for _, line := range [][2]string{{"commit", commit}, {"date", b.Date}, {"go", b.GoVersion}, {"platform", b.Platform}} {
		if line[1] != "" {
			fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
		}
	}
	return table.Flush()
}

func newVersion(e *edges) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and what it was built from",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if format == formatText {
				return e.build.print(e.stdout)
			}
			return printStructured(e.stdout, format, e.build)
		},
	}
	addOutputFlag(cmd, &format)
	return cmd
}
