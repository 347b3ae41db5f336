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

// Scrubber removes secrets from texts: plain, escaped for URLs, and in base64 at each of the three offsets that a text
// before them can cause. The zero value has no secrets, and removes only the users of URLs. It is safe for concurrent use.
type Scrubber struct {
	mu    sync.RWMutex
	forms []string
}

const (
	// minSecret is the minimum length of a secret in bytes: a shorter one would match too much. minEncoded is that for
	// its parts in base64, which are shorter.
	minSecret  = 4
	minEncoded = 8
	// Mask replaces a secret in a text.
	Mask = "***"
)

// UserInURL matches the credentials in a URL.
var UserInURL = regexp.MustCompile(`(://)[^/\s@"']+@`)

// Add adds a secret; one that is shorter than four bytes is ignored.
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
	// Longer forms first: a shorter one would leave a readable rest.
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

// Line sanitizes untrusted text for a message: without secrets, as giterror.OneLine does.
func (s *Scrubber) Line(text string) string { return giterror.OneLine(s.Clean(text)) }

// CleanError returns an Error without secrets. The wrapped error, which may contain one, is dropped, unless it is the end
// of a context or fs.ErrNotExist.
func (s *Scrubber) CleanError(e *giterror.Error) *giterror.Error {
	cleaned := &giterror.Error{Rule: e.Rule, Message: s.Clean(e.Message), Hint: s.Clean(e.Hint)}
	for _, harmless := range []error{context.Canceled, context.DeadlineExceeded, fs.ErrNotExist} {
		if errors.Is(e.Err, harmless) {
			cleaned.Err = harmless
		}
	}
	return cleaned
}
