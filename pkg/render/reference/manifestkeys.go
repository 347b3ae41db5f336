package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// keysRead are the keys of manifests that templates read. all means that they may read any key.
type keysRead struct {
	keys map[string]bool
	all  bool
}

// WarnUnusedManifests warns of keys of manifests that no template of the cluster types of their target reads and that are
// nearly the name of one that is read. Other unused keys are usual: applications serve several platforms.
func WarnUnusedManifests(fleet *model.Fleet, assignments []schedule.Assignment, templates map[*model.ClusterType]*Templates) diag.List {
	var diags diag.List
	byConfig := readByConfig(fleet)
	if byConfig.all {
		return nil
	}
	read := map[*model.ClusterType]keysRead{}
	readers := map[*model.DeploymentTarget][]keysRead{}
	for _, a := range assignments {
		if a.Target.Broken || !hasOtherKeys(a.Target) {
			continue
		}
		if _, known := read[a.ClusterType]; !known {
			read[a.ClusterType] = templates[a.ClusterType].keysRead()
		}
		readers[a.Target] = append(readers[a.Target], read[a.ClusterType])
	}
	for target, of := range readers {
		used := byConfig.and(of)
		for key, value := range target.Manifests {
			near := diag.Nearest(key, slices.Sorted(maps.Keys(used.keys)))
			if used.all || used.keys[key] || isStandard(key) || near == "" {
				continue
			}
			diags.Warning("unused-manifest-key", value.At,
				fmt.Sprintf("manifests.%s of deployment target %q is not used by any template of its cluster types", diag.Shorten(key, 100), target.Name.Value),
				diag.Hint(fmt.Sprintf("did you mean %q?", near)))
		}
	}
	return diags
}

// isStandard reports whether every target may have a key, whether a template reads it or not.
func isStandard(key string) bool {
	return slices.Contains(slices.Collect(maps.Values(template.ManifestFields)), key)
}

func hasOtherKeys(t *model.DeploymentTarget) bool {
	for key := range t.Manifests {
		if !isStandard(key) {
			return true
		}
	}
	return false
}

// and returns the keys that any of them reads.
func (k keysRead) and(others []keysRead) keysRead {
	union := keysRead{maps.Clone(k.keys), k.all}
	for _, other := range others {
		maps.Copy(union.keys, other.keys)
		union.all = union.all || other.all
	}
	return union
}

// readByConfig returns what the values of ConfigMaps read, as these may hold templates.
func readByConfig(fleet *model.Fleet) keysRead {
	read := keysRead{keys: map[string]bool{}}
	for _, config := range fleet.ConfigMaps {
		for _, value := range config.Data {
			if strings.Contains(value.Value, template.ActionStart) {
				parsed, _ := template.Parse(model.Block{Text: value})
				read.template(parsed)
			}
		}
	}
	return read
}

// keysRead returns what the templates of a cluster type read.
func (t *Templates) keysRead() keysRead {
	read := keysRead{keys: map[string]bool{}, all: t.Unusable()}
	if read.all {
		return read
	}
	for _, one := range []*Template{t.reconciler, t.namespace, t.config} {
		if one == nil {
			continue
		}
		for _, manifest := range one.Manifests {
			for _, text := range manifest.Texts {
				if text.Template != nil {
					read.template(text.Template)
				}
			}
		}
	}
	return read
}

// template adds what a template reads; it is nil if it cannot be parsed.
func (k *keysRead) template(t *template.Template) {
	if t == nil || t.Defines() {
		k.all = true
		return
	}
	known := map[parse.Node]bool{} // nodes that read nothing else
	for _, node := range t.Nodes() {
		template.WalkNodes(node, func(node parse.Node) { k.node(node, known) })
	}
}

func (k *keysRead) node(node parse.Node, known map[parse.Node]bool) {
	dots := func(body *parse.ListNode) { // they are not the data there
		template.WalkNodes(body, func(inner parse.Node) {
			if inner.Type() == parse.NodeDot {
				known[inner] = true
			}
		})
	}
	switch node := node.(type) {
	case *parse.RangeNode:
		dots(node.List)
	case *parse.WithNode:
		dots(node.List)
	case *parse.PipeNode:
		for _, command := range node.Cmds {
			k.lookUp(command.Args, known)
		}
	case *parse.DotNode:
		k.all = k.all || !known[node]
	case *parse.StringNode: // it may be rendered again
		k.all = k.all || strings.Contains(node.Text, template.ActionStart)
	case *parse.FieldNode:
		k.field(node.Ident, known[node])
	case *parse.VariableNode:
		if node.Ident[0] == "$" {
			k.field(node.Ident[1:], known[node])
		}
	}
}

// lookUp adds the key that a call such as index .Manifests "path" reads.
func (k *keysRead) lookUp(args []parse.Node, known map[parse.Node]bool) {
	if len(args) != 3 {
		return
	}
	function, _ := args[0].(*parse.IdentifierNode)
	key, isText := args[2].(*parse.StringNode)
	if function != nil && isText && isManifests(args[1]) && slices.Contains([]string{"index", "get", "hasKey"}, function.Ident) {
		k.keys[key.Text] = true
		known[args[1]] = true
	}
}

func isManifests(node parse.Node) bool {
	return node.String() == ".Manifests" || node.String() == "$.Manifests"
}

// field adds what a chain of fields of the data reads; known means that only a known key is read of it.
func (k *keysRead) field(chain []string, known bool) {
	switch {
	case len(chain) == 0:
		k.all = true
	case template.ManifestFields[chain[0]] != "":
		k.keys[template.ManifestFields[chain[0]]] = true
	case chain[0] == "Manifests" && len(chain) > 1:
		k.keys[chain[1]] = true
	case chain[0] == "Manifests":
		k.all = k.all || !known
	}
}
