package githubtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

const (
	usualPageSize   = 30
	largestPageSize = 100
)

// page answers with the part of all things that is asked for, and links to the other parts.
func page[T, J any](c *call, all []T, show func(T) J) answer {
	from, to, header := c.page(len(all))
	shown := make([]J, 0, to-from)
	for _, thing := range all[from:to] {
		shown = append(shown, show(thing))
	}
	return answer{status: http.StatusOK, header: header, body: shown}
}

// page returns which of so many things are on the page that is asked for, and the address of the next one.
func (c *call) page(count int) (from, to int, header http.Header) {
	size := min(positive(c.query.Get("per_page"), usualPageSize), largestPageSize)
	if most := c.registry.options.PageSize; most > 0 {
		size = min(size, most)
	}
	number := positive(c.query.Get("page"), 1)
	from = min((number-1)*size, count)
	to = min(from+size, count)
	if to < count {
		next := maps.Clone(c.query)
		next.Set("page", strconv.Itoa(number+1))
		header = http.Header{"Link": {fmt.Sprintf(`<%s%s?%s>; rel="next"`, c.registry.api, c.path, next.Encode())}}
	}
	return from, to, header
}

func positive(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// inState reports whether an item is in the state that is asked for, which is open if none is.
func (c *call) inState(i *item) bool {
	asked := cmp.Or(c.query.Get("state"), "open")
	return asked == "all" || asked == state(i.Open)
}

// sort sorts by creation, the newest first unless something else is asked for.
func (c *call) sort(items []*item) {
	if c.query.Get("direction") != "asc" {
		slices.Reverse(items)
	}
}
