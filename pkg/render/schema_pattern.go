package render

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of the regular expressions of one schema. Their cost is about the number of instructions
// that Go's regexp compiles them to: a{1000} is short but costs a thousand.
const (
	maxPatternBytes = 4096
	maxPatternCost  = 10_000
	maxPatternsCost = 30_000
)

// errTooLarge is the kind of the errors about expressions that cost too much.
var errTooLarge = errors.New("too large")

// patternSet compiles the regular expressions of one schema, each once and within the limits. It
// is used while the schema is compiled only.
type patternSet struct {
	compiled map[string]*pattern
	failed   map[string]error
	cost     int
}

func newPatternSet() *patternSet {
	return &patternSet{compiled: map[string]*pattern{}, failed: map[string]error{}}
}

// pattern is a compiled regular expression that knows what matching costs.
type pattern struct {
	*regexp.Regexp
	cost int
}

// compile returns the compiled expression. Its errors are for people and name no position.
func (s *patternSet) compile(expression string) (*pattern, error) {
	if p, found := s.compiled[expression]; found {
		return p, nil
	}
	if err, found := s.failed[expression]; found {
		return nil, err
	}
	p, err := s.compileNew(expression)
	if err != nil {
		s.failed[expression] = err
		return nil, err
	}
	s.compiled[expression] = p
	return p, nil
}

func (s *patternSet) compileNew(expression string) (*pattern, error) {
	cost, err := patternCost(expression)
	if err != nil {
		return nil, err
	}
	s.cost += cost
	if s.cost > maxPatternsCost {
		return nil, fmt.Errorf("%w: all patterns together cost more than %d", errTooLarge, maxPatternsCost)
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, explainSyntax(err)
	}
	return &pattern{Regexp: re, cost: cost}, nil
}

// engine lets the library compile its expressions here.
func (s *patternSet) engine(expression string) (jsonschema.Regexp, error) {
	p, err := s.compile(expression)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// patternCost estimates the size of the compiled expression without compiling it.
func patternCost(expression string) (int, error) {
	if len(expression) > maxPatternBytes {
		return 0, fmt.Errorf("%w: longer than %d bytes", errTooLarge, maxPatternBytes)
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, explainSyntax(err)
	}
	cost := instructions(tree)
	if cost > maxPatternCost {
		return 0, fmt.Errorf("%w: its repetitions multiply to more than %d steps", errTooLarge, maxPatternCost)
	}
	return cost, nil
}

// instructions counts what an expression compiles to. The parser bounds the nesting and the
// product of nested repetitions, so that neither the stack nor the count can overflow.
func instructions(tree *syntax.Regexp) int {
	n := 1
	if tree.Op == syntax.OpLiteral {
		n = max(1, len(tree.Rune))
	}
	for _, sub := range tree.Sub {
		n += instructions(sub)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(1, tree.Min+1, tree.Max)
	}
	return n
}

// explainSyntax puts the reason into words that do not depend on the version of the library.
func explainSyntax(err error) error {
	var syntaxError *syntax.Error
	if !errors.As(err, &syntaxError) {
		return errors.New("not understood")
	}
	part := quoteShort(syntaxError.Expr)
	switch syntaxError.Code {
	case syntax.ErrInvalidPerlOp:
		return fmt.Errorf("%s is not supported: expressions have no lookaround", part)
	case syntax.ErrInvalidEscape:
		return fmt.Errorf("%s is no known escape: expressions have no backreferences and write characters as \\x{e9}", part)
	case syntax.ErrInvalidRepeatSize:
		return fmt.Errorf("%w: %s repeats more than 1000 times", errTooLarge, part)
	case syntax.ErrNestingDepth, syntax.ErrLarge:
		return fmt.Errorf("%w: it nests too deeply or expands too far", errTooLarge)
	default:
		return fmt.Errorf("%s at %s", syntaxError.Code, part)
	}
}

// validateRegex is the format "regex" for values: the expression must be one, compiled or not.
func validateRegex(value any) error {
	expression, isString := value.(string)
	if !isString {
		return nil
	}
	_, err := patternCost(expression)
	return err
}
