package githubtest

import (
	"fmt"
	"slices"
)

const queueLogin = "github-merge-queue[bot]"

// MergeQueue merges pull requests as a merge queue does that takes them for one group: one onto the other, on a branch
// of their own, which becomes the base in a single push. It returns what the base came to be.
func (r *Repo) MergeQueue(method string, numbers ...int) string {
	var tip string
	r.act(func() (err error) {
		tip, err = r.mergeGroup(method, numbers)
		return err
	})
	return tip
}

func (r *Repo) mergeGroup(method string, numbers []int) (string, error) {
	if !slices.Contains(mergeMethods(), method) || len(numbers) == 0 {
		return "", fmt.Errorf("a merge queue merges pull requests with a method, not %v with %q", numbers, method)
	}
	first, err := r.must(numbers[0])
	if err != nil {
		return "", err
	}
	base, tip := first.Base, first.BaseCommit
	branch := fmt.Sprintf("gh-readonly-queue/%s/pr-%d-%s", base, numbers[len(numbers)-1], tip)
	if err := r.branches.set(branch, tip); err != nil {
		return "", err
	}
	for _, number := range numbers {
		i, err := r.must(number)
		switch {
		case err != nil:
			return "", err
		case !i.pull || !i.Open || i.Base != base:
			return "", fmt.Errorf("%d is not an open pull request into %s", number, base)
		}
		if err := r.mergeInto(i, queueLogin, merge{method: method, branch: branch, base: tip}); err != nil {
			return "", err
		}
		tip = i.MergeCommit
	}
	if err := r.branches.set(base, tip); err != nil {
		return "", err
	}
	return tip, r.branches.set(branch, "")
}

func mergeMethods() []string { return []string{"merge", "squash", "rebase"} }
