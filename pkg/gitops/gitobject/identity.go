package gitobject

import (
	"errors"
	"net/mail"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// ParseIdentity reads "Name <email>".
func ParseIdentity(text string) (Identity, error) {
	address, err := mail.ParseAddress(text)
	if err != nil || strings.TrimSpace(address.Name) == "" {
		return Identity{}, errors.New("write NAME <EMAIL>")
	}
	return Identity{address.Name, address.Address}, nil
}

// CheckBranch says why a name cannot be that of a branch.
func CheckBranch(name string) error {
	if name == "HEAD" || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "refs/") || plumbing.NewBranchReferenceName(name).Validate() != nil {
		return errors.New("it cannot be the name of a branch")
	}
	return nil
}
