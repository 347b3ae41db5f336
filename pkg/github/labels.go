package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	gh "github.com/google/go-github/v53/github"
)

// look is the colour, in hexadecimal, and the description of a label.
type look struct{ color, description string }

// lookOf returns how a label looks that the repository does not have yet.
func lookOf(label string) look {
	switch label {
	case "promoted":
		return look{"1d76db", "A commit was promoted to this environment"}
	case "kalypso":
		return look{"d93f0b", "An environment that kalypso could not publish"}
	}
	return look{"ededed", ""}
}

// AddLabels adds labels, and makes those that the repository does not have.
func (r *Repository) AddLabels(ctx context.Context, number int, labels []string) error {
	for _, label := range labels {
		if err := r.ensureLabel(ctx, label); err != nil {
			return err
		}
	}
	op := operation{act: fmt.Sprintf("label #%d with %s", number, strings.Join(labels, ", ")), need: writePulls}
	_, _, err := r.client.api.Issues.AddLabelsToIssue(mayRepeat(ctx), r.owner, r.name, number, labels)
	return r.explain(op, err)
}

// ensureLabel makes a label if the repository does not have it.
func (r *Repository) ensureLabel(ctx context.Context, label string) error {
	there, err := r.hasLabel(ctx, label)
	if there || err != nil {
		return err
	}
	op := operation{act: fmt.Sprintf("make the label %q", label), need: "issues: write or pull requests: write"}
	looks := lookOf(label)
	return r.create(ctx, op, func() error {
		_, _, err := r.client.api.Issues.CreateLabel(ctx, r.owner, r.name, &gh.Label{
			Name: ptr(label), Color: ptr(looks.color), Description: ptr(looks.description),
		})
		if complains(err, "name", "already_exists") {
			return nil // somebody was faster
		}
		return err
	}, func() (bool, error) { return r.hasLabel(ctx, label) })
}

func (r *Repository) hasLabel(ctx context.Context, label string) (bool, error) {
	_, _, err := r.client.api.Issues.GetLabel(ctx, r.owner, r.name, url.PathEscape(label)) // go-github does not escape it
	if status(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil, r.explain(operation{act: fmt.Sprintf("read the label %q", label), need: "issues: read or pull requests: read"}, err)
}

// RemoveLabel takes a label off; it is fine if it is not on.
func (r *Repository) RemoveLabel(ctx context.Context, number int, label string) error {
	_, err := r.client.api.Issues.RemoveLabelForIssue(ctx, r.owner, r.name, number, url.PathEscape(label))
	if status(err) == http.StatusNotFound && says(err, "label does not exist") {
		return nil
	}
	return r.explain(operation{act: fmt.Sprintf("take the label %q off #%d", label, number), need: writePulls}, err)
}
