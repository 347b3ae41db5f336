// Package incremental composes files from parts that they share: a reference.Shortcut.
//
// A plan has the steps of a template (plan.go), which add pieces to a builder (builder.go); entries of the configuration are
// written once for all files (segment.go), and so is the YAML of objects (object_compose.go). Files that differ only in
// placeholders have one shape. What package verify and the proof of package reference would find in these files is proven
// once for the shape (shape.go, shape_proof.go). Files with an uncertain result are left to package reference.
package incremental

import (
	"slices"
	"sync"

	"github.com/kalypso-gitops/kalypso/pkg/model"
	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// Composer renders files in pieces and finds their shapes. It is safe for concurrent use.
type Composer struct {
	bounds       template.Bounds
	shapes       *fileShapes
	templates    map[*reference.Template][]plannedManifest
	targets      map[*model.DeploymentTarget]*memo
	clusterTypes map[*model.ClusterType]*memo
	orders       *keyOrders
	// idle are compositions that are not in use.
	idle sync.Pool
}

// plannedManifest renders an entry of a template in pieces. compose returns false if it cannot.
type plannedManifest interface{ compose(c *composition) bool }

// New returns a Composer for the targets and cluster types of a fleet, all its templates, and all keys of its
// configuration.
func New(fleet *model.Fleet, templates []*reference.Template, keys []string, bounds template.Bounds) *Composer {
	made := &Composer{
		bounds: bounds.OrDefault(), shapes: newFileShapes(), orders: newKeyOrders(keys),
		templates:    make(map[*reference.Template][]plannedManifest, len(templates)),
		targets:      make(map[*model.DeploymentTarget]*memo, len(fleet.Targets)),
		clusterTypes: make(map[*model.ClusterType]*memo, len(fleet.ClusterTypes)),
	}
	for _, t := range templates {
		if t.Unusable {
			continue
		}
		for _, m := range t.Manifests {
			made.templates[t] = append(made.templates[t], newPlannedManifest(m))
		}
	}
	for _, target := range fleet.Targets {
		made.targets[target] = &memo{}
	}
	for _, clusterType := range fleet.ClusterTypes {
		made.clusterTypes[clusterType] = &memo{}
	}
	made.idle.New = func() any { return &composition{Composer: made} }
	return made
}

// newPlannedManifest returns nil if a text has no plan.
func newPlannedManifest(m *reference.Manifest) plannedManifest {
	planned := &plannedObject{Manifest: m}
	for _, t := range m.Texts {
		if t.Template == nil {
			if !m.IsObject() {
				return constantStep(t.Block.Value)
			}
			continue
		}
		p := newPlan(t.Template)
		if p == nil {
			return nil
		}
		if !m.IsObject() {
			return p
		}
		planned.plans = append(planned.plans, p)
	}
	return planned
}

func (s constantStep) compose(c *composition) bool { return s.add(c) }

// Render renders a template into file; if template is nil, the configuration in the built-in form of the cluster type.
// It returns false if the file must be rendered by package reference.
func (r *Composer) Render(s *reference.Subject, template *reference.Template, file *reference.File) bool {
	c := r.idle.Get().(*composition)
	defer r.idle.Put(c)
	c.reset()
	c.Subject, c.yaml = s, file.YAML
	c.blocks, c.steps, c.removed, c.readsManifests, c.printsManifests = 0, 0, 0, false, false
	switch {
	case template != nil:
		if !composeAll(c, r.templates[template]) {
			return false
		}
	case s.Templates.Builtin == reference.ConfigMapType:
		if !composeConfigMap(c) {
			return false
		}
	default:
		if !c.addEntries(form{writer: inEnvFile}) {
			return false
		}
	}
	placed := r.shapes.place(&c.builder, file.YAML, &c.scratch.key)
	file.Content, file.Verified, file.Objects = placed.text, placed.verified || !file.YAML, placed.objects
	file.Untainted = !c.readsManifests && (placed.verified || !c.printsManifests)
	return true
}

// composeAll adds the documents of all manifests.
func composeAll(c *composition, manifests []plannedManifest) bool {
	for _, m := range manifests {
		first, size, last := len(c.pieces), c.size, c.last
		c.last = 0
		if m == nil || !m.compose(c) {
			return false
		}
		switch {
		case c.size == size:
			c.last = last
			continue
		case size == 0:
			continue
		}
		separator := "---\n"
		if last != '\n' {
			separator = "\n---\n"
		}
		c.pieces = slices.Insert(c.pieces, first, piece{text: separator})
		c.size += len(separator)
	}
	return true
}

// composeConfigMap writes the same text as reference.ConfigMap. The keys of the object are in alphabetical order, so
// the namespace is last.
func composeConfigMap(c *composition) bool {
	namespace := c.Facts.Namespace
	return kindOf(namespace) == plainPlaceholder && yamltext.IsLetter(namespace[0]) && yamltext.ReadsAsText(namespace) &&
		c.add(piece{text: "apiVersion: v1\ndata:\n"}) &&
		c.addEntries(form{writer: inConfigMap}) &&
		c.add(piece{text: "\nkind: ConfigMap\nmetadata:\n  name: " + model.PlatformConfigLabel + "\n  namespace: "}) &&
		c.add(piece{kind: plainPlaceholder, text: namespace}) &&
		c.add(piece{text: "\n"})
}
