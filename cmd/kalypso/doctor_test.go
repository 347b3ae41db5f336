package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// TestDoctorComparesClocks: also if the repository cannot be read, as that may be because of the clock. What the server says
// is shown without control characters.
func TestDoctorComparesClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 23, 9, 0, 0, 0, time.UTC)
	for about, test := range map[string]struct {
		date, want string
	}{
		"behind":  {now.Add(5 * time.Minute).Format(http.TimeFormat), "warning: the clock of this machine differs by -5m0s from that of "},
		"ahead":   {now.Add(-2 * time.Minute).Format(http.TimeFormat), "warning: the clock of this machine differs by 2m0s from that of "},
		"right":   {now.Add(-30 * time.Second).Format(http.TimeFormat), "ok: the clock of this machine agrees with that of "},
		"no date": {"-", "warning: not checked: clock: "},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Empty(t, r.Header.Get("Authorization"))
				w.Header().Set("Date", test.date)
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, "\x1b[2Jno such repository") // which clears a terminal
			}))
			t.Cleanup(server.Close)
			var stdout bytes.Buffer
			code := run(t.Context(), []string{"doctor", "--control-plane", server.URL + "/acme/control-plane"}, &cli.Host{IO: term.IO{
				Stdout: &stdout, Stderr: &bytes.Buffer{}, Env: func(string) string { return "" }, WorkingDir: os.Getwd,
				Now: func() time.Time { return now },
			}})
			assert.Equal(t, cli.ExitModel, code)
			assert.Contains(t, stdout.String(), test.want)
			assert.Regexp(t, `error: the control plane: .* was not found.*no such repository`, stdout.String())
			assert.NotContains(t, stdout.String(), "\x1b")
		})
	}
}

// TestDoctorWithoutGit: the hint is to install it, and not about the network.
func TestDoctorWithoutGit(t *testing.T) {
	t.Parallel()
	cmd := ourProgram(t, acmeArgs(acmeFleet(t), nil, "doctor"))
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
	got := finish(t, cmd)
	assert.Equal(t, cli.ExitModel, got.code)
	assert.Regexp(t, `error: .* needs the git program: .*\n    hint: install git\n`, got.stdout)
}
