package config

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If many configs set one key, only the first intermediate settings are kept: the memory must not grow with the square
// of their number.
func TestS8SettingsOfOneKeyAreNotAllKept(t *testing.T) {
	t.Parallel()
	var fleet model.Fleet
	for i := range 500 {
		config := &model.ConfigMap{Data: map[string]model.Text{"K": {Value: "[a]"}}}
		config.Name.Value = fmt.Sprintf("c%04d", i)
		config.Labels = map[string]model.Text{model.PlatformConfigLabel: {Value: "true"}}
		fleet.ConfigMaps = append(fleet.ConfigMaps, config)
	}
	c, _ := NewConfigurator(&fleet)
	kept := 0
	for s := c.Configure(&model.ClusterType{}, &model.DeploymentTarget{}).setting("K"); s != nil; s = s.before {
		kept++
	}
	assert.LessOrEqual(t, kept, maxDepth+2)
}

// appliesNaively implements the definition literally.
func appliesNaively(conditions []condition, clusterType *model.ClusterType, target *model.DeploymentTarget) bool {
	for _, c := range conditions {
		holds := clusterType.Labels[c.key].Value == c.value || target.Labels[c.key].Value == c.value
		switch c.key {
		case "cluster-type":
			holds = clusterType.Name.Value == c.value
		case "deployment-target":
			holds = target.Name.Value == c.value
		case "workload":
			holds = target.Workload == c.value
		}
		if !holds {
			return false
		}
	}
	return true
}

// The index and the definition select the same objects, for any labels.
func TestChoiceAgreesWithTheDefinition(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 6))
	keys := []string{"cluster-type", "deployment-target", "workload", "workspace", "a", "b", "c"}
	values := []string{"", "x", "y", "z"}
	randomTexts := func() map[string]model.Text {
		texts := map[string]model.Text{}
		for _, key := range keys {
			if random.IntN(2) == 0 {
				texts[key] = model.Text{Value: values[random.IntN(len(values))]}
			}
		}
		return texts
	}
	name := func() model.Text { return model.Text{Value: values[1+random.IntN(3)]} }
	applied := 0
	for range 400 {
		var all [][]condition
		for range 30 {
			var labels []condition
			for range random.IntN(4) {
				labels = append(labels, condition{key: keys[random.IntN(len(keys))], value: values[random.IntN(len(values))]})
			}
			all = append(all, labels)
		}
		var clusterTypes []*model.ClusterType
		for range 3 {
			clusterTypes = append(clusterTypes, &model.ClusterType{Object: model.Object{Name: name(), Labels: randomTexts()}})
		}
		index := newChoice(all)
		for range 5 {
			target := &model.DeploymentTarget{Object: model.Object{Name: name(), Labels: randomTexts()}, Workload: name().Value}
			for _, clusterType := range clusterTypes {
				var want []int
				for i, conditions := range all {
					if appliesNaively(conditions, clusterType, target) {
						want = append(want, i)
					}
				}
				got := index.of(clusterType, target)
				require.True(t, len(want) == 0 && len(got) == 0 || reflect.DeepEqual(want, got), "%v, not %v", got, want)
				applied += len(got)
			}
		}
	}
	assert.Greater(t, applied, 10_000)
}
