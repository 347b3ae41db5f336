package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the candidate that is most similar to name, or "" if none is: at most a third of the
// letters may differ. The first of equally similar candidates is returned.
func Nearest(name string, candidates []string) string {
	const longestName = 256 // beyond it the search would cost more than the hint is worth
	if len(name) > longestName {
		return ""
	}
	letters := []rune(strings.ToLower(name))
	best, bestDistance := "", len(letters)/3+1
	for _, candidate := range candidates {
		if strings.EqualFold(name, candidate) {
			return candidate
		}
		if d := distance(letters, []rune(strings.ToLower(candidate)), bestDistance); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// DidYouMean returns a hint for an unknown name: the nearest candidate, else all of them if they
// are few, else "".
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return c == "" })
	if len(candidates) == 0 || len(candidates) > 12 {
		return ""
	}
	return "one of " + strings.Join(candidates, ", ")
}

// Alternatives writes names as a choice: "text, json or yaml".
func Alternatives(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// distance is the optimal string alignment distance (insert, delete, replace, swap two
// neighbours), or limit if it is not below limit.
func distance(a, b []rune, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	previous, current, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(next[j-1]+1, current[j]+1, current[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], previous[j-2]+1)
			}
		}
		previous, current, next = current, next, previous
	}
	return min(current[len(b)], limit)
}
