package diff

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
)

// valueLine says what happens to a value.
func valueLine(v impact.Value) string {
	if v.WholeFile {
		return v.Key + ": file " + v.Action.String()
	}
	before, after := shownValue(v.Old), shownValue(v.New)
	switch v.Action {
	case change.Added:
		before = "none"
	case change.Removed:
		after = "none"
	}
	return fmt.Sprintf("%s: %s -> %s", cmp.Or(v.Key, "(document)"), before, after)
}

// shownValue is a value in a line. What one would not see of it is written out.
func shownValue(text string) string {
	if text == "" || text != strings.TrimSpace(text) && !strings.HasPrefix(text, "…") && !strings.HasSuffix(text, "…") {
		return strconv.Quote(text)
	}
	return strings.ReplaceAll(text, "\n", " ⏎ ")
}

// valuePlace is where a value is written, or was if it is gone.
func valuePlace(v impact.Value) string {
	origins := v.After
	if v.Action == change.Removed {
		origins = v.Before
	}
	if len(origins) == 0 {
		return ""
	}
	return reason{at: origins[0].At, more: len(origins) - 1}.place()
}

// reason is one reason why a target came or went.
type reason struct {
	text string
	// at is where it is written, and more how many more places there are.
	at   diag.Place
	more int
}

// place is where it is written.
func (r reason) place() string {
	if r.more > 0 {
		return fmt.Sprintf("%s and %d more", r.at, r.more)
	}
	return r.at.String()
}
