package render

// composer renders files in pieces and finds their shapes. Only one goroutine may use it at a time;
// all share the shapes.
type composer struct {
	composition
	shapes *fileShapes
	buffer []byte
}

func newComposer(shapes *fileShapes, bounds Bounds) *composer {
	return &composer{composition: composition{bounds: bounds}, shapes: shapes}
}

// compose fills in a file that can be rendered in pieces.
func (c *composer) compose(s *subject, file *renderedFile, render func(*composition) bool) bool {
	if c == nil {
		return false
	}
	c.reset()
	c.facts, c.values = &s.facts, s.values
	c.yaml, c.blocks, c.readsManifests, c.printsManifests = file.yaml, 0, false, false
	c.steps, c.removed = 0, 0
	if !render(&c.composition) {
		return false
	}
	placed := c.shapes.place(&c.rope, file.yaml, &c.buffer)
	file.Content, file.verified, file.objects = placed.text, placed.verified || !file.yaml, placed.objects
	file.untainted = !c.readsManifests && (placed.verified || !c.printsManifests)
	return true
}
