package incremental

import (
	"strings"
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/render/config"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
)

// rangeStep is a range over the configuration whose body reads only the entry.
type rangeStep struct{ body *rangeBody }

func (s rangeStep) add(c *composition) bool { return c.addEntries(form{writer: inRange, body: s.body}) }

// rangeBody is the body of a range over the configuration: a part that ranges over the map that it is executed with.
type rangeBody struct{ part *template.Part }

// newRangeStep returns nil if the range is not over the configuration, or its body reads more than the entry.
func (p *plan) newRangeStep(node *parse.RangeNode) step {
	const withCheck = 2 // every range passes its value through rangeCheck
	if len(node.Pipe.Cmds) != withCheck || len(node.Pipe.Cmds[0].Args) != 1 || !isConfigData(node.Pipe.Cmds[0].Args[0]) || !isSelfContained(node) {
		return nil
	}
	dot := &parse.CommandNode{
		NodeType: parse.NodeCommand, Pos: node.Pos,
		Args: []parse.Node{&parse.DotNode{NodeType: parse.NodeDot, Pos: node.Pos}},
	}
	pipe, loop := *node.Pipe, *node
	pipe.Cmds = []*parse.CommandNode{dot, node.Pipe.Cmds[1]}
	loop.Pipe = &pipe
	return rangeStep{&rangeBody{p.template.Part([]parse.Node{&loop})}}
}

// isSelfContained reports whether the output of a loop for an entry depends only on that entry.
func isSelfContained(loop *parse.RangeNode) bool {
	known := map[string]bool{}
	good := true
	template.WalkNodes(loop, func(node parse.Node) {
		switch node := node.(type) {
		case *parse.PipeNode:
			for _, variable := range node.Decl {
				known[variable.Ident[0]] = true
			}
		case *parse.BreakNode, *parse.ContinueNode:
			good = false
		}
	})
	template.WalkNodes(loop.List, func(node parse.Node) {
		if variable, ok := node.(*parse.VariableNode); ok && !known[variable.Ident[0]] {
			good = false
		}
	})
	return good
}

// render returns the output of the body for a setting, and the number of steps that it takes.
func (b *rangeBody) render(s *config.Setting) (text string, steps int, ok bool) {
	var output strings.Builder
	steps, ok = b.part.Execute(map[string]any{s.Key.Name: s.Value}, template.Bounds{}, func(text string, _ bool) bool {
		output.WriteString(text)
		return output.Len() <= template.DefaultBytes
	})
	return output.String(), steps, ok
}
