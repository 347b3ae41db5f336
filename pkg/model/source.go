package model

import (
	"io/fs"
	"time"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Role is the purpose of reading a repository. It decides how far the repository is trusted.
type Role int

const (
	// Main is the control plane's base branch, read for its Environments alone.
	Main Role = iota
	// Platform is the branch of an environment.
	Platform
	// Base is common data that a BaseRepo names.
	Base
	// Tenant is an application repository: only Workloads are read, and within limits.
	Tenant
	// Output is the platform GitOps repository: what is published already.
	Output
)

// Ref identifies what to read: one path of one repository at one branch or commit.
type Ref struct {
	// Repo is the URL or local path as written, without surrounding blanks.
	Repo string
	// Branch is the branch to read, and the one that Commit is said to be on.
	Branch string
	// Commit is the exact commit to read; empty for the tip of Branch.
	Commit string
	// Revision is a Git revision that is read instead of the tip of Branch, such as "main~1" or a tag; empty for none.
	Revision string
	// Path is the directory or file that is read, slash-separated; "." is the whole repository.
	Path string
	Role Role
	// WorkTree reads the files of a local clone's work tree as they are, whatever Branch says.
	WorkTree bool
	// At is the value that names the source; zero if the command line does. The others are the places of
	// branch, commit and path; zero if they are not set.
	At, BranchAt, CommitAt, PathAt diag.Place
	// Subject is what names the source, for messages: `WorkloadRegistration "hello"`, `flag --control-plane`.
	Subject string
}

// Source is a repository that has been read, at one exact commit.
type Source struct {
	Ref Ref
	// Repo is the repository in its normal form: the name used in places and messages.
	Repo string
	// Commit is what was read; empty for a plain directory.
	Commit string
	// Committed is the committer's date of the commit; zero for a plain directory.
	Committed time.Time
	// FS holds the tree from the root of the repository. Symbolic links and submodules are listed
	// with the types fs.ModeSymlink and fs.ModeIrregular and cannot be opened.
	FS fs.FS
}

// File returns the file at path for use in places.
func (s *Source) File(path string) *diag.File {
	return &diag.File{Repo: s.Repo, Branch: s.Ref.Branch, Path: path}
}

// subjectPlace is the place of an error of the whole source: the value that names it.
func (s *Source) subjectPlace() diag.Place {
	if s.Ref.At.IsZero() {
		return diag.Place{File: s.File("")}
	}
	return s.Ref.At
}
