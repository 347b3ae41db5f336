package kalypso_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// step is a script of action.yml as the runner runs it.
type step struct {
	script string
	env    map[string]string
}

// stepResult is what a step left.
type stepResult struct {
	code int
	said string
	// outputs and path are what the step wrote to GITHUB_OUTPUT and GITHUB_PATH.
	outputs map[string]string
	path    string
	pid     int
}

// run runs the step in an empty environment, but for what it is given and what programs need.
func (s step) run(t *testing.T) stepResult {
	t.Helper()
	for _, program := range []string{"bash", "curl", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	dir := t.TempDir()
	output, path := filepath.Join(dir, "output"), filepath.Join(dir, "path")
	script, err := filepath.Abs(filepath.Join("hack", "action", s.script))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "RUNNER_TEMP=" + dir, "GITHUB_OUTPUT=" + output, "GITHUB_PATH=" + path}
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	said, err := cmd.CombinedOutput()
	require.NotNil(t, cmd.Process, err)
	result := stepResult{said: string(said), pid: cmd.Process.Pid, outputs: map[string]string{}, path: strings.TrimSpace(readIfThere(t, path))}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		result.code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	for line := range strings.Lines(readIfThere(t, output)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		result.outputs[name] = value
	}
	return result
}

func readIfThere(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return string(text)
}

const releasedProgram = "#!/bin/sh\necho released\n"

// tarGz is an archive as a release has it.
func tarGz(t *testing.T, program string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, text := range map[string]string{"LICENSE": "MIT", program: releasedProgram} {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

// releases serves the files of one release.
func releases(t *testing.T, files map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, found := files[strings.TrimPrefix(r.URL.Path, "/acme/kalypso/releases/download/")]
		switch {
		case text == "forbidden":
			w.WriteHeader(http.StatusForbidden)
		case !found:
			http.NotFound(w, r)
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// action makes the folder that the runner keeps the action in when it is referred to by a ref.
func action(t *testing.T, ref string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "_actions", "acme", "kalypso", filepath.FromSlash(ref))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module x\n\ngo 1.26.3\n"), 0o600))
	return dir
}

func checksums(files map[string][]byte) string {
	var b strings.Builder
	for name, content := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), name)
	}
	return b.String()
}

// install is the first step of the action, referred to by a ref.
func install(t *testing.T, server, ref string, env map[string]string) stepResult {
	t.Helper()
	all := map[string]string{
		"GITHUB_ACTION_PATH": action(t, ref), "GITHUB_SERVER_URL": server, "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "INPUT_VERSION": "",
	}
	for name, value := range env {
		all[name] = value
	}
	return step{"install.sh", all}.run(t)
}

func TestActionInstallsRelease(t *testing.T) {
	t.Parallel()
	linux, mac, windows := tarGz(t, "kalypso"), tarGz(t, "kalypso"), tarGz(t, "kalypso.exe")
	server := releases(t, map[string]string{
		"v1.2.3/kalypso_1.2.3_linux_amd64.tar.gz":   string(linux),
		"v1.2.3/kalypso_1.2.3_darwin_arm64.tar.gz":  string(mac),
		"v1.2.3/kalypso_1.2.3_windows_amd64.tar.gz": string(windows),
		"v1.2.3/checksums.txt": checksums(map[string][]byte{
			"kalypso_1.2.3_linux_amd64.tar.gz": linux, "kalypso_1.2.3_darwin_arm64.tar.gz": mac, "kalypso_1.2.3_windows_amd64.tar.gz": windows,
		}),
	})
	for name, test := range map[string]struct {
		ref string
		env map[string]string
	}{
		"referred to":      {"v1.2.3", nil},
		"asked for":        {"main", map[string]string{"INPUT_VERSION": "v1.2.3"}},
		"macOS on arm":     {"v1.2.3", map[string]string{"RUNNER_OS": "macOS", "RUNNER_ARCH": "ARM64"}},
		"Windows":          {"v1.2.3", map[string]string{"RUNNER_OS": "Windows"}},
		"asked, by commit": {strings.Repeat("a", 40), map[string]string{"INPUT_VERSION": "v1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := install(t, server.URL, test.ref, test.env)
			require.Zero(t, got.code, got.said)
			assert.Equal(t, "false", got.outputs["build"])
			assert.Equal(t, "1.26", got.outputs["go-version"])
			assert.Equal(t, got.path, filepath.Dir(got.outputs["path"]))
			text, err := os.ReadFile(got.outputs["path"])
			require.NoError(t, err)
			assert.Equal(t, releasedProgram, string(text))
			info, err := os.Stat(got.outputs["path"])
			require.NoError(t, err)
			assert.NotZero(t, info.Mode()&0o100, "it can be run")
			left, err := os.ReadDir(got.path)
			require.NoError(t, err)
			assert.Len(t, left, 1, "nothing else comes on the PATH")
		})
	}
}

// TestActionInstallsSnapshot installs what make snapshot has made, for every system, and runs the program for this one.
func TestActionInstallsSnapshot(t *testing.T) {
	t.Parallel()
	dist, version := os.Getenv("DIST"), os.Getenv("SNAPSHOT")
	if dist == "" {
		t.Skip("DIST names no release")
	}
	server := httptest.NewServer(http.StripPrefix("/acme/kalypso/releases/download/"+version+"/", http.FileServer(http.Dir(dist))))
	t.Cleanup(server.Close)
	for runner, system := range map[string]string{"Linux": "linux", "macOS": "darwin", "Windows": "windows"} {
		for machine, arch := range map[string]string{"X64": "amd64", "ARM64": "arm64"} {
			got := install(t, server.URL, version, map[string]string{"RUNNER_OS": runner, "RUNNER_ARCH": machine})
			require.Zero(t, got.code, got.said)
			require.Equal(t, "false", got.outputs["build"], got.said)
			if system == runtime.GOOS && arch == runtime.GOARCH {
				said, err := exec.CommandContext(t.Context(), got.outputs["path"], "version").Output()
				require.NoError(t, err)
				assert.Contains(t, string(said), "platform  "+system+"/"+arch+"\n")
			}
		}
	}
}

func TestActionRefusesWrongRelease(t *testing.T) {
	t.Parallel()
	const name = "kalypso_1.2.3_linux_amd64.tar.gz"
	archive := tarGz(t, "kalypso")
	right := checksums(map[string][]byte{name: archive})
	for what, test := range map[string]struct{ checksums, archive, want string }{
		"other contents":     {right, string(tarGz(t, "kalypso2")), "checksums.txt of v1.2.3 has"},
		"no checksum":        {checksums(map[string][]byte{"kalypso_1.2.3_linux_arm64.tar.gz": archive}), string(archive), "does not have exactly one SHA-256"},
		"two checksums":      {right + strings.Repeat("0", 64) + "  " + name + "\n", string(archive), "does not have exactly one SHA-256"},
		"no SHA-256":         {"d41d8cd98f00b204e9800998ecf8427e  " + name + "\n", string(archive), "does not have exactly one SHA-256"},
		"no archive":         {checksums(map[string][]byte{name: []byte("x")}), "x", ""},
		"an other program":   {checksums(map[string][]byte{name: tarGz(t, "other")}), string(tarGz(t, "other")), ""},
		"a page of an error": {"<html>", string(archive), "does not have exactly one SHA-256"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := releases(t, map[string]string{"v1.2.3/checksums.txt": test.checksums, "v1.2.3/" + name: test.archive})
			got := install(t, server.URL, "v1.2.3", nil)
			assert.NotZero(t, got.code, got.said)
			assert.Contains(t, got.said, test.want)
			assert.Empty(t, got.path)
			assert.Empty(t, got.outputs, "nothing is built instead")
		})
	}
}

// TestActionVerifiesTheAttestation where gh can: checksums.txt is as good as the release that it is from.
func TestActionVerifiesTheAttestation(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("gh is a script")
	}
	const name = "kalypso_1.2.3_linux_amd64.tar.gz"
	archive := tarGz(t, "kalypso")
	server := releases(t, map[string]string{"v1.2.3/checksums.txt": checksums(map[string][]byte{name: archive}), "v1.2.3/" + name: string(archive)})
	const asked = "attestation verify " + name + " --repo acme/kalypso --signer-workflow acme/kalypso/.github/workflows/release.yaml"
	for what, test := range map[string]struct {
		gh   string // what the arguments of gh are compared with in a case of sh
		code int
		want string
	}{
		"verified":    {"*) exit 0 ;;", 0, "kalypso: verified that acme/kalypso/.github/workflows/release.yaml built " + name + "\n"},
		"not by us":   {"'" + asked + "') echo loading; echo 'Error: no attestations found'; exit 1 ;;", 1, "::error::kalypso: the attestation of " + name + " cannot be verified: Error: no attestations found\n"},
		"no token":    {"'auth token '*) exit 1 ;;", 0, "kalypso: the attestation is not verified: gh has no token for 127.0.0.1:"},
		"gh is old":   {"attestation*) exit 1 ;;", 0, "kalypso: the attestation is not verified: gh is missing or too old\n"},
		"there is no": {"*) exit 127 ;;", 0, "kalypso: the attestation is not verified: gh is missing or too old\n"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\necho \"$*\" >>'"+bin+"/asked'\ncase \"$*\" in "+test.gh+" esac\n"), 0o755))
			got := install(t, server.URL, "v1.2.3", map[string]string{"PATH": bin + ":" + os.Getenv("PATH")})
			assert.Equal(t, test.code, got.code, got.said)
			assert.Contains(t, got.said, test.want)
			assert.Equal(t, test.code == 0, got.path != "", "it is installed or not")
			if strings.Contains(test.want, "verified that") || test.code != 0 {
				assert.Contains(t, readIfThere(t, filepath.Join(bin, "asked")), "\n"+asked+"\n")
			}
		})
	}
}

func TestActionBuildsSourceWithoutRelease(t *testing.T) {
	t.Parallel()
	server := releases(t, map[string]string{
		"v2.0.0/checksums.txt": "x", "v3.0.0/checksums.txt": "forbidden",
	})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		server, ref string
		env         map[string]string
		want        string
	}{
		"commit":       {server.URL, strings.Repeat("a", 40), nil, strings.Repeat("a", 40) + " is no release: building from source"},
		"branch":       {server.URL, "main", nil, "main is no release"},
		"major":        {server.URL, "v1", nil, "v1 is no release"},
		"asked for":    {server.URL, "v1.2.3", map[string]string{"INPUT_VERSION": "source"}, "source is no release"},
		"not released": {server.URL, "v1.2.3", nil, "checksums.txt is not there (HTTP 404): building from source"},
		"no archive":   {server.URL, "v2.0.0", nil, "kalypso_2.0.0_linux_amd64.tar.gz is not there (HTTP 404)"},
		"forbidden":    {server.URL, "v3.0.0", nil, "is not there (HTTP 403)"},
		"no server":    {closed.URL, "v1.2.3", nil, "cannot be downloaded: building from source"},
		"no such arch": {server.URL, "v1.2.3", map[string]string{"RUNNER_ARCH": "ARM"}, "there are no releases for Linux on ARM"},
		"local":        {server.URL, "v1.2.3", map[string]string{"GITHUB_ACTION_PATH": "."}, "this checkout is no release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "local" {
				root, err := filepath.Abs(".")
				require.NoError(t, err)
				test.env["GITHUB_ACTION_PATH"] = root
			}
			got := install(t, test.server, test.ref, test.env)
			require.Zero(t, got.code, got.said)
			assert.Contains(t, got.said, test.want)
			assert.Equal(t, "true", got.outputs["build"])
			assert.Equal(t, "1.26", got.outputs["go-version"])
		})
	}
}

func TestActionInstallsWhatWasAskedForOrNothing(t *testing.T) {
	t.Parallel()
	server := releases(t, nil)
	for version, want := range map[string]string{
		"v9.9.9":               "::error::kalypso: v9.9.9 cannot be installed: ",
		"latest":               "neither a release such as v1.2.3 nor",
		"1.2.3":                "neither a release such as v1.2.3 nor",
		"v1.2.3/../../x":       "neither a release such as v1.2.3 nor",
		"v1.2.3\n::add-mask::": "neither a release such as v1.2.3 nor",
	} {
		got := install(t, server.URL, "main", map[string]string{"INPUT_VERSION": version})
		assert.Equal(t, 1, got.code, version)
		assert.Contains(t, got.said, want, version)
		assert.NotContains(t, got.said, "::add-mask")
		assert.Empty(t, got.outputs, version)
	}
}

func TestActionBuilds(t *testing.T) {
	if os.Getenv("KALYPSO_WHOLE_MATRIX") == "" {
		t.Skip("make ci-full builds the program as the action does, other steps as make does")
	}
	t.Parallel()
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "kalypso")
	env := map[string]string{"GITHUB_ACTION_PATH": root, "KALYPSO": program, "GOFLAGS": "-nonsense", "GOWORK": "/no/such"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		require.NoError(t, err)
		env[name] = strings.TrimSpace(string(value))
	}
	got := step{"build.sh", env}.run(t)
	require.Zero(t, got.code, got.said)
	said, err := exec.CommandContext(t.Context(), program, "version").Output()
	require.NoError(t, err)
	assert.Contains(t, string(said), "kalypso ")
}

// runAction runs the step that runs kalypso, with a program in its place that shows what it was given.
func runAction(t *testing.T, env map[string]string) stepResult {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script")
	}
	program := filepath.Join(t.TempDir(), "kalypso")
	require.NoError(t, os.WriteFile(program, []byte(`#!/usr/bin/env bash
if [ -n "${KALYPSO_SHOW_PID:-}" ]; then echo "process $$"; fi
printf 'argument <%s>\n' "$@"
env | grep -E '^(INPUT|KALYPSO|GITHUB_TOKEN)' | sort
if [ -n "${KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE:-}" ]; then
  echo "mode $(stat -c %a "$KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE" 2>/dev/null || stat -f %Lp "$KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE")"
  cat "$KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE"
fi
exit 4
`), 0o755))
	all := map[string]string{"KALYPSO": program, "INPUT_COMMAND": "render"}
	for name, value := range env {
		all[name] = value
	}
	got := step{"run.sh", all}.run(t)
	got.said = strings.ReplaceAll(got.said, program, "PROGRAM")
	return got
}

func TestActionRuns(t *testing.T) {
	t.Parallel()
	got := runAction(t, map[string]string{
		"INPUT_ENV": "dev,stage", "INPUT_CONTROL_PLANE": "https://github.com/acme/cp",
		"INPUT_ARGS":  "--label=a b\r\n\n--reviewer\n$(touch x) `y` \"z\"\n--last",
		"INPUT_TOKEN": "t1", "INPUT_GITOPS_TOKEN": "t2", "INPUT_CONTROL_PLANE_TOKEN": "t3", "INPUT_SOURCE_TOKEN": "t4",
		"INPUT_ALLOW_DELETIONS": "false", "INPUT_AUTO_MERGE": "true",
	})
	assert.Equal(t, 4, got.code, "the exit code is that of kalypso")
	assert.Equal(t, `argument <render>
argument <--label=a b>
argument <--reviewer>
argument <$(touch x) `+"`y`"+` "z">
argument <--last>
GITHUB_TOKEN=t1
KALYPSO=PROGRAM
KALYPSO_ALLOW_DELETIONS=false
KALYPSO_AUTO_MERGE=always
KALYPSO_CONTROL_PLANE=https://github.com/acme/cp
KALYPSO_CONTROL_PLANE_TOKEN=t3
KALYPSO_ENV=dev,stage
KALYPSO_GITOPS_TOKEN=t2
KALYPSO_SOURCE_TOKEN=t4
`, got.said)
}

// TestActionPromotes: a commit is a value and no argument, whatever whoever starts a workflow writes into it.
func TestActionPromotes(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"promote", "check-promote"} {
		got := runAction(t, map[string]string{
			"INPUT_COMMAND": command, "INPUT_ENV": "dev", "INPUT_COMMIT": "4c1f9e2\n--skip-gates", "INPUT_ARGS": "--fleet=none",
			"INPUT_CONTROL_PLANE_TOKEN": "t3",
		})
		assert.Equal(t, "argument <"+command+">\nargument <--fleet=none>\nKALYPSO=PROGRAM\nKALYPSO_COMMIT=4c1f9e2\n"+
			"KALYPSO_CONTROL_PLANE_TOKEN=t3\nKALYPSO_ENV=dev\n", got.said, command)
	}
}

func TestActionKeepsWhatTheJobSays(t *testing.T) {
	t.Parallel()
	got := runAction(t, map[string]string{
		"INPUT_ENV": "", "INPUT_TOKEN": "", "INPUT_AUTO_MERGE": "false", "KALYPSO_ENV": "dev", "GITHUB_TOKEN": "t",
	})
	assert.Equal(t, "argument <render>\nGITHUB_TOKEN=t\nKALYPSO=PROGRAM\nKALYPSO_ENV=dev\n", got.said)
}

func TestActionKeepsTheKeyToItself(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----"
	got := runAction(t, map[string]string{"INPUT_GITHUB_APP_ID": "123", "INPUT_GITHUB_APP_PRIVATE_KEY": key})
	assert.Equal(t, "argument <render>\nKALYPSO=PROGRAM\nKALYPSO_GITHUB_APP_ID=123\n"+
		"KALYPSO_GITHUB_APP_PRIVATE_KEY_FILE=PROGRAM.key\nmode 600\n"+key+"\n", got.said)
}

// TestActionPassesSignalsOn: the runner stops the process that it started, and that is kalypso by then.
func TestActionPassesSignalsOn(t *testing.T) {
	t.Parallel()
	got := runAction(t, map[string]string{"KALYPSO_SHOW_PID": "1"})
	assert.Contains(t, got.said, fmt.Sprintf("process %d\n", got.pid))
}

func TestActionRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"no command":       {map[string]string{"INPUT_COMMAND": ""}, "is not the name of a subcommand"},
		"a flag":           {map[string]string{"INPUT_COMMAND": "--help"}, "is not the name of a subcommand"},
		"two words":        {map[string]string{"INPUT_COMMAND": "render --direct"}, "is not the name of a subcommand"},
		"key without App":  {map[string]string{"INPUT_GITHUB_APP_PRIVATE_KEY": "SECRET"}, "needs github-app-id"},
		"hostile commands": {map[string]string{"INPUT_COMMAND": "x\n::add-mask::"}, "is not the name of a subcommand"},
	} {
		got := runAction(t, test.env)
		assert.Equal(t, 2, got.code, name)
		assert.Contains(t, got.said, test.want, name)
		assert.NotContains(t, got.said, "argument", name)
		assert.NotContains(t, got.said, "SECRET", name)
		assert.NotContains(t, got.said, "add-mask", name)
	}
}
