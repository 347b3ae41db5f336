package incremental

import (
	"strings"
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/render/reference"
	"github.com/kalypso-gitops/kalypso/pkg/render/template"
	"github.com/kalypso-gitops/kalypso/pkg/render/yamltext"
)

// fieldStep prints a string of the data: .Workload, .Labels.app or index .Labels "app", as it is or
// through quote.
type fieldStep struct {
	field  func(*reference.Data) string
	values func(*reference.Data) map[string]string
	key    string
	// indexed is true for the function index, which returns an empty string for a missing key.
	indexed   bool
	quoted    bool
	manifests bool
	// target is true if the string may come from an application.
	target bool
}

var textFields = map[string]func(*reference.Data) string{
	"DeploymentTargetName": func(d *reference.Data) string { return d.DeploymentTargetName },
	"Namespace":            func(d *reference.Data) string { return d.Namespace },
	"Environment":          func(d *reference.Data) string { return d.Environment },
	"Workspace":            func(d *reference.Data) string { return d.Workspace },
	"Workload":             func(d *reference.Data) string { return d.Workload },
	"ClusterType":          func(d *reference.Data) string { return d.ClusterType },
}

var mapFields = map[string]func(*reference.Data) map[string]string{
	"Labels":            func(d *reference.Data) map[string]string { return d.Labels },
	"ClusterTypeLabels": func(d *reference.Data) map[string]string { return d.ClusterTypeLabels },
	"Manifests":         func(d *reference.Data) map[string]string { return d.Manifests },
}

func newFieldStep(pipe *parse.PipeNode) step {
	arguments, quote := template.Printed(pipe)
	path, indexed := fieldPath(arguments)
	s := &fieldStep{indexed: indexed, quoted: quote == "quote"}
	switch {
	case quote == "squote":
		return nil
	case len(path) == 1 && template.ManifestFields[path[0]] != "" && !indexed:
		s.values, s.key = mapFields["Manifests"], template.ManifestFields[path[0]]
	case len(path) == 1 && textFields[path[0]] != nil && !indexed:
		s.field = textFields[path[0]]
	case len(path) == 2 && mapFields[path[0]] != nil:
		s.values, s.key = mapFields[path[0]], path[1]
	default:
		return nil
	}
	var r reads
	r.field(path[0])
	s.manifests, s.target = r.manifests, r.target
	return s
}

// fieldPath returns the names in .Labels.app or index .Labels "app", nil for other arguments.
func fieldPath(arguments []parse.Node) (path []string, indexed bool) {
	switch len(arguments) {
	case 1:
		if field, ok := arguments[0].(*parse.FieldNode); ok {
			return field.Ident, false
		}
	case 3:
		function, isFunction := arguments[0].(*parse.IdentifierNode)
		container, isField := arguments[1].(*parse.FieldNode)
		key, isText := arguments[2].(*parse.StringNode)
		if isFunction && function.Ident == "index" && isField && len(container.Ident) == 1 && isText {
			return []string{container.Ident[0], key.Text}, true
		}
	}
	return nil, false
}

// isCall reports whether a command calls a function with a number of arguments.
func isCall(c *parse.CommandNode, name string, arguments int) bool {
	function, ok := c.Args[0].(*parse.IdentifierNode)
	return ok && function.Ident == name && len(c.Args) == 1+arguments
}

func (s *fieldStep) add(c *composition) bool {
	var text string
	if s.field != nil {
		text = s.field(&c.Facts)
	} else {
		value, ok := s.values(&c.Facts)[s.key]
		if !ok && !s.indexed {
			return false // "<no value>", or "" in quotes
		}
		text = value
	}
	c.printsManifests = c.printsManifests || s.manifests
	if s.quoted {
		return yamltext.IsPrintable(text) && c.addPlaceholder(`"`+text+`"`, s.target)
	}
	switch kind := kindOf(text); {
	case kind == quotedPlaceholder && s.manifests:
		return false // the quotes are part of the value
	case kind != constantPiece:
		return c.add(piece{kind: kind, text: text, tenant: s.target})
	case yamltext.IsPrintable(text) && len(text) <= maxPlaceholder && isQuiet(text) && strings.TrimSpace(text) == text && text != "":
		return c.add(piece{kind: printablePlaceholder, text: text, tenant: s.target})
	default:
		return (text == "" || !s.manifests) && c.addPlaceholder(text, s.target)
	}
}
