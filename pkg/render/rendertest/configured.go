package rendertest

import (
	"fmt"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
)

// Configs is a Configurator of configs, of which each applies to the targets that ask for it.
type Configs struct {
	*config.Configurator
	count int
}

// Configured returns configs in the order in which they are laid over each other.
func Configured(data ...map[string]string) Configs {
	var fleet model.Fleet
	for i, texts := range data {
		config := &model.ConfigMap{Data: map[string]model.Text{}}
		config.Name.Value = fmt.Sprintf("config-%05d", i)
		config.Labels = map[string]model.Text{model.PlatformConfigLabel: {Value: "true"}, label(i): {Value: "yes"}}
		for key, text := range texts {
			config.Data[key] = model.Text{Value: text}
		}
		fleet.ConfigMaps = append(fleet.ConfigMaps, config)
	}
	configurator, _ := config.NewConfigurator(&fleet)
	return Configs{configurator, len(data)}
}

func label(i int) string { return fmt.Sprintf("use-%05d", i) }

// Combine returns the values of the configs in some positions.
func (c Configs) Combine(positions []int) *config.Values {
	target := &model.DeploymentTarget{}
	target.Labels = map[string]model.Text{}
	for _, position := range positions {
		target.Labels[label(position)] = model.Text{Value: "yes"}
	}
	return c.Configure(&model.ClusterType{}, target)
}

// All returns the values of all configs.
func (c Configs) All() *config.Values {
	positions := make([]int, c.count)
	for i := range positions {
		positions[i] = i
	}
	return c.Combine(positions)
}

// Layered returns the values that configs make, laid over each other as those of a fleet are.
func Layered(data ...map[string]string) *config.Values { return Configured(data...).All() }
