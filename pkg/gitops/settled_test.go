package gitops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/message"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/pullrequest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// TestSettled: a run may have stopped between any two of its requests. What is left to do is seen in the pull
// request, without compiling.
func TestSettled(t *testing.T) {
	t.Parallel()
	tree := strings.Repeat("a", 40)
	latest := Latest{Provenance: message.Provenance{Environment: "dev"}, Commit: "c1", Tree: tree, Proposed: true}
	marked := func(flags string) string {
		return "Theirs.\n\n<!-- kalypso:v1 environment=dev path=. tree=" + tree + flags + " -->\n\nOurs.\n\n<!-- /kalypso:v1 -->"
	}
	complete := pullrequest.Request{Number: 1, Head: "deployment/dev", Base: "dev", HeadCommit: "c1", Body: marked(""), Labels: []string{"Fleet"}}
	with := func(change func(p *pullrequest.Request)) []pullrequest.Request {
		p := complete
		change(&p)
		return []pullrequest.Request{p}
	}
	asks := pullrequest.Options{Reviewers: []string{"cid"}}
	merges := pullrequest.Options{AutoMerge: pullrequest.AutoMergeAlways}
	published := latest
	published.Proposed = false
	for name, test := range map[string]struct {
		open    []pullrequest.Request
		request pullrequest.Options
		latest  Latest
		want    bool
	}{
		"all is there":              {open: with(func(*pullrequest.Request) {}), request: pullrequest.Options{Labels: []string{"fleet"}}, want: true},
		"not opened":                {},
		"text of another tree":      {open: with(func(p *pullrequest.Request) { p.Body = strings.ReplaceAll(p.Body, "aaa", "bbb") })},
		"no text":                   {open: with(func(p *pullrequest.Request) { p.Body = "" })},
		"another environment's":     {open: with(func(p *pullrequest.Request) { p.Body = strings.ReplaceAll(p.Body, "=dev", "=stage") })},
		"another directory's":       {open: with(func(p *pullrequest.Request) { p.Body = strings.ReplaceAll(p.Body, "path=.", "path=eu") })},
		"another commit":            {open: with(func(p *pullrequest.Request) { p.HeadCommit = "c2" })},
		"closed by us, reopened":    {open: with(func(p *pullrequest.Request) { p.Body = marked(" closed") })},
		"a label is missing":        {open: with(func(*pullrequest.Request) {}), request: pullrequest.Options{Labels: []string{"big"}}},
		"promotes":                  {open: with(func(p *pullrequest.Request) { p.Body, p.Labels = marked(" promoted"), []string{"promoted"} }), want: true},
		"promotes, without":         {open: with(func(p *pullrequest.Request) { p.Body = marked(" promoted") })},
		"promotes no more":          {open: with(func(p *pullrequest.Request) { p.Labels = []string{"promoted"} })},
		"labelled so on purpose":    {open: with(func(p *pullrequest.Request) { p.Labels = []string{"promoted"} }), request: pullrequest.Options{Labels: []string{"promoted"}}, want: true},
		"nobody was asked":          {open: with(func(*pullrequest.Request) {}), request: asks},
		"people were asked":         {open: with(func(p *pullrequest.Request) { p.Body = marked(" asked") }), request: asks, want: true},
		"merges itself":             {open: with(func(p *pullrequest.Request) { p.Body, p.AutoMerging = marked(" auto on"), true }), request: merges, want: true},
		"merges itself by a person": {open: with(func(p *pullrequest.Request) { p.AutoMerging = true }), request: merges, want: true},
		"is to merge itself":        {open: with(func(p *pullrequest.Request) { p.Body = marked(" auto") }), request: merges},
		"not written that it does":  {open: with(func(p *pullrequest.Request) { p.Body, p.AutoMerging = marked(" auto"), true }), request: merges},
		"merges no more":            {open: with(func(p *pullrequest.Request) { p.Body, p.AutoMerging = marked(" auto on"), true })},
		"an older one of kalypso":   {open: append(with(func(*pullrequest.Request) {}), pullrequest.Request{Head: "deployment/old", Body: marked("")})},
		"an adopted one beside":     {open: append(with(func(*pullrequest.Request) {}), pullrequest.Request{Head: "theirs", Body: marked(" adopted")}), want: true},
		"somebody's beside":         {open: append(with(func(*pullrequest.Request) {}), pullrequest.Request{Head: "theirs"}), want: true},
		"published":                 {latest: published, want: true},
		"published, still open":     {latest: published, open: with(func(*pullrequest.Request) {})},
		"published, one left over":  {latest: published, open: []pullrequest.Request{{Head: "deployment/old", Body: marked("")}}},
		"published, somebody's":     {latest: published, open: []pullrequest.Request{{Head: "theirs"}}, want: true},
	} {
		d := &Destination{Repo: &model.GitOpsRepo{}, Head: "deployment/dev", Branch: "dev"}
		if test.latest.Commit == "" {
			test.latest = latest
		}
		_, settled := d.Settled(test.latest, test.request, test.open)
		assert.Equal(t, test.want, settled, name)
	}
}
