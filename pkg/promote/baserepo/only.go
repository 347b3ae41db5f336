package baserepo

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// OnlyCommitChanged reports whether two versions of a YAML file hold the same documents but for spec.commit of BaseRepos,
// which may be changed, added or removed. Comments, blanks and the style of maps do not count; the order of keys and the
// quotes of other values do. It is false if there is no BaseRepo in the file, if one of the versions has errors, and
// in case of doubt: what it is true for is not promoted, so that an environment that shares a branch with its base
// does not promote its own promotions.
func OnlyCommitChanged(before, after []byte) bool {
	was, ok := withoutCommits(before)
	if !ok {
		return false
	}
	is, ok := withoutCommits(after)
	return ok && slices.EqualFunc(was, is, sameTree)
}

// withoutCommits returns the documents of a file with the commits of BaseRepos left out. ok is false if it holds no
// BaseRepo, or has errors.
func withoutCommits(file []byte) (all []*yaml.Node, ok bool) {
	if r := readBases(file); r.errors > 0 || len(r.bases) == 0 {
		return nil, false
	}
	all, err := documents(file)
	if err != nil {
		return nil, false
	}
	if sharedBy(all) != nil {
		return all, true // a commit that is used elsewhere counts
	}
	for i, root := range all {
		if isBaseRepo(root) {
			all[i] = withoutCommit(root)
		}
	}
	return all, true
}
