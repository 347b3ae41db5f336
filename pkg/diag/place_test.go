package diag

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPlaceString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		place Place
		want  string
	}{
		{"nowhere", Place{}, ""},
		{"nowhere has no line", Place{Line: 3}, ""},
		{"all", Place{&File{"https://github.com/acme/shop", "dev", "a/b.yaml"}, 12, 5}, "github.com/acme/shop@dev:a/b.yaml:12:5"},
		{"line as a whole", Place{&File{"https://github.com/acme/shop", "dev", "b.yaml"}, 12, 0}, "github.com/acme/shop@dev:b.yaml:12"},
		{"file as a whole", Place{&File{"https://github.com/acme/shop", "dev", "b.yaml"}, 0, 0}, "github.com/acme/shop@dev:b.yaml"},
		{"a column without a line says nothing", Place{&File{"", "", "b.yaml"}, 0, 7}, "b.yaml"},
		{"no branch", Place{&File{"ssh://git.example.com/shop", "", "b.yaml"}, 1, 1}, "git.example.com/shop:b.yaml:1:1"},
		{"repository as a whole", Place{File: &File{"https://github.com/acme/shop", "dev", ""}}, "github.com/acme/shop@dev"},
		{"local path", Place{&File{"./fleet/cp", "dev", "b.yaml"}, 2, 3}, "./fleet/cp@dev:b.yaml:2:3"},
		{"branch with slashes", Place{&File{"https://h/r", "feature/x", "b.yaml"}, 2, 3}, "h/r@feature/x:b.yaml:2:3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.place.String())
			assert.Equal(t, c.place.File == nil, c.place.IsZero())
		})
	}
}

func TestPlaceCompare(t *testing.T) {
	t.Parallel()
	file := &File{"r", "b", "p"}
	ascending := []Place{
		{&File{"q", "z", "z"}, 9, 9},
		{&File{"r", "a", "z"}, 9, 9},
		{&File{"r", "b", "o"}, 9, 9},
		{file, 0, 0},
		{file, 1, 9},
		{file, 2, 1},
		{file, 2, 2},
		{file, 10, 1},
		{},
	}
	for i, a := range ascending {
		for j, b := range ascending {
			switch {
			case i < j:
				assert.Negative(t, a.Compare(b), "%v before %v", a, b)
			case i > j:
				assert.Positive(t, a.Compare(b), "%v after %v", a, b)
			default:
				assert.Zero(t, a.Compare(b))
			}
		}
	}
	assert.Zero(t, Place{file, 2, 1}.Compare(Place{&File{"r", "b", "p"}, 2, 1}), "files are compared by what they hold")
}
