// Package storage stores artifacts as files in a directory, for tests. It keeps the newest artifact of each object.
package storage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/artifact/config"
	"github.com/fluxcd/pkg/artifact/digest"
	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
	godigest "github.com/opencontainers/go-digest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Storage is a directory of artifacts.
type Storage struct {
	BasePath, Hostname string

	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

func New(o *config.Options) (*Storage, error) {
	if fi, err := os.Stat(o.StoragePath); err != nil || !fi.IsDir() {
		return nil, fmt.Errorf("invalid directory of artifacts %q", o.StoragePath)
	}
	return &Storage{BasePath: o.StoragePath, Hostname: o.StorageAdvAddress, locks: map[string]*sync.Mutex{}}, nil
}

func (s *Storage) NewArtifactFor(kind string, m metav1.Object, revision, file string) meta.Artifact {
	a := meta.Artifact{Path: path.Join(strings.ToLower(kind), m.GetNamespace(), m.GetName(), file), Revision: revision}
	s.SetArtifactURL(&a)
	return a
}

func (s *Storage) SetArtifactURL(a *meta.Artifact) {
	if a == nil || a.Path == "" {
		return
	}
	a.URL = "http://" + s.Hostname + "/" + strings.TrimPrefix(a.Path, "/")
}

func (s *Storage) SetHostname(u string) string {
	p, err := url.Parse(u)
	if err != nil || u == "" {
		return u
	}
	p.Host = s.Hostname
	return p.String()
}

func (s *Storage) LocalPath(a meta.Artifact) string {
	if a.Path == "" {
		return ""
	}
	return filepath.Join(s.BasePath, filepath.FromSlash(path.Clean("/"+a.Path)))
}

func (s *Storage) dir(a meta.Artifact) string { return filepath.Dir(s.LocalPath(a)) }

func (s *Storage) MkdirAll(a meta.Artifact) error { return os.MkdirAll(s.dir(a), 0o700) }

func (s *Storage) Remove(a meta.Artifact) error { return os.Remove(s.LocalPath(a)) }

func (s *Storage) RemoveAll(a meta.Artifact) (string, error) {
	d := s.dir(a)
	if _, err := os.Stat(d); err != nil {
		return "", nil
	}
	return d, os.RemoveAll(d)
}

// GarbageCollect removes older artifacts of the object after a minute.
func (s *Storage) GarbageCollect(_ context.Context, a meta.Artifact, _ time.Duration) ([]string, error) {
	es, err := os.ReadDir(s.dir(a))
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, e := range es {
		p := filepath.Join(s.dir(a), e.Name())
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() || p == s.LocalPath(a) || time.Since(fi.ModTime()) < time.Minute {
			continue
		}
		if err := os.Remove(p); err != nil {
			return gone, err
		}
		gone = append(gone, p)
	}
	return gone, nil
}

func (s *Storage) ArtifactExist(a meta.Artifact) bool {
	fi, err := os.Lstat(s.LocalPath(a))
	return err == nil && fi.Mode().IsRegular()
}

func (s *Storage) VerifyArtifact(a meta.Artifact) error {
	d, err := godigest.Parse(a.Digest)
	if err != nil {
		return err
	}
	f, err := os.Open(s.LocalPath(a))
	if err != nil {
		return err
	}
	defer f.Close()
	v := d.Verifier()
	if _, err := io.Copy(v, f); err != nil {
		return err
	}
	if !v.Verified() {
		return errors.New("digest of the artifact does not match")
	}
	return nil
}

// ArchiveFileFilter reports whether to omit a file.
type ArchiveFileFilter func(p string, fi os.FileInfo) bool

func SourceIgnoreFilter(ps []gitignore.Pattern, domain []string) ArchiveFileFilter {
	m := sourceignore.NewDefaultMatcher(ps, domain)
	if ps != nil {
		m = sourceignore.NewMatcher(append(sourceignore.VCSPatterns(domain), ps...))
	}
	return func(p string, fi os.FileInfo) bool {
		return m.Match(strings.Split(p, string(filepath.Separator)), fi.IsDir())
	}
}

func (s *Storage) Archive(a *meta.Artifact, dir string, skip ArchiveFileFilter) error {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	t := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if !fi.Mode().IsRegular() || skip != nil && skip(p, fi) {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(rel), Mode: 0o600, Size: fi.Size()}
		if fi.Mode()&0o100 != 0 {
			h.Mode = 0o700
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(t, f)
		return err
	})
	if err := errors.Join(err, t.Close(), z.Close()); err != nil {
		return err
	}
	return s.AtomicWriteFile(a, &b, 0o600)
}

func (s *Storage) AtomicWriteFile(a *meta.Artifact, r io.Reader, mode os.FileMode) error {
	f, err := os.CreateTemp(s.dir(*a), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	d := digest.Canonical.Digester()
	n, err := io.Copy(io.MultiWriter(f, d.Hash()), r)
	if err := errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.LocalPath(*a)); err != nil {
		return err
	}
	a.Digest, a.Size, a.LastUpdateTime = d.Digest().String(), &n, metav1.Now()
	return nil
}

func (s *Storage) Copy(a *meta.Artifact, r io.Reader) error { return s.AtomicWriteFile(a, r, 0o600) }

func (s *Storage) CopyFromPath(a *meta.Artifact, p string) error {
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.Copy(a, f)
}

func (s *Storage) CopyToPath(*meta.Artifact, string, string) error {
	return errors.New("spec.include is not implemented")
}

func (s *Storage) Symlink(a meta.Artifact, name string) (string, error) {
	link := filepath.Join(s.dir(a), name)
	os.Remove(link)
	if err := os.Symlink(s.LocalPath(a), link); err != nil {
		return "", err
	}
	return "http://" + s.Hostname + "/" + path.Join(path.Dir(a.Path), name), nil
}

func (s *Storage) Lock(a meta.Artifact) (func(), error) {
	s.mu.Lock()
	m := s.locks[a.Path]
	if m == nil {
		m = new(sync.Mutex)
		s.locks[a.Path] = m
	}
	s.mu.Unlock()
	m.Lock()
	return m.Unlock, nil
}
