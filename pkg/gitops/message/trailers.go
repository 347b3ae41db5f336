package message

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/giturl"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/source"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// The trailers of commits of kalypso. Values are escaped like a URL, so that no name of a branch or directory can end the
// line, mention somebody, refer to an issue or skip a workflow.
const (
	versionTrailer     = "Kalypso-Version"
	environmentTrailer = "Kalypso-Environment"
	quarantinedTrailer = "Kalypso-Held"
)

// originTrailers are the trailers of origins, in the order in which they are written.
func originTrailers() []originTrailer {
	return []originTrailer{
		{model.Main, "Kalypso-Environments"},
		{model.Platform, "Kalypso-Control-Plane"},
		{model.Base, "Kalypso-Base"},
		{model.Tenant, "Kalypso-Workload"},
	}
}

type originTrailer struct {
	role model.Role
	key  string
}

// trailers writes a provenance as git's trailers, a line each. An origin is
// "<repository>@<branch>:<path> <commit>", without the commit if it was a plain directory.
func (p Provenance) trailers() string {
	var b strings.Builder
	trailer(&b, versionTrailer, escapeText(p.Version))
	if p.Environment != "" {
		trailer(&b, environmentTrailer, escapeText(p.Environment))
	}
	origins := source.SortedOrigins(p.Origins)
	for _, t := range originTrailers() {
		for _, o := range origins {
			if o.Role == t.role {
				trailer(&b, t.key, originValue(o))
			}
		}
	}
	return b.String()
}

func trailer(b *strings.Builder, key, value string) {
	b.WriteString(key + ":")
	if value != "" {
		b.WriteString(" " + value)
	}
	b.WriteByte('\n')
}

func originValue(o source.Origin) string {
	value := escapeRepo(o.Repo) + "@" + escape(o.Branch, "") + ":" + escape(o.Path, ":")
	if o.Commit != "" {
		value += " " + escape(o.Commit, "")
	}
	return value
}

// escapeRepo escapes the text before an @, which is not a mention only after a letter or digit.
func escapeRepo(repo string) string {
	escaped := escape(repo, ":")
	if last := len(escaped) - 1; last >= 0 && strings.IndexByte("-._~/+=:", escaped[last]) >= 0 {
		return fmt.Sprintf("%s%%%02X", escaped[:last], escaped[last])
	}
	return escaped
}

var unsafeForm = regexp.MustCompile(`[^\pL\p{Nd}\-._~/+=]`)

// escape writes everything but letters, digits, "-._~/+=" and the characters of also as a URL does.
func escape(text, also string) string {
	return unsafeForm.ReplaceAllStringFunc(text, func(char string) string {
		if strings.Contains(also, char) {
			return char
		}
		return "%" + strings.ReplaceAll(fmt.Sprintf("% X", char), " ", "%")
	})
}

// escapeText is escape for a whole value, which may contain blanks and parentheses.
func escapeText(text string) string {
	if strings.TrimSpace(text) != text {
		return escape(text, "")
	}
	return escape(text, " ()")
}

// ParseTrailers parses the provenance in the message of a commit of kalypso, which ends in a paragraph of trailers that
// include Kalypso-Version. It returns false for any other commit. Only text that merging a pull request adds may follow:
// trailers such as Co-authored-by, or the title of a merge. An origin that cannot be parsed is ignored, and so unknown.
func ParseTrailers(message string) (Provenance, bool) {
	_, rest, _ := strings.Cut(blankLines.ReplaceAllString(strings.TrimSpace(message), "\n\n"), "\n\n") // without the subject
	for _, text := range slices.Backward(strings.Split(rest, "\n\n")) {
		paragraph := strings.Split(text, "\n")
		if p, ours := parseParagraph(paragraph); ours {
			return p, true
		}
		if !isAddition(paragraph) {
			break
		}
	}
	return Provenance{}, false
}

var (
	// blankLines matches the line breaks between paragraphs.
	blankLines  = regexp.MustCompile(`[ \t\r]*\n(?:[ \t\r]*\n)+`)
	trailerForm = regexp.MustCompile(`^([A-Za-z0-9-]+):(?: +(.*?))?[ \t\r]*$`)
	// additionForm matches lines among or after trailers that are not trailers: those that `git cherry-pick -x` adds,
	// and those of GitHub when it squashes a branch that was updated.
	additionForm = regexp.MustCompile(`^(-{3,}|\(cherry picked from commit [0-9a-f]+\)|\* Merge .*)[ \t\r]*$`)
)

func isAddition(paragraph []string) bool {
	return !slices.ContainsFunc(paragraph, func(line string) bool {
		return !trailerForm.MatchString(line) && !additionForm.MatchString(line)
	})
}

func parseParagraph(paragraph []string) (Provenance, bool) {
	var p Provenance
	seen := map[string]int{}
	for _, line := range paragraph {
		parts := trailerForm.FindStringSubmatch(line)
		if parts == nil {
			if !additionForm.MatchString(line) {
				return Provenance{}, false
			}
			continue
		}
		seen[parts[1]]++
		if !p.add(parts[1], parts[2]) {
			return Provenance{}, false
		}
	}
	p.Origins = source.SortedOrigins(p.Origins)
	return p, seen[versionTrailer] == 1 && seen[environmentTrailer] <= 1
}

// add adds a trailer. It returns false if a trailer of kalypso is malformed.
func (p *Provenance) add(key, value string) bool {
	var err error
	switch key {
	case versionTrailer:
		p.Version, err = url.PathUnescape(value)
	case environmentTrailer:
		p.Environment, err = url.PathUnescape(value)
	case quarantinedTrailer:
		name, _, _ := strings.Cut(value, " ")
		if text, err := url.PathUnescape(name); err == nil {
			name = text
		}
		p.Quarantined = append(p.Quarantined, name)
	default:
		for _, t := range originTrailers() {
			if o, ok := parseOrigin(value); ok && t.key == key {
				o.Role = t.role
				p.Origins = append(p.Origins, o)
			}
		}
	}
	return err == nil
}

func parseOrigin(value string) (source.Origin, bool) {
	place, commit, hasCommit := strings.Cut(value, " ")
	repo, rest, hasBranch := strings.Cut(place, "@")
	branch, path, hasPath := strings.Cut(rest, ":")
	if !hasBranch || !hasPath || hasCommit && !giturl.CommitForm.MatchString(commit) {
		return source.Origin{}, false
	}
	o := source.Origin{Commit: commit}
	for _, part := range []struct {
		to   *string
		from string
	}{{&o.Repo, repo}, {&o.Branch, branch}, {&o.Path, path}} {
		text, err := url.PathUnescape(part.from)
		if err != nil {
			return source.Origin{}, false
		}
		*part.to = text
	}
	return o, true
}

// Provenance is the sources of an output and the version of kalypso. It is in the trailers of the commit that publishes
// the output, so that each published line can be traced.
type Provenance struct {
	// Version is the version of kalypso, as `kalypso version` prints it.
	Version     string
	Environment string
	// Origins are the sources, sorted by role, repository, branch and path.
	Origins []source.Origin
	// Quarantined are the names of the registrations that were quarantined when the commit was made. Later they may
	// compile to the same tree, so Quarantined does not describe the present, and an output with quarantined registrations
	// is not the result of its Origins.
	Quarantined []string
	// Current is true if the GitOps branch still has the content of the commit, so that Origins describes it completely.
	// Only LastPublished sets it.
	Current bool
}

// CompiledFrom returns the origins without the base branch of the control plane. Only the Environment is read from that
// branch, which moves with each commit that is not promoted yet.
func (p Provenance) CompiledFrom() []source.Origin {
	return slices.DeleteFunc(slices.Clone(p.Origins), func(o source.Origin) bool { return o.Role == model.Main })
}

// sourceMove is a branch of a repository that is read at another commit than before.
type sourceMove struct {
	role         model.Role
	repo, branch string
	// from and to are commits, or one of the constants below.
	from, to string
}

const (
	notRead        = ""
	localDirectory = " "
)

// sourceMoves compares origins. It returns the paths of each move.
func sourceMoves(before, now []source.Origin) map[sourceMove][]string {
	type place struct {
		role               model.Role
		repo, branch, path string
	}
	was := map[place]string{}
	for _, o := range before {
		was[place{o.Role, o.Repo, o.Branch, o.Path}] = cmp.Or(o.Commit, localDirectory)
	}
	moves := map[sourceMove][]string{}
	add := func(p place, from, to string) {
		if from != to {
			move := sourceMove{p.role, p.repo, p.branch, from, to}
			moves[move] = append(moves[move], p.path)
		}
	}
	for _, o := range now {
		p := place{o.Role, o.Repo, o.Branch, o.Path}
		add(p, was[p], cmp.Or(o.Commit, localDirectory))
		delete(was, p)
	}
	for p, from := range was {
		add(p, from, notRead)
	}
	return moves
}

func (m sourceMove) compare(other sourceMove) int {
	return cmp.Or(cmp.Compare(m.role, other.role), cmp.Compare(m.repo, other.repo), cmp.Compare(m.branch, other.branch),
		cmp.Compare(m.from, other.from), cmp.Compare(m.to, other.to))
}
