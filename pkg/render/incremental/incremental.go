// Package incremental composes files from parts that they share: a reference.Shortcut.
//
// A plan has the steps of a template (plan.go), which add pieces to a builder (builder.go); entries of the configuration are
// written once for all files (segment.go), and so is the YAML of objects (object_compose.go). Files that differ in
// harmless places alone have one shape, of which it is proven once what package verify and the proof of package
// reference would find (shape.go, shape_proof.go). What is not sure is left to the reference.
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
	// idle holds compositions that nothing is rendered in.
	idle sync.Pool
}

// plannedManifest renders an entry of a template in pieces, if it can.
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

// Render fills in the file that a template makes, or the configuration in the built-in form of the cluster type if
// template is nil. It fails if the file has to be rendered in the usual way.
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

// composeConfigMap writes what builtinConfigMap does. The keys of the object are in the order of the
// alphabet, so the namespace comes last.
func composeConfigMap(c *composition) bool {
	namespace := c.Facts.Namespace
	return kindOf(namespace) == plainHole && yamltext.IsLetter(namespace[0]) && yamltext.ReadsAsText(namespace) &&
		c.add(piece{text: "apiVersion: v1\ndata:\n"}) &&
		c.addEntries(form{writer: inConfigMap}) &&
		c.add(piece{text: "\nkind: ConfigMap\nmetadata:\n  name: " + model.PlatformConfigLabel + "\n  namespace: "}) &&
		c.add(piece{kind: plainHole, text: namespace}) &&
		c.add(piece{text: "\n"})
}
