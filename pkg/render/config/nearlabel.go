package config

import (
	"fmt"
	"slices"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// noticeNearClusterLabels reports labels of cluster types that nothing selects, if something selects a similar key, or a
// similar value that other objects have. If none has the value, another diagnostic reports the selector.
func noticeNearClusterLabels(layers []layer, fleet *model.Fleet, diags *diag.List) {
	used, known := selectedLabels(layers, fleet), newVocabulary(fleet)
	for _, clusterType := range fleet.ClusterTypes {
		for key, value := range clusterType.Labels {
			near := ""
			if used[key] != nil {
				near = typoOf(value.Value, used[key], known[key])
			} else if near = typoOf(key, used, used); clusterType.Labels[near].Value != "" {
				continue
			}
			if near != "" {
				diags.Notice("near-label", value.At, fmt.Sprintf("ClusterType %q has the label %s=%s, which no policy and no configuration selects", clusterType.Name.Value, key, value.Value),
					diag.Hint(fmt.Sprintf("did you mean %q?", near)))
			}
		}
	}
}

// selectedLabels returns the labels that something selects cluster types by.
func selectedLabels(layers []layer, fleet *model.Fleet) vocabulary {
	used := vocabulary{}
	for _, layer := range layers {
		for _, c := range layer.conditions {
			used.add(c.key, c.value)
		}
	}
	for _, schema := range fleet.ConfigSchemas {
		for key, value := range schema.Labels {
			used.add(key, value.Value)
		}
	}
	for _, policy := range fleet.Policies {
		used.addSelector(policy.ClusterTypes)
	}
	if e := fleet.Environment; e != nil && e.Promotion != nil {
		used.addSelector(e.Promotion.Checks.ClusterTypes)
	}
	return used
}

func (v vocabulary) addSelector(selector model.Selector) {
	for key, value := range selector.MatchLabels {
		v.add(key, value.Value)
	}
	for _, r := range selector.MatchExpressions {
		v.add(r.Key.Value, "") // Exists has no values
		for _, value := range r.Values {
			v.add(r.Key.Value, value.Value)
		}
	}
}

// typoOf returns the first name in alphabetical order, of those that are both used and known, that name is a typo of; ""
// if there is none or if name is used itself.
func typoOf[T any](name string, used, known map[string]T) (first string) {
	if _, is := used[name]; is {
		return ""
	}
	for candidate := range used {
		if _, is := known[candidate]; is && isTypo(name, candidate) && (first == "" || candidate < first) {
			first = candidate
		}
	}
	return first
}

// isTypo reports whether b is a with one letter more or less, or with two letters swapped. Names that differ in a letter or
// a digit, as size and site or east-1 and east-2, are often both meant.
func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < 3:
		return false
	case len(a) == len(b):
		return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] && areLetters(a[i:i+2])
	case len(a)+1 == len(b):
		return a[i:] == b[i+1:] && areLetters(b[i:i+1])
	}
	return false
}

func areLetters(text string) bool {
	return !slices.ContainsFunc([]byte(text), func(c byte) bool { return c|0x20 < 'a' || c|0x20 > 'z' })
}
