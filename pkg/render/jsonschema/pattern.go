package jsonschema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of the regular expressions of one schema. Their cost is about the number of instructions of the compiled
// expression: a{1000} is short but costs a thousand.
const (
	maxPatternBytes = 4096
	maxPatternCost  = 10_000
	maxPatternsCost = 30_000
)

// errTooLarge is wrapped by the errors about expressions that exceed the limits.
var errTooLarge = errors.New("too large")

// patternSet compiles the regular expressions of one schema, each once and within the limits. It is used only while the
// schema is compiled.
type patternSet struct {
	compiled map[string]jsonschema.Regexp
	cost     int
}

// pattern is a compiled regular expression with the cost of matching.
type pattern struct {
	*regexp.Regexp
	cost int
}

// compile implements the library's engine for regular expressions. Its errors have no position.
func (s *patternSet) compile(expression string) (jsonschema.Regexp, error) {
	if p, found := s.compiled[expression]; found {
		return p, nil
	}
	cost, err := patternCost(expression)
	if err != nil {
		return nil, err
	}
	if s.cost += cost; s.cost > maxPatternsCost {
		return nil, fmt.Errorf("%w: all patterns together cost more than %d", errTooLarge, maxPatternsCost)
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	s.compiled[expression] = pattern{re, cost}
	return s.compiled[expression], nil
}

// patternCost estimates the size of the compiled expression without compiling it.
func patternCost(expression string) (int, error) {
	if len(expression) > maxPatternBytes {
		return 0, fmt.Errorf("%w: longer than %d bytes", errTooLarge, maxPatternBytes)
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	var broken *syntax.Error
	if errors.As(err, &broken) {
		err = fmt.Errorf("%s at %s", broken.Code, quote(broken.Expr))
		switch broken.Code {
		case syntax.ErrInvalidRepeatSize, syntax.ErrNestingDepth, syntax.ErrLarge:
			err = fmt.Errorf("%w: %w", errTooLarge, err)
		}
		return 0, err
	}
	cost := instructions(tree)
	if cost > maxPatternCost {
		return 0, fmt.Errorf("%w: its repetitions multiply to more than %d steps", errTooLarge, maxPatternCost)
	}
	return cost, nil
}

// instructions returns the number of instructions of an expression. The parser limits nesting and the product of nested
// repetitions, so neither the stack nor the count can overflow.
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

// validateRegex implements the format "regex" for values. It parses the expression without compiling it.
func validateRegex(value any) error {
	expression, isString := value.(string)
	if !isString {
		return nil
	}
	_, err := patternCost(expression)
	return err
}
