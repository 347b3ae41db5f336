package fleettest

import (
	"fmt"
	"strings"
)

// Size says how large a fleet is.
type Size struct {
	// Name is what the size is called by; free for others than those of Sizes.
	Name string
	// ClusterTypes is a multiple of four, so that a quarter of them is a whole number.
	ClusterTypes int
	// Repositories are the application repositories, over which the workloads are spread.
	Repositories, Workloads int
	// Pairs are the configs that apply to one workload on one cluster type, beside those of all other levels.
	Pairs int
	// Unused is how many policies, and how many configs, are added that match nothing.
	Unused int
}

// Assignments is how many there are: every workload has a target of each tier, and every target is
// on exactly a quarter of the cluster types.
func (s Size) Assignments() int { return s.ClusterTypes / 4 * s.Workloads * len(tiers()) }

// Sizes are the fleets that are measured, the smallest first. All have the same shape: the largest,
// which has 1,000 configs, with its sides shortened alike.
func Sizes() []Size {
	return []Size{
		{Name: "1k", ClusterTypes: 28, Repositories: 20, Workloads: 48, Pairs: 6},
		{Name: "10k", ClusterTypes: 88, Repositories: 25, Workloads: 152, Pairs: 17},
		{Name: "100k", ClusterTypes: 284, Repositories: 25, Workloads: 470, Pairs: 50},
		{Name: "112500", ClusterTypes: 300, Repositories: 25, Workloads: 500, Pairs: 56},
	}
}

// Named returns the size of Sizes that has the name.
func Named(name string) (Size, error) {
	var names []string
	for _, size := range Sizes() {
		if size.Name == name {
			return size, nil
		}
		names = append(names, size.Name)
	}
	return Size{}, fmt.Errorf("there is no size %q (%s)", name, strings.Join(names, ", "))
}
