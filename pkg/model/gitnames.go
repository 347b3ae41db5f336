package model

import (
	"errors"
	"net/mail"
	"regexp"
	"strings"
)

const hintAuthor = "write NAME <EMAIL>"

// ParseAuthor reads "NAME <EMAIL>".
func ParseAuthor(text string) (name, email string, err error) {
	address, err := mail.ParseAddress(text)
	if err != nil || strings.TrimSpace(address.Name) == "" || strings.ContainsAny(address.Name+address.Address, "<>\n\x00") {
		return "", "", errors.New(hintAuthor)
	}
	return address.Name, address.Address, nil
}

// branchText has no character that Git refuses in the name of a branch.
var branchText = regexp.MustCompile(`^[^\x00-\x20\x7f~^:?*\[\\]+$`)

// CheckBranch says why a name cannot be that of a branch: https://git-scm.com/docs/git-check-ref-format.
func CheckBranch(name string) error {
	valid := branchText.MatchString(name) && name != "HEAD" && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "refs/") &&
		!strings.HasSuffix(name, ".") && !strings.Contains(name, "..") && !strings.Contains(name, "@{")
	for part := range strings.SplitSeq(name, "/") {
		valid = valid && part != "" && part != "@" && !strings.HasPrefix(part, ".") && !strings.HasSuffix(part, ".lock")
	}
	if !valid {
		return errors.New("it cannot be the name of a branch")
	}
	return nil
}
