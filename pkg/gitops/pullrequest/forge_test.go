package pullrequest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
)

// forge is a forge in memory. It takes and refuses what GitHub does, as far as package gitops can tell.
type forge struct {
	pulls []pullrequest.Request // number is place + 1
	tips  map[string]string
	// reads and writes are what was called, in order, as "close 1".
	reads, writes []string
	comments      map[int][]string
	asked         map[int][]string
	// before is called before each write, with its number from 1 and its name. An error is returned in its place.
	before func(n int, call string) error
	// after is called after each write. An error is returned although the write was done.
	after func(n int, call string) error
	// ready is whether an auto-merge merges at once.
	ready bool
	note  string

	issues []issue
}

func newForge() *forge {
	return &forge{
		tips:     map[string]string{"main": "c0", "deployment/main": "c1"},
		comments: map[int][]string{}, asked: map[int][]string{},
	}
}

var errForge = errors.New("the forge is not well")

func (f *forge) write(do func() error, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	f.writes = append(f.writes, call)
	n := len(f.writes)
	if f.before != nil {
		if err := f.before(n, call); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	if f.after != nil {
		return f.after(n, call)
	}
	return nil
}

func (f *forge) read(call string) { f.reads = append(f.reads, call) }

// open adds a pull request as a person would, or another run.
func (f *forge) open(p pullrequest.Request) *pullrequest.Request {
	p.Number, p.State = len(f.pulls)+1, pullrequest.Open
	f.pulls = append(f.pulls, p)
	return &f.pulls[len(f.pulls)-1]
}

func (f *forge) Open(_ context.Context, base string) ([]pullrequest.Request, error) {
	f.read("open")
	var found []pullrequest.Request
	for _, p := range f.pulls {
		if p.State == pullrequest.Open && p.Base == base {
			p.Labels = slices.Clone(p.Labels)
			found = append(found, p)
		}
	}
	return found, nil
}

func (f *forge) Last(_ context.Context, head, base string) (*pullrequest.Request, error) {
	f.read("last")
	for _, p := range slices.Backward(f.pulls) {
		if p.State != pullrequest.Open && p.Head == head && p.Base == base {
			return &p, nil
		}
	}
	return nil, nil
}

func (f *forge) Tip(_ context.Context, branch string) (string, error) {
	f.read("tip")
	if f.tips[branch] == "" {
		return "", giterror.ErrConflict
	}
	return f.tips[branch], nil
}

func (f *forge) Create(_ context.Context, n pullrequest.NewRequest) (created pullrequest.Request, existed bool, err error) {
	err = f.write(func() error {
		for _, p := range f.pulls {
			if p.State == pullrequest.Open && p.Head == n.Head && p.Base == n.Base {
				created, existed = p, true
				return nil
			}
		}
		if f.tips[n.Base] == "" || f.tips[n.Head] == "" {
			return giterror.ErrConflict
		}
		created = *f.open(pullrequest.Request{
			Title: n.Title, Body: n.Body, Head: n.Head, Base: n.Base, Draft: n.Draft, HeadCommit: f.tips[n.Head],
		})
		return nil
	}, "create")
	return created, existed, err
}

func (f *forge) Edit(_ context.Context, number int, title, body string) error {
	return f.write(func() error {
		p := &f.pulls[number-1]
		p.Title, p.Body = title, body
		if p.State != pullrequest.Open {
			return giterror.ErrConflict
		}
		return nil
	}, "edit %d", number)
}

func (f *forge) Close(_ context.Context, number int, body string) error {
	return f.write(func() error {
		p := &f.pulls[number-1]
		p.Body = body
		if p.State == pullrequest.Merged {
			return giterror.ErrConflict
		}
		p.State = pullrequest.Closed
		return nil
	}, "close %d", number)
}

func (f *forge) Comment(_ context.Context, number int, body string) error {
	return f.write(func() error {
		f.comments[number] = append(f.comments[number], body)
		return nil
	}, "comment %d", number)
}

func (f *forge) AddLabels(_ context.Context, number int, labels []string) error {
	return f.write(func() error {
		f.pulls[number-1].Labels = append(f.pulls[number-1].Labels, labels...)
		return nil
	}, "label %d %s", number, strings.Join(labels, ","))
}

func (f *forge) RemoveLabel(_ context.Context, number int, label string) error {
	return f.write(func() error {
		p := &f.pulls[number-1]
		p.Labels = slices.DeleteFunc(p.Labels, func(l string) bool { return strings.EqualFold(l, label) })
		return nil
	}, "unlabel %d %s", number, label)
}

func (f *forge) RequestReviews(_ context.Context, number int, reviewers []string) error {
	return f.write(func() error {
		f.asked[number] = append(f.asked[number], reviewers...)
		return nil
	}, "review %d", number)
}

func (f *forge) Assign(_ context.Context, number int, people []string) error {
	return f.write(func() error {
		f.asked[number] = append(f.asked[number], people...)
		return nil
	}, "assign %d", number)
}

func (f *forge) AutoMerge(_ context.Context, number int, headCommit string) (merged bool, note string, err error) {
	err = f.write(func() error {
		p := &f.pulls[number-1]
		switch {
		case f.tips[p.Head] != headCommit:
			return giterror.ErrConflict
		case f.ready:
			p.State, merged = pullrequest.Merged, true
		default:
			p.AutoMerging = true
		}
		return nil
	}, "auto-merge %d", number)
	return merged, f.note, err
}

func (f *forge) KeepOpen(_ context.Context, number int) error {
	return f.write(func() error {
		f.pulls[number-1].AutoMerging = false
		return nil
	}, "keep-open %d", number)
}

// issue is an issue of the forge.
type issue struct {
	pullrequest.Issue
	label string
	open  bool
}

func (f *forge) OpenIssues(_ context.Context, label string) ([]pullrequest.Issue, error) {
	f.read("issues")
	var found []pullrequest.Issue
	for _, i := range slices.Backward(f.issues) {
		if i.open && i.label == label {
			found = append(found, i.Issue)
		}
	}
	return found, nil
}

func (f *forge) CreateIssue(_ context.Context, title, body, label string) (created pullrequest.Issue, err error) {
	err = f.write(func() error {
		created = pullrequest.Issue{Number: len(f.issues) + 1, Title: title, Body: body}
		f.issues = append(f.issues, issue{created, label, true})
		return nil
	}, "create issue")
	return created, err
}

func (f *forge) EditIssue(_ context.Context, number int, title, body string) error {
	return f.write(func() error {
		f.issues[number-1].Title, f.issues[number-1].Body = title, body
		return nil
	}, "edit issue %d", number)
}

func (f *forge) CloseIssue(_ context.Context, number int, comment string) error {
	return f.write(func() error {
		f.issues[number-1].open = false
		f.comments[-number] = append(f.comments[-number], comment)
		return nil
	}, "close issue %d", number)
}
