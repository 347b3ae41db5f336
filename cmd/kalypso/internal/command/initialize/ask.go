package initialize

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
)

// field is something that init has to know.
type field struct {
	// question is empty for what is not asked here.
	flag, question string
	// value, or for several values list, is what the flag says; empty if it was not given.
	value *string
	list  *[]string
	// check tells what is wrong with a value.
	check func(string) error
	// proposal is the answer of whoever gives none; nil, or empty, has none.
	proposal func() string
	// optional fields need no answer where nobody can be asked: the proposal counts.
	optional bool
}

func always(text string) func() string { return func() string { return text } }

func (f field) given() bool {
	return f.value != nil && *f.value != "" || f.list != nil && len(*f.list) > 0
}

func (f field) proposed() string {
	if f.proposal == nil {
		return ""
	}
	return f.proposal()
}

// set takes an answer: for a list, words with blanks or commas between them.
func (f field) set(answer string) {
	if f.value != nil {
		*f.value = strings.TrimSpace(answer)
		return
	}
	*f.list = strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// problem tells what is wrong with what was given.
func (f field) problem() error {
	if f.value != nil {
		return f.check(*f.value)
	}
	for i, value := range *f.list {
		if slices.Contains((*f.list)[:i], value) {
			return fmt.Errorf("%q is there twice", value)
		}
		if err := f.check(value); err != nil {
			return err
		}
	}
	return nil
}

// ask asks a person for the fields that were not given, if there is one, and checks all of them.
func ask(ctx context.Context, e *cli.Host, answers *bufio.Reader, fields []field) error {
	var problems []error
	for _, f := range fields {
		if f.given() {
			if err := f.problem(); err != nil {
				problems = append(problems, fmt.Errorf("--%s: %w", f.flag, err))
			}
		}
	}
	if len(problems) > 0 {
		return cli.Usage("%w", errors.Join(problems...))
	}
	person := e.Stdin != nil && e.StdinTerminal && e.StderrTerminal && e.Env("CI") == ""
	var missing []string
	for _, f := range fields {
		switch {
		case f.given(), f.question == "":
		case person:
			if err := f.ask(ctx, e.Stderr, answers); err != nil {
				return err
			}
		case f.optional:
			f.set(f.proposed())
		default:
			missing = append(missing, "--"+f.flag)
		}
	}
	for _, f := range fields { // some depend on what was asked after them
		if f.given() {
			if err := f.problem(); err != nil {
				return cli.Usage("--%s: %w", f.flag, err)
			}
		}
	}
	if len(missing) > 0 {
		return cli.Usage("%s: not given, and there is no terminal to ask on; --sample FOLDER makes a sample to try", strings.Join(missing, ", "))
	}
	return nil
}

// ask asks until there is an answer that is right.
func (f field) ask(ctx context.Context, to io.Writer, answers *bufio.Reader) error {
	for {
		proposal := f.proposed()
		hint := ""
		if proposal != "" {
			hint = " [" + proposal + "]"
		}
		fmt.Fprintf(to, "%s%s: ", f.question, hint)
		answer, err := readLine(ctx, answers)
		if err != nil {
			fmt.Fprintln(to)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return cli.Usage("no answer: give --%s", f.flag)
		}
		f.set(answer)
		if !f.given() {
			f.set(proposal)
		}
		if f.given() {
			if err = f.problem(); err == nil {
				return nil
			}
			fmt.Fprintf(to, "  %v\n", err)
			f.set("")
		}
	}
}

// readLine reads a line, unless ctx is done before somebody has written one.
func readLine(ctx context.Context, from *bufio.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := from.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-done:
		if got.err != nil && got.line == "" {
			return "", got.err
		}
		return got.line, nil
	}
}
