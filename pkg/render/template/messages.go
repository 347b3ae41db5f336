package template

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// Diagnose reports an error of Execute at its place in the file of the template.
func (t *Template) Diagnose(severity diag.Severity, err error) diag.Diagnostic {
	problem := asError(err)
	return diag.Diagnostic{
		Severity: severity,
		Rule:     problem.Rule,
		At:       t.place(problem.Line, problem.Column),
		Message:  problem.Message,
		Hint:     problem.Hint,
	}
}

// place turns a line and column of the text into a place in its file. Only the lines of a literal
// block are the lines of the file; for another text it is the place of the value.
func (t *Template) place(line, column int) diag.Place {
	at := t.block.At
	if t.block.Indent < 0 || line == 0 || at.Line == 0 {
		return at
	}
	// The text begins in the line below the block's "|".
	at.Line += line
	at.Column = 0
	if column > 0 {
		at.Column = t.block.Indent + column
	}
	return at
}

// execMessage is how text/template tells an error, at go/src/text/template/exec.go (errorf):
// `template: (text):LINE:COLUMN: executing "NAME" at <EXPRESSION>: MESSAGE`.
var execMessage = regexp.MustCompile(
	`(?s)^template: ` + regexp.QuoteMeta(rootName) + `:(\d+):(\d+): executing ".*?" at <(.*?)>: (.*)$`)

// readError makes an Error of an error of text/template, whose errors are prose.
func (p *program) readError(err error, data any) *Error {
	match := execMessage.FindStringSubmatch(err.Error())
	if match == nil {
		return asError(err)
	}
	line, _ := strconv.Atoi(match[1])
	column, _ := strconv.Atoi(match[2])
	expression := match[3]
	if given, ok := p.pipedInto(rootName + ":" + match[1] + ":" + match[2]); ok {
		expression = given
	}
	problem := p.readProse(expression, match[4], data)
	var ours *Error
	if errors.As(err, &ours) {
		copied := *ours
		problem = &copied
	}
	problem.Line, problem.Column = line, column+1
	return problem
}

// pipedInto returns the expression whose value is handed on to a command. text/template says of a
// value that does not fit only where the command is, or its last argument.
func (p *program) pipedInto(location string) (expression string, ok bool) {
	for _, tree := range p.trees {
		WalkNodes(tree.Root, func(node parse.Node) {
			pipe, isPipe := node.(*parse.PipeNode)
			if !isPipe {
				return
			}
			for i, command := range pipe.Cmds[1:] {
				switch last := command.Args[len(command.Args)-1].(type) {
				case *parse.IdentifierNode, *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
					if at, _ := tree.ErrorContext(last); at == location {
						expression, ok = pipe.Cmds[i].String(), true
					}
				}
			}
		})
	}
	return expression, ok
}

// The messages of text/template that are worth saying in other words.
var (
	noField       = regexp.MustCompile(`^can't evaluate field (\S+) in type (.+)$`)
	nilField      = regexp.MustCompile(`^nil pointer evaluating .+\.(\S+)$`)
	failedCall    = regexp.MustCompile(`(?s)^error calling (\S+): (?:runtime error: )?(.*)$`)
	wrongType     = regexp.MustCompile(`^wrong type for value; expected (.+); got (.+)$`)
	nothingGiven  = regexp.MustCompile(`^invalid value; expected (.+)$`)
	argumentCount = regexp.MustCompile(`^wrong number of args for (\S+): want (.+) got (\d+)$`)
	noTemplate    = regexp.MustCompile(`^template "(.*)" not defined$`)
)

// readProse puts a message about an expression into our words, or shows it as it is.
func (p *program) readProse(expression, message string, data any) *Error {
	failed := func(format string, arguments ...any) *Error {
		return &Error{Rule: ruleFailed, Message: excerpt(fmt.Sprintf(format, arguments...))}
	}
	if m := noField.FindStringSubmatch(message); m != nil {
		return noFieldError(expression, m[1], m[2], data)
	}
	if m := nilField.FindStringSubmatch(message); m != nil {
		problem := failed("%s: cannot read %q of an empty value", expression, m[1])
		problem.Rule = ruleUnknownField
		return problem
	}
	if m := failedCall.FindStringSubmatch(message); m != nil {
		return failed("%s: %s", m[1], m[2])
	}
	if m := wrongType.FindStringSubmatch(message); m != nil {
		if m[2] == "interface {}" {
			return nothingGivenError(expression, m[1])
		}
		return failed("%s is %s, but %s is required", expression, typeName(m[2]), typeName(m[1]))
	}
	if m := nothingGiven.FindStringSubmatch(message); m != nil {
		return nothingGivenError(expression, m[1])
	}
	if m := argumentCount.FindStringSubmatch(message); m != nil {
		return failed("%s has %s arguments instead of %s", m[1], m[3], m[2])
	}
	if m := noTemplate.FindStringSubmatch(message); m != nil {
		hint := diag.DidYouMean(m[1], p.defined())
		if hint == "" {
			hint = "define it with {{ define }} in the same text"
		}
		return &Error{
			Rule:    ruleUnknownTemplate,
			Message: excerpt(fmt.Sprintf("template %q is not defined in this text", m[1])),
			Hint:    hint,
		}
	}
	return failed("%s: %s", expression, message)
}

// missingHint is what to do about a value that is not there.
const missingHint = `set a value, or add a default in the template: {{ … | default "…" }}`

func nothingGivenError(expression, wanted string) *Error {
	return &Error{
		Rule:    ruleNoValue,
		Message: excerpt(fmt.Sprintf("%s has no value, but %s is required", expression, typeName(wanted))),
		Hint:    missingHint,
	}
}

func noFieldError(expression, field, typ string, data any) *Error {
	fields := fieldsOfType(reflect.TypeOf(data), strings.TrimPrefix(typ, "*"))
	if fields == nil {
		return &Error{
			Rule:    ruleUnknownField,
			Message: excerpt(fmt.Sprintf("%s: %q not found in %s", expression, field, typeName(typ))),
		}
	}
	return &Error{
		Rule:    ruleUnknownField,
		Message: excerpt(fmt.Sprintf("unknown field %q in %s", field, expression)),
		Hint:    diag.DidYouMean(field, fields),
	}
}

// fieldsOfType returns the sorted fields of the data if that is a struct of the type with this name.
func fieldsOfType(t reflect.Type, name string) []string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || t.String() != name {
		return nil
	}
	names := []string{}
	for _, field := range reflect.VisibleFields(t) {
		names = append(names, field.Name)
	}
	slices.Sort(names)
	return names
}

// typeName says a Go type as people would.
func typeName(typ string) string {
	switch {
	case typ == "string":
		return "a string"
	case typ == "interface {}":
		return "a value that is not a map"
	case typ == "bool":
		return "a boolean"
	case typ == "int", typ == "int64", typ == "float64", typ == "uint64":
		return "a number"
	case strings.HasPrefix(typ, "map["):
		return "a map"
	case strings.HasPrefix(typ, "[]"):
		return "a list"
	default:
		return "a " + typ
	}
}
