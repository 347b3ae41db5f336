package gitops

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// wire is a way to speak with a git server.
type wire interface {
	advertise(attempt) (*packp.AdvRefs, error)
	uploadPack(attempt, *packp.UploadPackRequest) (io.ReadCloser, error)
}

// remote is a repository on a server, seen with one credential.
type remote struct {
	at   location
	role model.Role
	wire wire
	net  *network
	keys *keyring
	// budget is nil for the platform's repositories.
	budget *budget

	capabilities *capability.List
	// branches are the tips by name; standard is the name of the branch that HEAD is.
	branches map[string]plumbing.Hash
	standard string
	// advertised are all ids that the server named.
	advertised map[plumbing.Hash]bool
	// anyID is whether the server takes wants that it did not name.
	anyID bool

	store   store
	parsed  treeCache
	commits memo[plumbing.Hash, commitObject]
	recents memo[recentKey, commitGraph]

	mu sync.Mutex
	// whole are the commits that were fetched with their files.
	whole map[plumbing.Hash]bool
}

// remoteKey identifies a remote: one repository may be read with different tokens in different roles, and has separate
// limits as an application repository.
type remoteKey struct {
	name, origin string
	tenant       bool
}

// remote connects to a repository, once.
func (c *connections) remote(ctx context.Context, at location, role model.Role) (*remote, error) {
	at.address = c.form(at)
	known, err := c.keys.known(ctx, role, at.address)
	if err != nil {
		return nil, at.explain(err)
	}
	key := remoteKey{name: at.read, tenant: role == model.Tenant}
	if known != nil {
		key.origin = known.origin
	}
	return c.remotes.do(ctx, key, func() (*remote, error) {
		m := c.newRemote(at, role)
		return m, m.connect(ctx, known)
	})
}

func (c *connections) newRemote(at location, role model.Role) *remote {
	return &remote{at: at, role: role, net: c.net, keys: c.keys, budget: c.budgetOf(at, role), whole: map[plumbing.Hash]bool{}}
}

// overHTTP returns an HTTP connection to the server with a credential, or without one if c is nil.
func (m *remote) overHTTP(c *credential) *httpWire {
	w := newHTTPWire(m.net.transport, m.at.address, c)
	if m.role == model.Tenant {
		w.maxAdvertisement, w.stays = maxTenantAdvertisement, true
	}
	return w
}

// remoteNow connects to a repository anew, and sees it as it is by now.
func (c *connections) remoteNow(ctx context.Context, at location, role model.Role) (*remote, error) {
	at.address = c.form(at)
	known, err := c.keys.known(ctx, role, at.address)
	if err != nil {
		return nil, at.explain(err)
	}
	m := c.newRemote(at, role)
	return m, m.connect(ctx, known)
}

// connect asks the server what it has: with the credential that is known, or without one and then,
// if it wants one, with what git's helpers know.
func (m *remote) connect(ctx context.Context, known *credential) error {
	a := m.at.address
	if a.scheme == "ssh" {
		w, err := newSSHWire(a)
		if err != nil {
			return m.explain(err)
		}
		m.wire = w
		return m.explain(m.advertise(ctx))
	}
	m.wire = m.overHTTP(known)
	err := m.advertise(ctx)
	var status *statusError
	if known == nil && errors.As(err, &status) && status.code == http.StatusUnauthorized {
		if asked := m.keys.ask(ctx, a); asked != nil {
			m.wire = m.overHTTP(asked)
			err = m.advertise(ctx)
		} else if ctx.Err() != nil { // whether there is a credential is not known
			err = interrupted(ctx)
		}
	}
	return m.explain(err)
}

func (m *remote) advertise(ctx context.Context) error {
	var refs *packp.AdvRefs
	err := m.net.retry(ctx, m.budget, func(at attempt) (err error) {
		refs, err = m.wire.advertise(at)
		return err
	})
	if err != nil {
		return m.spend(err)
	}
	m.capabilities = refs.Capabilities
	m.branches = branchesOf(refs)
	m.advertised = map[plumbing.Hash]bool{}
	for _, id := range refs.References {
		m.advertised[id] = true
	}
	m.standard = standardBranch(refs, m.branches)
	_, overHTTP := m.wire.(*httpWire)
	m.anyID = overHTTP || m.capabilities.Supports(capability.AllowReachableSHA1InWant)
	return nil
}

// standardBranch is the branch that HEAD points to. Servers that do not say so are old; there it is
// the first branch with the same commit.
func standardBranch(refs *packp.AdvRefs, branches map[string]plumbing.Hash) string {
	for _, value := range refs.Capabilities.Get(capability.SymRef) {
		if branch, found := strings.CutPrefix(value, "HEAD:refs/heads/"); found {
			return branch
		}
	}
	var same []string
	for name, id := range branches {
		if refs.Head != nil && *refs.Head == id {
			same = append(same, name)
		}
	}
	if len(same) == 0 {
		return ""
	}
	return slices.Min(same)
}

// tip returns the commit of a branch and the branch's name. An empty name is the standard branch.
func (m *remote) tip(branch string) (plumbing.Hash, string, error) {
	if branch == "" {
		branch = m.standard
	}
	if id, ok := m.branches[branch]; ok {
		return id, branch, nil
	}
	names := make([]string, 0, len(m.branches))
	for name := range m.branches {
		names = append(names, name)
	}
	slices.Sort(names)
	return plumbing.ZeroHash, branch, noBranch(m.at.String(), branch, names)
}

// remoteTip resolves a branch: once, whatever credential it is asked with.
func (c *connections) remoteTip(ctx context.Context, at location, ref model.Ref) (plumbing.Hash, string, error) {
	m, err := c.remote(ctx, at, ref.Role)
	if err != nil {
		return plumbing.ZeroHash, "", err
	}
	id, branch, err := m.tip(ref.Branch)
	if err != nil {
		return plumbing.ZeroHash, "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := pin{at.read, branch}
	if pinned, ok := c.pins[key]; ok {
		return pinned, branch, nil
	}
	if c.pins == nil {
		c.pins = map[pin]plumbing.Hash{}
	}
	c.pins[key] = id
	return id, branch, nil
}

// pin names a branch that was resolved.
type pin struct{ repo, branch string }

// commit fetches a commit with its trees, once.
func (m *remote) commit(ctx context.Context, id plumbing.Hash, branch string) (commitObject, error) {
	return m.commits.do(ctx, id, func() (commitObject, error) {
		err := error(&serverError{"it takes only the tips of branches"})
		if m.anyID || m.advertised[id] {
			err = m.fetchTip(ctx, id)
		}
		if refusedWant(err) {
			err = m.fetchHistory(ctx, id, branch)
		}
		if err != nil {
			return commitObject{}, m.explain(err)
		}
		commit, ok, err := m.store.commit(id)
		if err != nil {
			return commitObject{}, problem(RuleInvalidRepository, "%s holds %v", m.at, err)
		}
		if !ok {
			return commitObject{}, m.noCommit(id, branch)
		}
		return commit, nil
	})
}

// refusedWant reports whether a server did not accept an id. How it says so differs: with an error
// line, in a side band, or by hanging up.
func refusedWant(err error) bool {
	var said *serverError
	return errors.As(err, &said) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (m *remote) noCommit(id plumbing.Hash, branch string) *Error {
	if branch == "" {
		return problem(RuleCommitNotFound, "%s has no commit %s", m.at, id)
	}
	return problem(RuleCommitNotFound, "%s has no commit %s on the branch %q", m.at, id, branch)
}

// fetchTip fetches one commit: its trees, and its files too if they cannot be had by themselves.
func (m *remote) fetchTip(ctx context.Context, id plumbing.Hash) error {
	if !m.anyID || !m.capabilities.Supports(capability.Filter) {
		return m.fetchWhole(ctx, id)
	}
	request := m.request(id)
	if err := m.deepen(request, 1); err != nil {
		return err
	}
	if err := filter(request, packp.FilterBlobNone()); err != nil {
		return err
	}
	return m.fetch(ctx, request)
}

// fetchWhole fetches one commit with its files.
func (m *remote) fetchWhole(ctx context.Context, id plumbing.Hash) error {
	request := m.request(id)
	if err := m.deepen(request, 1); err != nil {
		return err
	}
	if err := m.fetch(ctx, request); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole[id] = true
	return nil
}

// fetchHistory fetches a commit that the server does not give by its id, through the branch that it
// is said to be on.
func (m *remote) fetchHistory(ctx context.Context, id plumbing.Hash, branch string) error {
	tip, branch, err := m.tip(branch)
	if err != nil {
		return m.noCommit(id, branch)
	}
	depth, err := m.depthOf(ctx, id, tip)
	if err != nil {
		return err
	}
	if depth == 0 {
		return m.noCommit(id, branch)
	}
	request := m.request(tip)
	if depth > 0 {
		if err := m.deepen(request, depth); err != nil {
			return err
		}
	}
	if err := m.fetch(ctx, request); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole[id] = true
	return nil
}

// depthOf says how many commits deep a branch must be fetched to have one of its commits: 0 if it
// is not on the branch, -1 if the server cannot send commits alone.
func (m *remote) depthOf(ctx context.Context, id, tip plumbing.Hash) (int, error) {
	if !m.capabilities.Supports(capability.Filter) {
		return -1, nil
	}
	request := m.request(tip)
	if err := filter(request, packp.FilterTreeDepth(0)); err != nil {
		return 0, err
	}
	p, err := m.pack(ctx, request)
	if refusedWant(err) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	return depthIn(p, id, tip), nil
}

// depthIn walks from a tip, generation by generation, to a commit.
func depthIn(p *pack, id, tip plumbing.Hash) int {
	seen := map[plumbing.Hash]bool{tip: true}
	generation := []plumbing.Hash{tip}
	for depth := 1; len(generation) > 0; depth++ {
		var next []plumbing.Hash
		for _, at := range generation {
			if at == id {
				return depth
			}
			commit, err := parseCommit(p.objects[at].data)
			if err != nil {
				continue
			}
			for _, parent := range commit.parents {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		generation = next
	}
	return 0
}

// wantsPerRequest keeps a request below the 10 MB that git http-backend takes.
const wantsPerRequest = 100_000

// load fetches files of a commit that are not there yet.
func (m *remote) load(ctx context.Context, commit plumbing.Hash, ids []plumbing.Hash) error {
	m.mu.Lock()
	whole := m.whole[commit]
	m.mu.Unlock()
	if whole {
		return nil
	}
	missing, done := m.store.claim(ctx, ids)
	defer done()
	for chunk := range slices.Chunk(missing, wantsPerRequest) {
		err := m.fetch(ctx, m.request(chunk...))
		if refusedWant(err) {
			return m.explain(m.fetchWhole(ctx, commit))
		}
		if err != nil {
			return m.explain(err)
		}
		m.store.giveUp(chunk)
	}
	return nil
}

// request makes a request for some ids with what this client and the server have in common.
func (m *remote) request(ids ...plumbing.Hash) *packp.UploadPackRequest {
	request := packp.NewUploadPackRequestFromCapabilities(m.capabilities)
	request.Wants = ids
	request.Capabilities.Delete(capability.ThinPack)
	request.Capabilities.Delete(capability.Agent)
	if m.capabilities.Supports(capability.NoProgress) {
		// A flag without a value cannot be refused.
		_ = request.Capabilities.Set(capability.NoProgress)
	}
	return request
}

// deepen bounds the history of a request, if the server can do that.
func (m *remote) deepen(request *packp.UploadPackRequest, depth int) error {
	if !m.capabilities.Supports(capability.Shallow) {
		return nil
	}
	request.Depth = packp.DepthCommits(depth)
	return request.Capabilities.Set(capability.Shallow)
}

func filter(request *packp.UploadPackRequest, f packp.Filter) error {
	request.Filter = f
	return request.Capabilities.Set(capability.Filter)
}

// fetch adds to the store what a request brings.
func (m *remote) fetch(ctx context.Context, request *packp.UploadPackRequest) error {
	p, err := m.pack(ctx, request)
	if err != nil {
		return err
	}
	m.store.add(p)
	return nil
}

// pack sends a request and reads the pack that it brings.
func (m *remote) pack(ctx context.Context, request *packp.UploadPackRequest) (*pack, error) {
	return m.packOf(ctx, request, plumbing.InvalidObject)
}

// packOf is pack for objects of one kind, or of all: plumbing.InvalidObject.
func (m *remote) packOf(ctx context.Context, request *packp.UploadPackRequest, only plumbing.ObjectType) (*pack, error) {
	limits := m.packLimits()
	limits.only = only
	var p *pack
	err := m.net.retry(ctx, m.budget, func(at attempt) error {
		answer, err := m.wire.uploadPack(at, request)
		if err != nil {
			return err
		}
		defer answer.Close()
		p, err = readPack(demultiplex(answer, request), limits)
		return err
	})
	return p, m.spend(err)
}

// packLimits returns the limits for inflating a pack of the repository.
func (m *remote) packLimits() packLimits {
	all := m.net.limits
	if m.budget == nil {
		return packLimits{object: all.Object, tree: all.Object, total: all.Total, objects: all.Objects}
	}
	own := m.budget.limits
	return packLimits{object: own.File, tree: maxTreeBytes, total: own.Total, objects: all.Objects, spent: &m.budget.packs}
}

// spend exhausts the budget of an application repository if err is a packLimitError, so that it is not read again.
func (m *remote) spend(err error) error {
	var tooMuch packLimitError
	if m.budget != nil && errors.As(err, &tooMuch) {
		return m.budget.exhaust(err)
	}
	return err
}

// demultiplex takes the pack out of the side bands, if the request asked for any.
func demultiplex(r io.Reader, request *packp.UploadPackRequest) io.Reader {
	switch {
	case request.Capabilities.Supports(capability.Sideband64k):
		return bandReader{sideband.NewDemuxer(sideband.Sideband64k, r)}
	case request.Capabilities.Supports(capability.Sideband):
		return bandReader{sideband.NewDemuxer(sideband.Sideband, r)}
	default:
		return r
	}
}

// bandReader tells what the server says in the error band from a broken connection.
type bandReader struct{ demuxer *sideband.Demuxer }

func (r bandReader) Read(b []byte) (int, error) {
	n, err := r.demuxer.Read(b)
	return n, asServerError(err)
}
