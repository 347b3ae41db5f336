package cli

import (
	"runtime/debug"
	"strings"
)

// Build is what the program was made of.
type Build struct {
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
func thisBuild() Build {
	info, _ := debug.ReadBuildInfo()
	return BuildOf(info)
}

// BuildOf reads what Go stamps into every program, so that releases need no linker flags. A program of go install knows
// its version, but no commit. It takes nil for a program without a stamp.
func BuildOf(info *debug.BuildInfo) Build {
	if info == nil {
		return Build{Version: "unknown"}
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	b := Build{
		Version: info.Main.Version, Commit: settings["vcs.revision"], Date: settings["vcs.time"],
		Modified: settings["vcs.modified"] == "true", GoVersion: info.GoVersion,
		Platform: settings["GOOS"] + "/" + settings["GOARCH"],
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = strings.TrimSuffix("devel-"+b.Commit, "-")
	}
	return b
}
