package remote

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// replay answers with what a server answered before, in order; all of its nth answer but the first
// bytes is lost.
type replay struct {
	answers  []answer
	nth, cut int
	calls    int
}

type answer struct {
	header http.Header
	body   []byte
}

func (p *replay) RoundTrip(request *http.Request) (*http.Response, error) {
	call := min(p.calls, p.nth) // a request that fails is sent again
	p.calls++
	a := p.answers[call]
	body := a.body
	if call == p.nth {
		body = body[:p.cut]
	}
	return &http.Response{StatusCode: http.StatusOK, Header: a.header, Body: io.NopCloser(bytes.NewReader(body)), Request: request}, nil
}

// record notes what a server answers.
type record struct{ answers []answer }

func (c *record) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	c.answers = append(c.answers, answer{response.Header, body})
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err
}

// TestR1AnswersThatAreCutAnywhere loses the end of each answer, from any byte on. Nothing is ever read
// then, and above all no branch is taken for one that does not exist.
func TestR1AnswersThatAreCutAnywhere(t *testing.T) {
	t.Parallel()
	server := gitopstest.NewServer(t)
	url, _ := server.Add("repo", gitopstest.Commit{Branch: "dev", Files: gitopstest.Shop()}, gitopstest.Commit{Files: gitopstest.Shop()})
	ref := model.Ref{Repo: url, Branch: "main"}
	whole := &record{}
	readOne(t, newReader(t, Options{Transport: whole}), ref)
	require.Len(t, whole.answers, 3, "branches, trees, files")
	for nth, a := range whole.answers {
		needed := len(a.body)
		if nth > 0 {
			needed -= len("0000") // the end of a stream whose pack is whole and has its checksum
		}
		for cut := range needed {
			r := newReader(t, Options{Transport: &replay{answers: whole.answers, nth: nth, cut: cut}})
			sources, list := r.Read(t.Context(), []model.Ref{ref})
			if !assert.Nil(t, sources[0], "answer %d of %d bytes cut to %d", nth, len(a.body), cut) {
				continue
			}
			assert.Equal(t, 1, list.Count(diag.Error))
			assert.True(t, giterror.IsRemote(list[0].Rule), "answer %d of %d bytes cut to %d: %s %s", nth, len(a.body), cut, list[0].Rule, list[0].Message)
		}
	}
}
