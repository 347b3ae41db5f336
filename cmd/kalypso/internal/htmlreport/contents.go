package htmlreport

import (
	"fmt"
	"path"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/render/config"
)

// contents are the assignments and values of an environment.
type contents struct {
	clusterTypes [][]assigned
	configurator *config.Configurator
	table        table
	positions    map[entryKey]int
	// made caches values by their stack.
	made map[string]value
}

// assigned is a target on a cluster type with its files.
type assigned struct {
	clusterType *model.ClusterType
	target      *model.DeploymentTarget
	files       []render.File
}

// table contains each config entry of an environment once; values refer to it by position.
type table struct {
	Entries []entry `json:"entries"`
}

// entry is a value in a ConfigMap.
type entry struct {
	Key    string `json:"k"`
	Config string `json:"n"`
	At     string `json:"at"`
	Text   string `json:"v"`
}

// clusterTypeContent is the content of a cluster type in the page.
type clusterTypeContent struct {
	// Configs are the distinct configurations of the targets.
	Configs [][]value `json:"configs"`
	// Targets are the position of the configuration and the files of each target, by name.
	Targets map[string]targetContent `json:"targets"`
}

type targetContent struct {
	Config int         `json:"config"`
	Files  [][2]string `json:"files,omitempty"`
}

// value is a config value.
type value struct {
	// Stack are the positions of the entries for a key, in rising precedence.
	Stack []int `json:"o"`
	// Merged are the positions in Stack of entries that were merged with the previous ones.
	Merged []int `json:"m,omitempty"`
	// Value is nil if it is the text of the last entry.
	Value *string `json:"v,omitempty"`
}

// maxManifests is the maximum size of all manifests in bytes; a larger page is hard to mail or open.
const maxManifests = 64 << 20

// newContents returns the contents of an environment, with manifests if requested.
func newContents(e Environment, manifests bool) *contents {
	c := &contents{clusterTypes: make([][]assigned, len(e.Fleet.ClusterTypes)), positions: map[entryKey]int{}, made: map[string]value{}}
	c.configurator, _ = config.NewConfigurator(e.Fleet) // errors are in the diagnostics
	files := map[string][]render.File{}
	if e.Tree != nil && manifests {
		for _, f := range e.Tree.Files {
			if f.Assignment != nil {
				files[path.Dir(f.Path)] = append(files[path.Dir(f.Path)], f)
			}
		}
	}
	clusterTypes := positions(e.Fleet.ClusterTypes)
	for _, a := range e.Assignments {
		i := clusterTypes[a.ClusterType]
		c.clusterTypes[i] = append(c.clusterTypes[i], assigned{a.ClusterType, a.Target, files[a.ClusterType.Name.Value+"/"+a.Target.Name.Value]})
	}
	return c
}

// of returns the content of a cluster type.
func (c *contents) of(on []assigned) clusterTypeContent {
	content := clusterTypeContent{Configs: [][]value{}, Targets: make(map[string]targetContent, len(on))}
	known := map[*config.Values]int{}
	for _, a := range on {
		values := c.configurator.Configure(a.clusterType, a.target)
		at, found := known[values]
		if !found {
			at = len(content.Configs)
			known[values] = at
			content.Configs = append(content.Configs, c.valuesOf(values))
		}
		target := targetContent{Config: at}
		for _, f := range a.files {
			target.Files = append(target.Files, [2]string{path.Base(f.Path), f.Content.String()})
		}
		content.Targets[a.target.Name.Value] = target
	}
	return content
}

func (c *contents) valuesOf(values *config.Values) []value {
	all := []value{}
	for _, key := range values.Keys() {
		origins := values.Origins(key)
		v := value{Stack: make([]int, len(origins))}
		for i, origin := range origins {
			v.Stack[i] = c.position(key, origin)
		}
		same := fmt.Sprint(v.Stack)
		made, known := c.made[same]
		if !known {
			made = v.from(values, key)
			c.made[same] = made
		}
		all = append(all, made)
	}
	return all
}

// from sets Merged and Value.
func (v value) from(values *config.Values, key string) value {
	stack := values.Stack(key)
	for i, laid := range stack {
		if laid.Merged {
			v.Merged = append(v.Merged, i)
		}
	}
	if text := values.Text(key); len(stack) == 0 || text != stack[len(stack)-1].Text {
		v.Value = &text
	}
	return v
}

// entryKey identifies an entry.
type entryKey struct {
	key string
	at  diag.Place
}

// position returns the position of an entry in the table and adds it if needed.
func (c *contents) position(key string, o config.Origin) int {
	k := entryKey{key, o.At}
	at, found := c.positions[k]
	if !found {
		at = len(c.table.Entries)
		c.positions[k] = at
		c.table.Entries = append(c.table.Entries, entry{key, o.Config.Name.Value, o.At.String(), o.Text})
	}
	return at
}
