package message

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitopstest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
)

// changeOf returns the change between two sets of files, "path=content".
func changeOf(t *testing.T, old, now []string) *change.Change {
	t.Helper()
	change, err := change.Compare(t.Context(), gitopstest.Published(old...), gitopstest.Tree(now...))
	require.NoError(t, err)
	return change
}

// reportOf returns a report whose sources are someProvenance.
func reportOf(change *change.Change) Report {
	return Report{Environment: "dev", Change: change, Now: someProvenance()}
}

func targetFiles(folder, config string) []string {
	files := []string{folder + "/namespace.yaml=kind: Namespace\n", folder + "/reconciler.yaml=kind: Kustomization\n"}
	if config != "" {
		files = append(files, folder+"/platform-config.yaml=apiVersion: v1\ndata:\n"+config+"kind: ConfigMap\n")
	}
	return files
}

func joined(groups ...[]string) []string {
	var all []string
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

func oneChange(t *testing.T) *change.Change {
	edge := []string{"edge/" + gitopstest.Readme}
	return changeOf(t,
		joined(edge, targetFiles("edge/cart", ""), targetFiles("edge/shop", "  REGION: eastus\n")),
		joined(edge, targetFiles("edge/cart", ""), targetFiles("edge/shop", "  REGION: westus\n")))
}

func trackingFile(commit string) []string { return []string{render.TrackingFile + "=" + commit} }

func TestTitleAndSubject(t *testing.T) {
	t.Parallel()
	edge, west := []string{"edge/" + gitopstest.Readme}, []string{"west/" + gitopstest.Readme}
	a, b := targetFiles("edge/a", ""), targetFiles("edge/b", "")
	for name, test := range map[string]struct {
		old, now       []string
		title, subject string
	}{
		"one change": {
			joined(edge, targetFiles("edge/a", "  K: old\n")), joined(edge, targetFiles("edge/a", "  K: new\n")),
			"dev: 1 assignment changed on 1 cluster type", "Render dev: 1 assignment changed on 1 cluster type",
		},
		"all at once": {
			joined(edge, west, a, targetFiles("west/a", "  K: old\n"), targetFiles("west/b", "")), joined(edge, west, a, b, targetFiles("west/a", "  K: new\n")),
			"dev: 1 assignment added, 1 changed, 1 removed on 2 cluster types", "Render dev: 1 assignment added, 1 changed, 1 removed on 2 cluster types",
		},
		"the promoted commit alone": {
			joined(edge, a, trackingFile(commitB)), joined(edge, a, trackingFile(commitA)),
			"dev: promote 4c1f9e2, no cluster changes", "Promote 4c1f9e2 to dev: no cluster changes",
		},
		"a promotion that removes": {
			joined(edge, a, b, trackingFile(commitB)), joined(edge, a, trackingFile(commitA)),
			"dev: promote 4c1f9e2, 1 assignment removed on 1 cluster type", "Promote 4c1f9e2 to dev: 1 assignment removed on 1 cluster type",
		},
		"an empty cluster type": {
			joined(edge, a), joined(edge, a, west), "dev: 1 cluster type added, no assignments", "Render dev: 1 cluster type added, no assignments",
		},
		"a promoted commit that is none": {
			joined(edge, a), joined(edge, a, trackingFile("@team fixes #1\n\nx")),
			"dev: promote ?team fixes ?1??x, no cluster changes", "Promote ?team fixes ?1??x to dev: no cluster changes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reportOf(changeOf(t, test.old, test.now))
			assert.Equal(t, test.title, PullRequestTitle(r))
			message := Commit(r)
			subject, rest, _ := strings.Cut(message, "\n")
			assert.Equal(t, test.subject, subject)
			assert.True(t, strings.HasPrefix(rest, "\n"+r.Change.Plan().String()+"\n\nKalypso-Version: "), message)
		})
	}
}

// TestR30UpgradesAreVisible: messages name a new version of kalypso, and registrations that are held back.
func TestR30UpgradesAreVisible(t *testing.T) {
	t.Parallel()
	r := reportOf(oneChange(t))
	r.Before = &Provenance{Version: "v1.1.0"}
	assert.Equal(t, "dev: 1 assignment changed on 1 cluster type, kalypso v1.1.0 → v1.2.0", PullRequestTitle(r))
	r.Quarantined = []QuarantinedRegistration{{Name: "shop"}}
	assert.Equal(t, "dev: 1 assignment changed on 1 cluster type, kalypso v1.1.0 → v1.2.0, 1 registration quarantined", PullRequestTitle(r))
	assert.Contains(t, Commit(r), "\nQuarantined because of errors: 1 registration\n")
	assert.Contains(t, Commit(r), "\nKalypso-Held: shop\n")
}

func TestTitleAndSubjectAreShort(t *testing.T) {
	t.Parallel()
	r := reportOf(oneChange(t))
	for _, length := range []int{1, 10, 30, 40, 60, 63, 1000} {
		r.Environment = strings.Repeat("e", length)
		r.Before = &Provenance{Version: strings.Repeat("@", 1000)}
		title := PullRequestTitle(r)
		assert.LessOrEqual(t, len(title), 256)
		assert.NotContains(t, title, "@")
		subject, _, _ := strings.Cut(Commit(r), "\n")
		assert.LessOrEqual(t, len(subject), max(72, len("Render ")+min(length, maxName)))
	}
}

// TestR17CommitMessageIsTheSame: the same inputs have the same message, in any order.
func TestR17CommitMessageIsTheSame(t *testing.T) {
	t.Parallel()
	r := reportOf(oneChange(t))
	r.Quarantined = []QuarantinedRegistration{{Name: "b"}, {Name: "a"}}
	want := Commit(r)
	origins := r.Now.Origins
	origins[0], origins[4], origins[3] = origins[4], origins[3], origins[0]
	r.Quarantined[0], r.Quarantined[1] = r.Quarantined[1], r.Quarantined[0]
	assert.Equal(t, want, Commit(r))
}
