package gitops

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
)

func TestUsualAuthor(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	asked := 0
	p.options.Author = gitobject.Identity{}
	p.options.UsualAuthor = func(context.Context) (gitobject.Identity, error) {
		asked++
		return gitobject.Identity{Name: "a[bot]", Email: "1+a[bot]@example.com"}, nil
	}
	first := p.publish(twoTargets("a: 1\n")...)
	assert.Equal(t, "a[bot] <1+a[bot]@example.com> a[bot]", p.git("log", "-1", "--format=%an <%ae> %cn", "deployment/dev"))
	assert.Equal(t, 1, asked)

	again := p.publish(twoTargets("a: 1\n")...)
	assert.False(t, again.Pushed)
	assert.Equal(t, first.Commit, again.Commit)
	p.merge("deployment/dev", "dev")
	p.publish(twoTargets("a: 1\n")...)
	assert.Equal(t, 1, asked, "nothing is to be pushed")

	p.options.Author = gitobject.Identity{Name: "Ann", Email: "ann@example.com"}
	p.publish(twoTargets("a: 2\n")...)
	assert.Equal(t, "Ann", p.git("log", "-1", "--format=%an", "deployment/dev"))
	assert.Equal(t, 1, asked, "somebody was named")
}

func TestUsualAuthorThatIsNotKnown(t *testing.T) {
	t.Parallel()
	p := newPress(t, gitopstest.Files{"x": "1"})
	lost := errors.New("nobody answers")
	p.options.Author = gitobject.Identity{}
	p.options.UsualAuthor = func(context.Context) (gitobject.Identity, error) { return gitobject.Identity{}, lost }
	_, err := p.try(twoTargets("a: 1\n")...)
	require.ErrorIs(t, err, lost)
	require.ErrorContains(t, err, "read the author")
	assert.Equal(t, "dev", p.git("branch", "--format=%(refname:short)"), "nothing was pushed")
}
