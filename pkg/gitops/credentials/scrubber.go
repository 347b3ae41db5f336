package credentials

import "github.com/kalypso-gitops/kalypso/pkg/gitops/giterror"

// Scrubber takes secrets out of texts: as they are, escaped for URLs, and in base64. It is for those
// who speak to a forge with the credentials of a repository. The zero Scrubber knows no secret, and
// takes out the users of URLs all the same. It may be used by several goroutines at once.
type Scrubber struct{ secrets scrubber }

// Add makes a secret known. One that is shorter than four bytes is ignored: it would be found all over.
func (s *Scrubber) Add(secret string) { s.secrets.add(secret) }

// Clean returns text with "***" for every secret that is known, and for the users of URLs.
func (s *Scrubber) Clean(text string) string { return s.secrets.Clean(text) }

// Line makes a stranger's text fit for a message: clean, a single line, nothing invisible, not too long.
func (s *Scrubber) Line(text string) string { return giterror.OneLine(s.Clean(text)) }
