package render

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is reported of a registration with too much output is the same whatever was rendered first, and the
// others' output does not depend on it.
func TestS8OutputOfARegistration(t *testing.T) {
	t.Parallel()
	texts := platform(standardTemplates(), everywhere(), registration("large", "retail"), registration("small", "retail"))
	for i := range 40 {
		texts.platform = append(texts.platform, clusterType(fmt.Sprintf("type-%d", i), ""))
	}
	var targets []string
	for i := range 10 {
		targets = append(targets, fmt.Sprintf("name: t%d, manifests: {path: ./p, x: %q}", i, "no: value"))
	}
	texts = texts.app("large", workload("large", "", targets...)).app("small", workload("small", "", "name: t, manifests: {path: ./p}"))
	fleet := texts.read(t)
	tree, diags := renderFleet(fleet, Options{OutputBytes: 1 << 20})
	assert.Empty(t, problems(diags))
	total := map[string]int64{}
	for _, file := range tree.Files {
		if file.Assignment != nil {
			content, _ := tree.ReadFile(file.Path)
			total[file.Assignment.Target.Workload] += int64(len(content))
		}
	}
	_, diags = renderFleet(fleet, Options{OutputBytes: total["large"]})
	assert.Empty(t, problems(diags))
	for range 3 {
		_, diags = renderFleet(fleet, Options{OutputBytes: total["large"] - 1})
		assert.Equal(t, []string{fmt.Sprintf(`cp:a.yaml:33:25: error: the output of registration "large" has more than %d bytes [output-too-large]`, total["large"]-1)}, problems(diags))
	}
}
