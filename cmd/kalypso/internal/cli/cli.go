// Package cli is what all commands share: exit codes, flags from variables, the build, and what a command is given.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/actions"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
	"github.com/kalypso-gitops/kalypso/pkg/github"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/credentials"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/wire"
)

// Host is what a command is given.
type Host struct {
	term.IO
	// Build is what is known of this program.
	Build Build
	// Timeouts bound what is asked of GitHub; the zero value are the usual ones.
	Timeouts github.Limits
	// Limits bound what is asked of git servers; the zero value are the usual ones.
	Limits wire.Limits
	// Chdir changes the directory that the command runs in.
	Chdir func(dir string) error
	// Quiet leaves out progress and notices; errors and warnings stay.
	Quiet bool
	// Verbose writes sources, requests and durations to stderr.
	Verbose bool
	// Workflow is the step of GitHub Actions that the run is; nil elsewhere.
	Workflow *actions.Workflow

	completions []func() // those of CompleteFlag
}

// WithProgress returns a Host whose streams erase the live line of the progress before they write.
func (h Host) WithProgress(color string) (*Host, *term.Progress) {
	if h.Quiet {
		return &h, term.NewProgress(io.Discard, term.Off, h.Now)
	}
	if h.Verbose {
		return &h, term.NewProgress(h.Stderr, term.Verbose, h.Now)
	}
	var p *term.Progress
	h.IO, p = h.IO.WithProgress(color)
	return &h, p
}

// System returns what the process has.
func System() *Host { return &Host{IO: term.System(), Build: thisBuild(), Chdir: os.Chdir} }

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

// The exit codes, as ExitCodes has them.
const (
	ExitDone    = 0
	ExitModel   = 1
	ExitUsage   = 2
	ExitRemote  = 3
	ExitChanges = 4
	ExitTimeUp  = 5
	// ExitSignal and the number of a signal is the code of a run that the signal ended.
	ExitSignal = 128
)

// ExitCodes explains them to people.
const ExitCodes = `Exit codes:
    0  done, or nothing to do
    1  error in the model, a rollout or a check; publication or promotion refused
    2  usage error
    3  remote error: network, permission, rate limit or concurrent updates
    4  changes found (--exit-code)
    5  timed out (--timeout), or not deployed yet (--once)
  129  hung up (SIGHUP)
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
`

// exit is an error with the code that the process ends with.
type exit struct {
	code int
	// err is nil if everything has been said.
	err error
}

// ExitWith returns the error of a run that has said everything.
func ExitWith(code int) error { return &exit{code: code} }

// Usage is the error of wrong usage.
func Usage(format string, args ...any) error {
	return &exit{ExitUsage, fmt.Errorf(format, args...)}
}

// UsageHint is Usage with a hint in a second line; an empty hint adds nothing.
func UsageHint(hint, format string, args ...any) error {
	if hint != "" {
		format, args = format+"\n    hint: %s", append(args, hint)
	}
	return Usage(format, args...)
}

// InvalidValue is the usage error of a flag value.
func InvalidValue(flag string, value any, must string) error {
	return Usage("invalid value %q for --%s: must be %s", fmt.Sprint(value), flag, must)
}

// Failure is the error of something that cannot be done on this machine.
func Failure(format string, args ...any) error {
	return &exit{ExitModel, fmt.Errorf(format, args...)}
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// ExitOf returns the code that an error asks for, and whether it asks for one.
func ExitOf(err error) (code int, asks bool) {
	var e *exit
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.code, true
}

// Report tells people what a run ended with, unless that has been said, and returns its code. It masks the credentials in
// URLs, which any value on the command line may be.
func Report(err error, stderr io.Writer) int {
	var e *exit
	var masked credentials.Scrubber
	var file *fs.PathError
	switch {
	case err == nil:
		return ExitDone
	case !errors.As(err, &e) && errors.As(err, &file): // the output cannot be written
		fmt.Fprintf(stderr, "kalypso: %v\n", err)
		return ExitModel
	case !errors.As(err, &e): // cobra's own errors are about the command line
		fmt.Fprintf(stderr, "kalypso: %s\n", masked.Clean(err.Error()))
		return ExitUsage
	case e.err != nil:
		fmt.Fprintf(stderr, "kalypso: %s\n", masked.Clean(e.err.Error()))
	}
	return e.code
}
