package gitops

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// store holds what was fetched from one repository, in memory.
type store struct {
	mu      sync.RWMutex
	objects map[plumbing.Hash]packObject
	// dropped is whether a pack held objects that could not be named.
	dropped bool
	// underWay are the files that are being fetched; the channel is closed when that has ended.
	underWay map[plumbing.Hash]chan struct{}
}

func (s *store) add(p *pack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = s.dropped || p.dropped > 0
	if s.objects == nil {
		s.objects = p.objects
		return
	}
	for id, object := range p.objects {
		s.objects[id] = object
	}
}

// giveUp marks requested files that did not arrive as too large if a pack had large objects without a known id.
func (s *store) giveUp(ids []plumbing.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, ok := s.objects[id]; !ok && s.dropped {
			s.objects[id] = packObject{kind: plumbing.BlobObject, size: -1}
		}
	}
}

// incomplete reports whether a file that is not there may have been too large to be named.
func (s *store) incomplete() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.dropped
}

func (s *store) object(kind plumbing.ObjectType, id plumbing.Hash) (packObject, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	object, ok := s.objects[id]
	return object, ok && object.kind == kind
}

// claim returns those of the ids that are not there, each once, and that nobody is fetching yet. The
// caller fetches them and then calls done, which also waits for what others are fetching.
func (s *store) claim(ctx context.Context, ids []plumbing.Hash) (mine []plumbing.Hash, done func()) {
	finished := make(chan struct{})
	others := map[chan struct{}]bool{}
	s.mu.Lock()
	if s.underWay == nil {
		s.underWay = map[plumbing.Hash]chan struct{}{}
	}
	for _, id := range ids {
		if _, ok := s.objects[id]; ok {
			continue
		}
		if other, ok := s.underWay[id]; !ok {
			s.underWay[id] = finished
			mine = append(mine, id)
		} else if other != finished {
			others[other] = true
		}
	}
	s.mu.Unlock()
	return mine, func() {
		s.mu.Lock()
		for _, id := range mine {
			delete(s.underWay, id)
		}
		s.mu.Unlock()
		close(finished)
		for other := range others {
			select {
			case <-other:
			case <-ctx.Done():
			}
		}
	}
}

// commit returns a commit that was fetched.
func (s *store) commit(id plumbing.Hash) (commitObject, bool, error) {
	object, ok := s.object(plumbing.CommitObject, id)
	if !ok {
		return commitObject{}, false, nil
	}
	commit, err := parseCommit(object.data)
	return commit, true, err
}

// fetched is the content of one commit of a remote repository.
type fetched struct {
	remote *remote
	commit plumbing.Hash
}

// tree implements objects.
func (f fetched) tree(id plumbing.Hash) ([]byte, error) {
	object, ok := f.remote.store.object(plumbing.TreeObject, id)
	if !ok {
		return nil, fmt.Errorf("the server left out the tree %s", id)
	}
	if object.tooLarge() {
		return nil, &TooLargeError{Size: object.size, Limit: f.remote.packLimits().tree}
	}
	return object.data, nil
}

// blob implements objects.
func (f fetched) blob(ctx context.Context, id plumbing.Hash) ([]byte, error) {
	object, ok := f.remote.store.object(plumbing.BlobObject, id)
	if !ok {
		if err := f.load(ctx, []plumbing.Hash{id}); err != nil {
			return nil, err
		}
		object, ok = f.remote.store.object(plumbing.BlobObject, id)
	}
	limit := f.remote.packLimits().object
	switch {
	case ok && object.tooLarge():
		return nil, &TooLargeError{Size: object.size, Limit: limit}
	case ok:
		return object.data, nil
	case f.remote.store.incomplete():
		return nil, &TooLargeError{Size: -1, Limit: limit}
	default:
		return nil, errors.New("the server left it out")
	}
}

// size implements objects.
func (f fetched) size(id plumbing.Hash) int64 {
	if object, ok := f.remote.store.object(plumbing.BlobObject, id); ok {
		return object.size
	}
	return -1
}

// load implements objects.
func (f fetched) load(ctx context.Context, ids []plumbing.Hash) error {
	return f.remote.load(ctx, f.commit, ids)
}
