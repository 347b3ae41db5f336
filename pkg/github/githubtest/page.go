package githubtest

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// page tells which of so many things are on the page that is asked for.
func (c *call) page(count int) (from, to int, header http.Header) {
	size := min(positive(c.query.Get("per_page"), usualPageSize), largestPageSize)
	if most := c.server.options.PageSize; most > 0 {
		size = min(size, most)
	}
	number, last := positive(c.query.Get("page"), 1), max(1, (count+size-1)/size)
	from = min((number-1)*size, count)
	return from, min(from+size, count), c.links(number, last)
}

func positive(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// links is the Link header.
func (c *call) links(number, last int) http.Header {
	var links []string
	link := func(rel string, page int) {
		query := url.Values{}
		for name, values := range c.query {
			query[name] = values
		}
		query.Set("page", strconv.Itoa(page))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.server.URL, c.path, query.Encode(), rel))
	}
	if number > 1 {
		link("prev", number-1)
	}
	if number < last {
		link("next", number+1)
		link("last", last)
	}
	if number > 1 {
		link("first", 1)
	}
	if len(links) == 0 {
		return nil
	}
	return http.Header{"Link": {strings.Join(links, ", ")}}
}
