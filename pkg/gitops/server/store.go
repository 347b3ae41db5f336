package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
)

// store has the objects that were fetched from one repository, in memory.
type store struct {
	mu      sync.RWMutex
	objects map[plumbing.Hash]gitobject.PackObject
	// dropped is true if a pack had objects with an unknown id.
	dropped bool
	// pending are the files that are being fetched; the channel is closed at the end.
	pending map[plumbing.Hash]chan struct{}
}

func (s *store) add(p *gitobject.Pack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = s.dropped || p.Dropped > 0
	if s.objects == nil {
		s.objects = p.Objects
		return
	}
	maps.Copy(s.objects, p.Objects)
}

// giveUp marks requested files that did not arrive as too large if a pack had large objects without a known id.
func (s *store) giveUp(ids []plumbing.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if _, ok := s.objects[id]; !ok && s.dropped {
			s.objects[id] = gitobject.PackObject{Kind: plumbing.BlobObject, Size: -1}
		}
	}
}

func (s *store) object(kind plumbing.ObjectType, id plumbing.Hash) (gitobject.PackObject, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	object, ok := s.objects[id]
	return object, ok && object.Kind == kind
}

// claim returns the ids that are missing and not being fetched yet. The caller fetches them and then calls done, which also
// waits for those that others are fetching.
func (s *store) claim(ctx context.Context, ids []plumbing.Hash) (mine []plumbing.Hash, done func()) {
	finished := make(chan struct{})
	others := map[chan struct{}]bool{}
	s.mu.Lock()
	if s.pending == nil {
		s.pending = map[plumbing.Hash]chan struct{}{}
	}
	for _, id := range ids {
		if _, ok := s.objects[id]; ok {
			continue
		}
		if other, ok := s.pending[id]; !ok {
			s.pending[id] = finished
			mine = append(mine, id)
		} else if other != finished {
			others[other] = true
		}
	}
	s.mu.Unlock()
	return mine, func() {
		s.mu.Lock()
		for _, id := range mine {
			delete(s.pending, id)
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

func (s *store) commit(id plumbing.Hash) (gitobject.CommitObject, bool, error) {
	object, ok := s.object(plumbing.CommitObject, id)
	if !ok {
		return gitobject.CommitObject{}, false, nil
	}
	commit, err := gitobject.ParseCommit(object.Data)
	return commit, true, err
}

// fetched implements gitobject.Store for one commit.
type fetched struct {
	repo   *Repository
	commit plumbing.Hash
}

// Tree implements gitobject.Store.
func (f fetched) Tree(id plumbing.Hash) ([]byte, error) {
	object, ok := f.repo.store.object(plumbing.TreeObject, id)
	if !ok {
		return nil, fmt.Errorf("the server omitted the tree %s", id)
	}
	if object.TooLarge() {
		return nil, &gitobject.TooLargeError{Size: object.Size, Limit: f.repo.packLimits().Tree}
	}
	return object.Data, nil
}

// Blob implements gitobject.Store.
func (f fetched) Blob(ctx context.Context, id plumbing.Hash) ([]byte, error) {
	object, ok := f.repo.store.object(plumbing.BlobObject, id)
	if !ok {
		if err := f.Load(ctx, []plumbing.Hash{id}); err != nil {
			return nil, err
		}
		object, ok = f.repo.store.object(plumbing.BlobObject, id)
	}
	limit := f.repo.packLimits().Object
	switch {
	case ok && object.TooLarge():
		return nil, &gitobject.TooLargeError{Size: object.Size, Limit: limit}
	case ok:
		return object.Data, nil
	default:
		return nil, errors.New("the server omitted it")
	}
}

// Size implements gitobject.Store.
func (f fetched) Size(id plumbing.Hash) int64 {
	if object, ok := f.repo.store.object(plumbing.BlobObject, id); ok {
		return object.Size
	}
	return -1
}

// Load implements gitobject.Store.
func (f fetched) Load(ctx context.Context, ids []plumbing.Hash) error {
	return f.repo.load(ctx, f.commit, ids)
}
