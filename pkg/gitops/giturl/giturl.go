// Package giturl parses the names of repositories, branches and commits, and applies replacements.
package giturl

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Address is the parsed name of a repository.
type Address struct {
	// Scheme is "https", "http", "ssh", "file", or empty for a path of this machine.
	Scheme string
	// User is the user of ssh; over https, it selects a credential.
	User string
	// Host is in lower case and without a trailing dot; an IPv6 address is in brackets.
	Host string
	// Port is empty if it is the default of the scheme.
	Port string
	// Path is as written, without trailing slashes. Over ssh, it may be relative.
	Path string
}

// NormalURL returns the normal form of a repository's name, for comparisons and messages. Scheme and host are in lower
// case, without user, default port, trailing slash and ".git"; ssh and scp-like forms become the https form, except with
// an ssh port other than 22, because the https port is unknown ("ssh://host:2222/path"). Paths of this machine are cleaned
// and have slashes.
//
// The error never contains a password. A well-formed name need not be allowed: see Reader.
func NormalURL(name string) (string, error) {
	a, err := ParseAddress(name)
	if err != nil {
		return "", err
	}
	return a.String(), nil
}

// IsLocal reports whether name is a path of this machine or a "file://" URL. Reader.IsLocal applies replacements.
func IsLocal(name string) bool {
	a, err := ParseAddress(name)
	return err == nil && a.Local()
}

// Local reports whether the address is a path of this machine.
func (a Address) Local() bool { return a.Scheme == "" || a.Scheme == "file" }

// Authority returns the host, with the port if it is not the default.
func (a Address) Authority() string {
	if a.Port == "" {
		return a.Host
	}
	return a.Host + ":" + a.Port
}

// String returns the normal form.
func (a Address) String() string {
	switch {
	case a.Scheme == "":
		return a.cleanPath()
	case a.Scheme == "file":
		escaped := url.URL{Path: strings.TrimPrefix(a.cleanPath(), "/")}
		return "file:///" + strings.TrimPrefix(escaped.EscapedPath(), "./")
	case a.Host == "ssh.dev.azure.com":
		return a.azure()
	case a.Scheme == "ssh" && a.Port == "":
		return "https://" + a.Host + a.NormalPath()
	default:
		return a.Scheme + "://" + a.Authority() + a.NormalPath()
	}
}

// cleanPath returns a path of this machine that is not parsed as a URL.
func (a Address) cleanPath() string {
	cleaned := filepath.ToSlash(filepath.Clean(a.Path))
	first, _, _ := strings.Cut(cleaned, "/")
	if strings.HasPrefix(first, "-") || strings.ContainsAny(first, ":[") && !driveForm.MatchString(first) {
		return "./" + cleaned
	}
	return cleaned
}

// azure returns the https form of Azure DevOps' "git@ssh.dev.azure.com:v3/organisation/project/name".
func (a Address) azure() string {
	parts := strings.Split(strings.Trim(a.NormalPath(), "/"), "/")
	if len(parts) != 4 || parts[0] != "v3" {
		return "https://" + a.Host + a.NormalPath()
	}
	return "https://dev.azure.com/" + parts[1] + "/" + parts[2] + "/_git/" + parts[3]
}

// NormalPath returns the path without the suffix .git.
func (a Address) NormalPath() string {
	return path.Clean(strings.TrimSuffix(path.Clean("/"+a.Path), ".git"))
}

// URL returns the URL of an http or https repository, without a user.
func (a Address) URL() string {
	return a.Scheme + "://" + a.Authority() + a.Path
}

// Loopback reports whether the host is this machine, so that plain http is safe.
func (a Address) Loopback() bool {
	if a.Host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(a.Host, "[]"))
	return err == nil && ip.IsLoopback()
}

// fromYAML returns an error for a repository that a YAML object must not refer to.
func (a Address) fromYAML() error {
	switch a.Scheme {
	case "https", "ssh":
		return nil
	case "":
		return errors.New("a path of this machine can only be given on the command line")
	default:
		return fmt.Errorf("only https and ssh are read, not %s", a.Scheme)
	}
}

// FromCommandLine returns an error for a repository that the command line must not refer to.
func (a Address) FromCommandLine() error {
	if a.Scheme == "http" && !a.Loopback() {
		return errors.New("http is not encrypted; write https")
	}
	return nil
}

var (
	helperForm = regexp.MustCompile(`^[A-Za-z0-9+.-]+::`)
	schemeForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://(.*)$`)
	driveForm  = regexp.MustCompile(`^[A-Za-z]:`)
	scpForm    = regexp.MustCompile(`^(?:([^@/:]*)@)?(\[[0-9A-Fa-f:.]+\]|[^@/:\[\]]+):(.*)$`)
	hostForm   = regexp.MustCompile(`^[a-z0-9_*]([a-z0-9._*-]*[a-z0-9_*])?$`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,38}$`)
	// tokenForm matches the prefixes of tokens of common forges: such a user name is a secret.
	tokenForm = regexp.MustCompile(`^(gh[a-z]_|github_pat_|gl[a-z]+-|x-token-auth$|x-access-token$|oauth2$)`)
)

// ParseAddress parses the name of a repository: a URL, user@host:path or a path.
func ParseAddress(name string) (Address, error) {
	switch {
	case name == "":
		return Address{}, errors.New("the name is empty")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, invisible):
		return Address{}, errors.New("the name contains a control or an invisible character")
	case name[0] == '-':
		return Address{}, errors.New(`a name must not start with "-"`)
	case helperForm.MatchString(name):
		return Address{}, errors.New(`"::" would run a remote helper`)
	}
	if m := schemeForm.FindStringSubmatch(name); m != nil {
		return parseURL(strings.ToLower(m[1]), m[2])
	}
	// As git decides it: by a colon before the first slash.
	if host, _, found := strings.Cut(name, ":"); found && !driveForm.MatchString(name) && !strings.ContainsAny(host, `/\`) {
		return parseSCP(name)
	}
	return Address{Path: name}, nil
}

// invisible matches control, zero-width and bidirectional characters.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

func parseURL(scheme, rest string) (Address, error) {
	switch scheme {
	case "file":
		return parseFileURL(rest)
	case "https", "http", "ssh":
	default:
		return Address{}, fmt.Errorf("the scheme %q is not supported: only https and ssh are", scheme)
	}
	authority, file, _ := strings.Cut(rest, "/")
	a := Address{Scheme: scheme, Path: "/" + file}
	if user, host, found := cutLast(authority, "@"); found {
		a.User, authority = user, host
		if err := checkUser(user); err != nil {
			return Address{}, err
		}
	}
	var err error
	if a.Host, a.Port, err = ParseHost(authority, DefaultPort(scheme)); err != nil {
		return Address{}, err
	}
	a.Path, err = parsePath(a.Path)
	return a, err
}

func parseFileURL(rest string) (Address, error) {
	rest = strings.TrimPrefix(rest, "localhost")
	if !strings.HasPrefix(rest, "/") {
		return Address{}, errors.New("a file URL has three slashes: file:///path")
	}
	file, err := url.PathUnescape(rest)
	if err != nil || strings.ContainsFunc(file, invisible) {
		return Address{}, errors.New("the path of the file URL is malformed")
	}
	if driveForm.MatchString(file[1:]) {
		file = file[1:]
	}
	return Address{Scheme: "file", Path: file}, nil
}

func parseSCP(name string) (Address, error) {
	m := scpForm.FindStringSubmatch(name)
	if m == nil {
		return Address{}, errors.New("it is neither a URL nor user@host:path nor a path")
	}
	a := Address{Scheme: "ssh", User: m[1]}
	if !strings.Contains(name, "@") && !strings.ContainsAny(m[2], ".[") {
		return Address{}, fmt.Errorf("%q is neither a host nor a scheme that is supported", m[2]+":")
	}
	if err := checkUser(a.User); err != nil {
		return Address{}, err
	}
	var err error
	if a.Host, _, err = ParseHost(m[2], ""); err != nil {
		return Address{}, err
	}
	a.Path, err = parsePath(m[3])
	return a, err
}

func checkUser(user string) error {
	switch {
	case user == "":
		return nil
	case strings.Contains(user, ":"):
		return errors.New("a password must not be in a URL: set GITHUB_TOKEN, or put it into ~/.netrc")
	case tokenForm.MatchString(user) || !userForm.MatchString(user):
		return errors.New("the part before @ is not a user name; a token must not be in a URL")
	}
	return nil
}

// ParseHost parses a host with an optional port; port is empty if it is the default.
func ParseHost(authority, defaultPort string) (host, port string, err error) {
	host = strings.ToLower(authority)
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", "", fmt.Errorf("%q is not a port", port)
		}
	}
	if strings.HasPrefix(host, "[") {
		if net.ParseIP(strings.Trim(host, "[]")) == nil || !strings.HasSuffix(host, "]") {
			return "", "", errors.New("the host is not an IPv6 address")
		}
	} else if host = strings.TrimSuffix(host, "."); !hostForm.MatchString(host) || strings.Contains(host, "..") {
		return "", "", errors.New("the host is missing or malformed; write names of other scripts in punycode")
	}
	if port == defaultPort {
		port = ""
	}
	return host, port, nil
}

func parsePath(raw string) (string, error) {
	trimmed := strings.TrimRight(raw, "/")
	plain, err := url.PathUnescape(trimmed)
	switch {
	case err != nil:
		return "", errors.New("the path has a malformed % in it")
	case strings.Trim(strings.TrimSuffix(trimmed, ".git"), "/") == "":
		return "", errors.New("the name of the repository is missing after the host")
	case trimmed[0] == '-':
		return "", errors.New(`the path must not start with "-"`)
	case strings.ContainsAny(plain, "?#\\ ") || strings.ContainsFunc(plain, invisible):
		return "", errors.New(`the path has a blank, "?", "#", "\" or a control character in it`)
	}
	for part := range strings.SplitSeq(plain, "/") {
		if part == "." || part == ".." {
			return "", errors.New(`the path must not have "." or ".." in it`)
		}
	}
	return trimmed, nil
}

// DefaultPort returns the port of a scheme; empty for a scheme without one.
func DefaultPort(scheme string) string {
	switch scheme {
	case "https":
		return "443"
	case "http":
		return "80"
	default:
		return "22"
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// display quotes a name for a message. It masks the part before an @, which may be a secret.
func display(name string) string {
	start := 0
	if i := strings.Index(name, "://"); i >= 0 {
		start = i + 3
	}
	if before, after, found := cutLast(name[start:], "@"); found && before != "git" {
		name = name[:start] + "***@" + after
	}
	return strconv.Quote(name)
}

// CleanPath converts a path such as "./workload/" or "/workload" to the form of io/fs.
func CleanPath(name string) string {
	return path.Clean(strings.TrimLeft(strings.TrimSpace(name), "/"))
}
