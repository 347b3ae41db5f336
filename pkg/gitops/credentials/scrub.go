package credentials

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"
)

// Scrubber takes secrets out of texts: as they are, escaped for URLs, and in base64 at any of the
// three positions that a text before them can shift them to. The zero Scrubber knows no secret, and
// removes the users of URLs too. It may be used by several goroutines at once.
type Scrubber struct {
	mu    sync.RWMutex
	forms []string
}

const (
	// minSecret is how long a secret must be, in bytes, to be looked for: a shorter one would be
	// found all over. Its pieces in base64 are shorter still, hence minEncoded.
	minSecret  = 4
	minEncoded = 8
	// Mask replaces a secret in a text.
	Mask = "***"
)

// UserInURL matches the credentials in a URL.
var UserInURL = regexp.MustCompile(`(://)[^/\s@"']+@`)

// Add makes a secret known. One that is shorter than four bytes is ignored: it would be found all over.
func (s *Scrubber) Add(secret string) {
	if len(secret) < minSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.forms, secret) {
		return
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for shift := range 3 {
		if len(secret) < minEncoded {
			break
		}
		whole := (len(secret) - shift) / 3 * 3
		part := []byte(secret[shift : shift+whole])
		forms = append(forms, base64.StdEncoding.EncodeToString(part), base64.URLEncoding.EncodeToString(part))
	}
	s.forms = append(s.forms, forms...)
	// Longer forms first: what a shorter one leaves of them would stay readable.
	slices.SortFunc(s.forms, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	s.forms = slices.Compact(s.forms)
}

// Clean returns text without the secrets and without the user part of URLs.
func (s *Scrubber) Clean(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, Mask)
	}
	return UserInURL.ReplaceAllString(text, "${1}"+Mask+"@")
}

// Line makes untrusted text fit for a message: clean, a single line, nothing invisible, not too long.
func (s *Scrubber) Line(text string) string { return giterror.OneLine(s.Clean(text)) }

// CleanError returns an Error without the secrets. What was behind it is dropped, for it may hold
// one, unless it is the end of a context, or that something is not there.
func (s *Scrubber) CleanError(e *giterror.Error) *giterror.Error {
	cleaned := &giterror.Error{Rule: e.Rule, Message: s.Clean(e.Message), Hint: s.Clean(e.Hint)}
	for _, harmless := range []error{context.Canceled, context.DeadlineExceeded, fs.ErrNotExist} {
		if errors.Is(e.Err, harmless) {
			cleaned.Err = harmless
		}
	}
	return cleaned
}
