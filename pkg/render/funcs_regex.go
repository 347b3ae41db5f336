package render

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// regexFunctions are sprig's functions on regular expressions (RE2, so a match takes no more than the
// length of the text times the size of the expression, which is what it costs).
func regexFunctions() []function {
	return []function{
		{name: "regexMatch", with: regexMatches(true)},
		{name: "mustRegexMatch", with: regexMatches(false)},
		{name: "regexFind", with: regexFinds},
		{name: "mustRegexFind", with: regexFinds},
		{name: "regexFindAll", with: regexFindsAll, works: onEveryByte},
		{name: "mustRegexFindAll", with: regexFindsAll, works: onEveryByte},
		{name: "regexReplaceAll", with: regexReplaces("regexReplaceAll")},
		{name: "mustRegexReplaceAll", with: regexReplaces("mustRegexReplaceAll")},
		{name: "regexReplaceAllLiteral", with: regexReplacesLiterally("regexReplaceAllLiteral")},
		{name: "mustRegexReplaceAllLiteral", with: regexReplacesLiterally("mustRegexReplaceAllLiteral")},
		{name: "regexSplit", with: regexSplits, works: onEveryByte},
		{name: "mustRegexSplit", with: regexSplits, works: onEveryByte},
		{name: "regexQuoteMeta"},
	}
}

// onEveryByte is the work of going on from each match, of which a text may have as many as bytes.
func onEveryByte(a arguments) int { return times(len(a.text(1)), bytesPerStep/8) }

// regexCache keeps compiled expressions, which are written once in a template and used each time.
type regexCache map[string]compiledRegex

type compiledRegex struct {
	*regexp.Regexp
	// size is the number of instructions.
	size int
}

// maxCachedRegexes keeps expressions that are made from data from piling up.
const maxCachedRegexes = 100

// compileRegex compiles an expression for use on a text, and pays for both.
func (r *run) compileRegex(expression, text string) (compiledRegex, error) {
	compiled, ok := r.regex[expression]
	if !ok {
		parsed, err := syntax.Parse(expression, syntax.Perl)
		if err != nil {
			return compiledRegex{}, err
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			return compiledRegex{}, err
		}
		if compiled.Regexp, err = regexp.Compile(expression); err != nil {
			return compiledRegex{}, err
		}
		compiled.size = len(program.Inst)
		if r.regex == nil || len(r.regex) == maxCachedRegexes {
			r.regex = make(regexCache)
		}
		r.regex[expression] = compiled
	}
	return compiled, r.handle(times(compiled.size, bytesPerStep+len(text)))
}

// regexMatches: sprig's regexMatch takes an expression that is none for one that matches nothing.
func regexMatches(lenient bool) func(*run) any {
	return func(r *run) any {
		return func(expression, text string) (bool, error) {
			compiled, err := r.compileRegex(expression, text)
			var malformed *syntax.Error
			if lenient && errors.As(err, &malformed) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			return compiled.MatchString(text), nil
		}
	}
}

func regexFinds(r *run) any {
	return func(expression, text string) (string, error) {
		compiled, err := r.compileRegex(expression, text)
		if err != nil {
			return "", err
		}
		return compiled.FindString(text), nil
	}
}

func regexFindsAll(r *run) any {
	return func(expression, text string, limit int) ([]string, error) {
		compiled, err := r.compileRegex(expression, text)
		if err != nil {
			return nil, err
		}
		return compiled.FindAllString(text, limit), nil
	}
}

func regexSplits(r *run) any {
	return func(expression, text string, limit int) ([]string, error) {
		compiled, err := r.compileRegex(expression, text)
		if err != nil {
			return nil, err
		}
		return compiled.Split(text, limit), nil
	}
}

func regexReplaces(name string) func(*run) any {
	return func(r *run) any {
		return func(expression, text, replacement string) (string, error) {
			compiled, err := r.compileRegex(expression, text)
			if err != nil {
				return "", err
			}
			// A replacement of n bytes can name the match n/2 times.
			if err := r.admit(name, replacedBytes(compiled, text, len(replacement), (len(replacement)+1)/2)); err != nil {
				return "", err
			}
			return compiled.ReplaceAllString(text, replacement), nil
		}
	}
}

func regexReplacesLiterally(name string) func(*run) any {
	return func(r *run) any {
		return func(expression, text, replacement string) (string, error) {
			compiled, err := r.compileRegex(expression, text)
			if err != nil {
				return "", err
			}
			if err := r.admit(name, replacedBytes(compiled, text, len(replacement), 0)); err != nil {
				return "", err
			}
			return compiled.ReplaceAllLiteralString(text, replacement), nil
		}
	}
}

// replacedBytes bounds a text in which each match was replaced by fixed bytes and a number of copies
// of the match. Only if a match at every place would be too large, it is worth counting them.
func replacedBytes(compiled compiledRegex, text string, fixed, copies int) int {
	size := len(text)
	if plus(times(len(text)+1, fixed), times(len(text), copies)) <= smallReplacement {
		return size
	}
	compiled.ReplaceAllStringFunc(text, func(match string) string {
		size = plus(size, plus(fixed, times(len(match), copies)))
		return ""
	})
	return size
}

// smallReplacement is a size that needs no care.
const smallReplacement = 64 << 10
