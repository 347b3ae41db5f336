package main

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // what git uses
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

// hostilePack writes packs that git would not.
type hostilePack struct {
	bytes.Buffer
	count uint32
	// deflate is kept, as a new one for each object would take most of the time.
	deflate *zlib.Writer
}

// The kinds of objects in a pack.
const (
	packedCommit, packedTree, packedBlob, packedDelta = 1, 2, 3, 7
)

// add appends an object, and returns the id that it would have if it were whole.
func (p *hostilePack) add(kind byte, content, base []byte) []byte {
	size := len(content)
	first := kind<<4 | byte(size&0xf)
	for size >>= 4; size > 0; size >>= 7 {
		p.WriteByte(first | 0x80)
		first = byte(size & 0x7f)
	}
	p.WriteByte(first)
	p.Write(base)
	if p.deflate == nil {
		p.deflate = zlib.NewWriter(p)
	}
	p.deflate.Reset(p)
	_, _ = p.deflate.Write(content)
	_ = p.deflate.Close()
	p.count++
	name := map[byte]string{packedCommit: "commit", packedTree: "tree", packedBlob: "blob"}[kind]
	id := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", name, len(content)), content...)) // what git uses
	return id[:]
}

// bytes returns the whole pack.
func (p *hostilePack) bytes() []byte {
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), p.count)
	data := slices.Concat(head, p.Bytes())
	sum := sha1.Sum(data) // what git uses
	return append(data, sum[:]...)
}

// deltas appends n deltas of a few bytes, each of which makes an object of 960 KiB.
func (p *hostilePack) deltas(n int) {
	const copies = 15
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	base := p.add(packedBlob, chunk, nil)
	for i := range n {
		delta := binary.AppendUvarint(binary.AppendUvarint(nil, 64<<10), copies<<16+4)
		delta = append(delta, bytes.Repeat([]byte{0x80}, copies)...)        // 64 KiB from the start
		delta = append(delta, 4, byte(i), byte(i>>8), byte(i>>16), byte(n)) // so that no two are the same
		p.add(packedDelta, delta, base)
	}
}

// commit appends a commit with one file, and returns its id.
func (p *hostilePack) commit(file []byte) []byte {
	tree := p.add(packedTree, append([]byte("100644 a.yaml\x00"), file...), nil)
	return p.add(packedCommit, fmt.Appendf(nil, "tree %x\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n", tree), nil)
}

func pktLine(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// hostileServer answers git clients as each repository does in its own way.
func hostileServer(t *testing.T) (url string) {
	t.Helper()
	blob := bytes.Repeat([]byte{7}, 20)
	trees, bomb, many := &hostilePack{}, &hostilePack{}, &hostilePack{}
	tip := trees.commit(blob)
	bomb.commit(blob)
	bomb.deltas(500)
	many.add(packedBlob, bytes.Repeat([]byte("y"), 1<<20-1), nil)
	many.count = 1000
	one := bytes.Clone(many.Bytes())
	for range many.count - 1 {
		many.Write(one)
	}
	answers := map[string]struct{ first, later []byte }{
		"/deltas.git": {bomb.bytes(), bomb.bytes()}, "/rounds.git": {trees.bytes(), bomb.bytes()}, "/many.git": {trees.bytes(), many.bytes()},
	}
	mux := http.NewServeMux()
	for repo, answer := range answers {
		asked := 0
		mux.HandleFunc("GET "+repo+"/info/refs", func(w http.ResponseWriter, _ *http.Request) { advertise(w, tip, 1) })
		mux.HandleFunc("POST "+repo+"/git-upload-pack", func(w http.ResponseWriter, r *http.Request) {
			request, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			if bytes.Contains(request, []byte("deepen")) {
				_, _ = io.WriteString(w, pktLine(fmt.Sprintf("shallow %x", tip))+"0000")
			}
			_, _ = io.WriteString(w, pktLine("NAK\n"))
			pack := answer.first
			if asked++; asked > 1 {
				pack = answer.later
			}
			_, _ = w.Write(pack)
		})
	}
	mux.HandleFunc("GET /refs.git/info/refs", func(w http.ResponseWriter, _ *http.Request) { advertise(w, tip, 4<<20) })
	mux.HandleFunc("GET /drip.git/info/refs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(w, "fff0")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// advertise lists the branch main and, with names of 30 bytes, so many others.
func advertise(w http.ResponseWriter, tip []byte, refs int) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, pktLine("# service=git-upload-pack\n")+"0000")
	_, _ = io.WriteString(w, pktLine(fmt.Sprintf("%x refs/heads/main\x00shallow filter allow-reachable-sha1-in-want\n", tip)))
	for i := range refs {
		if _, err := io.WriteString(w, pktLine(fmt.Sprintf("%x refs/heads/other-%012d\n", tip, i))); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "0000")
}

// largeFiles is how many files of 2 MiB the tenant "large" has: more than its limit of 32 MiB, if they were read.
const largeFiles = 17

// hostileTenants are the attackers, and what is said of them.
var hostileTenants = map[string]string{
	"deltas": "is refused: it has more than 32 MiB",
	"rounds": "is refused: it has more than 32 MiB",
	"many":   "is refused: it has more than 32 MiB",
	"refs":   "is refused: its list of branches and tags has more than 16 MiB",
	"drip":   "is no longer read in this run: its server took more than 8s",
	"large":  "[file-too-large]",
}

// TestS8HostileServers registers tenants whose servers try to exhaust the machine. Each is bounded over all of its answers,
// and everybody else is published.
func TestS8HostileServers(t *testing.T) {
	t.Parallel()
	root, args := hostileFleet(t)
	got, peak := finishWatched(t, ourProgram(t, append(holdArgs(root, args...), "--tenant-limit", "seconds=8")))
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	for name, said := range hostileTenants {
		assert.Contains(t, got.stderr, said, name)
		assert.Contains(t, got.stderr, fmt.Sprintf("WorkloadRegistration %q is quarantined", name))
	}
	assert.Equal(t, largeFiles, strings.Count(got.stderr, "[file-too-large]"))
	assert.Contains(t, publishedAcme(t, root, "dev"), "edge/app-1-web/reconciler.yaml", got.stderr)
	if !raceDetector {
		assert.Less(t, peak, 300<<10, "KiB")
	}
}

// finishWatched runs a program to its end and returns its peak memory in KiB; 0 if the system does not report it.
func finishWatched(t *testing.T, cmd *exec.Cmd) (got outcome, peak int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what came of it is in its state
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, peak
		case <-time.After(20 * time.Millisecond):
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if _, rest, found := strings.Cut(string(status), "VmHWM:"); found {
			_, _ = fmt.Sscan(rest, &peak)
		}
	}
}

// hostileFleet is the fleet with the tenants of hostileTenants, and the arguments that read them.
func hostileFleet(t *testing.T) (root string, args []string) {
	t.Helper()
	root = acmeFleet(t)
	url := hostileServer(t)
	files := gitopstest.Files{}
	for i := range largeFiles {
		files[fmt.Sprintf("%d.yaml", i)] = "a: " + strings.Repeat("z", 2<<20-5) + fmt.Sprintf("%02d", i)
	}
	main := acmeMain()
	for name := range hostileTenants {
		main[name+".yaml"] = acmeObject("WorkloadRegistration", name, "spec: {workload: {repo: "+acme(name)+", branch: main}, workspace: "+name+"}")
		if name == "large" {
			server := gitopstest.NewServer(t)
			at, _ := server.Add("large", gitopstest.Commit{Files: files})
			args = append(args, "--replace", acme(name)+"="+at)
			continue
		}
		args = append(args, "--replace", acme(name)+"="+url+"/"+name+".git")
	}
	addRepo(t, root, "control-plane", gitopstest.Commit{Files: main})
	require.DirExists(t, filepath.Join(root, "control-plane.git"))
	return root, args
}

// TestS11RedirectedTenant: the server of an application redirects to another host. Nobody is asked there, the token for
// applications goes to neither of the two, and everybody else is published.
func TestS11RedirectedTenant(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	var asked atomic.Int64
	elsewhere := serve(t, root, 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		asked.Add(1)
		next.ServeHTTP(w, r)
	})
	named := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a token came")
		}
		if strings.HasPrefix(r.URL.Path, "/app-3") {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, elsewhere+r.URL.Path+"?"+r.URL.RawQuery, http.StatusFound)
	}))
	t.Cleanup(named.Close)
	args := append(holdArgs(root), "--replace", acme("app-2")+"="+named.URL+"/app-2.git", "--replace", acme("app-3")+"="+named.URL+"/app-3.git")
	got := finish(t, ourProgram(t, args, "KALYPSO_SOURCE_TOKEN=s3cr3t-t0ken"))
	assert.Equal(t, cli.ExitModel, got.code, got.stderr)
	assert.Contains(t, got.stderr, "it redirects to "+elsewhere+", which is not followed: it is not on "+named.URL+" [refused-url]")
	assert.Contains(t, got.stderr, "hint: KALYPSO_SOURCE_TOKEN is not sent to "+strings.TrimPrefix(named.URL, "http://")+": add the host to KALYPSO_TOKEN_HOSTS")
	assert.Zero(t, asked.Load())
	assert.Contains(t, publishedAcme(t, root, "dev"), "edge/app-1-web/reconciler.yaml")
}

// TestR5DatesOfTenants publishes applications whose commits are dated later than all of the platform's: by a few hours, which
// counts, and by years, which does not.
func TestR5DatesOfTenants(t *testing.T) {
	t.Parallel()
	root := acmeFleet(t)
	dated := func() int64 {
		out, err := gitopstest.Git(filepath.Join(root, "gitops.git"), "log", "-1", "--format=%ct", "dev")
		require.NoError(t, err)
		seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
		require.NoError(t, err)
		return seconds
	}
	mustRun(t, publishArgs(root)...)
	first := dated()
	for branch, test := range map[string]struct{ date, want int64 }{
		"years": {4_070_908_800, first}, "two-days": {first + 48*3600, first}, "hours": {first + 23*3600, first + 23*3600},
	} {
		addRepo(t, root, "app-2", gitopstest.Commit{Files: acmeApp("app-2", branch), Time: test.date})
		_, err := gitopstest.Git(filepath.Join(root, "gitops.git"), "branch", "-f", "before", "dev")
		require.NoError(t, err)
		mustRun(t, publishArgs(root)...)
		assert.Contains(t, publishedAcme(t, root, "dev")["edge/app-2-web/reconciler.yaml"], branch)
		assert.Equal(t, test.want, dated(), branch)
		_, err = gitopstest.Git(filepath.Join(root, "gitops.git"), "update-ref", "refs/heads/dev", "before")
		require.NoError(t, err)
	}
}
