package giturl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// replacement is one --replace REPO=PATH.
type replacement struct {
	// pattern matches the normal form of a name; each `*` is a group.
	pattern *regexp.Regexp
	target  string
}

// parseReplacements parses the values of --replace. The error lists all invalid values.
func parseReplacements(values []string) ([]replacement, error) {
	var (
		rules []replacement
		errs  []error
	)
	for _, value := range values {
		rule, err := parseReplacement(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("--replace %s: %w", display(value), err))
			continue
		}
		rules = append(rules, rule)
	}
	return rules, errors.Join(errs...)
}

func parseReplacement(value string) (replacement, error) {
	repo, target, found := strings.Cut(value, "=")
	repo, target = strings.TrimSpace(repo), strings.TrimSpace(target)
	switch {
	case !found:
		return replacement{}, errors.New(`"=" is missing; write REPO=PATH`)
	case repo == "":
		return replacement{}, errors.New(`the repository before the "=" is missing`)
	case target == "":
		return replacement{}, errors.New(`the path or URL after the "=" is missing`)
	case strings.Count(target, "*") > strings.Count(repo, "*"):
		return replacement{}, errors.New(`more "*" after the "=" than before it`)
	}
	a, err := ParseAddress(target)
	if err == nil {
		err = a.FromCommandLine()
	}
	if err != nil {
		return replacement{}, fmt.Errorf("%s cannot be read: %w", display(target), err)
	}
	pattern, err := compilePattern(repo)
	return replacement{pattern: pattern, target: target}, err
}

// compilePattern turns the left side into a regular expression over normal forms. A pattern that
// is not a name itself, such as "*/shop", is matched as it is.
func compilePattern(repo string) (*regexp.Regexp, error) {
	if strings.HasPrefix(repo, "-") || strings.ContainsFunc(repo, invisible) {
		return nil, errors.New("the repository before the \"=\" cannot be a name")
	}
	scheme := ""
	if normal, err := NormalURL(repo); err == nil && strings.Trim(repo, "*") != "" {
		if repo = normal; !strings.Contains(repo, "://") && !strings.ContainsAny(repo[:1], `./\*`) {
			scheme = "(?:https://)?"
		}
	}
	quoted := strings.ReplaceAll(regexp.QuoteMeta(repo), `\*`, `(.+?)`)
	return regexp.Compile("^" + scheme + quoted + "$")
}

// replace returns the replacement of the repository with the normal form name; ok is false if no rule matches. The first
// rule that matches wins. A `*` matches one or more characters, including slashes, as few as possible, but never "..":
// otherwise a name in a YAML object could lead out of the directory on the command line.
func replace(rules []replacement, name string) (target string, ok bool) {
	for _, rule := range rules {
		groups := rule.pattern.FindStringSubmatch(name)
		if groups == nil || slices.ContainsFunc(groups[1:], climbs) {
			continue
		}
		parts := strings.Split(rule.target, "*")
		var b strings.Builder
		b.WriteString(parts[0])
		for i, part := range parts[1:] {
			b.WriteString(groups[1+i] + part)
		}
		return b.String(), true
	}
	return "", false
}

func climbs(text string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}
