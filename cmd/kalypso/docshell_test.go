package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// checkShell compiles a shell script: it must parse, what it has kalypso do must be something that kalypso can do, and what
// it makes must be a target.
func checkShell(text string) error {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return err
	}
	var errs []error
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, is := node.(*syntax.CallExpr); is && len(call.Args) > 0 {
			if err := checkCall(call); err != nil {
				errs = append(errs, fmt.Errorf("line %d: %w", call.Pos().Line(), err))
			}
		}
		return true
	})
	return errors.Join(errs...)
}

// checkCall checks one command with its arguments. What a variable or another command stands for is not known, so each
// counts as 1, which is a name and a number.
func checkCall(call *syntax.CallExpr) error {
	words, err := expand.Fields(&expand.Config{
		Env: expand.FuncEnviron(func(string) string { return "1" }),
		CmdSubst: func(w io.Writer, _ *syntax.CmdSubst) error {
			_, err := io.WriteString(w, "1")
			return err
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "1", nil },
	}, call.Args...)
	if err != nil || len(words) == 0 {
		return err
	}
	switch path.Base(words[0]) {
	case "kalypso":
		return checkArguments(words[1:])
	case "make":
		return checkTargets(words[1:])
	case "go":
		if len(words) > 1 && words[1] == "test" {
			return checkGoTest(words[2:])
		}
	}
	return nil
}

// checkArguments says why kalypso would not take a command line. Nothing runs.
func checkArguments(args []string) error {
	root := newRoot(&cli.Host{IO: term.IO{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Env: func(string) string { return "" }, WorkingDir: os.Getwd}})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return cmd.FlagErrorFunc()(cmd, err)
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return fmt.Errorf("%s: %w", cmd.CommandPath(), err)
	}
	return errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):`)

func makeTargets() ([]string, error) {
	makefile, err := os.ReadFile("../../Makefile")
	var targets []string
	for _, match := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, match[1])
	}
	return targets, err
}

func checkTargets(words []string) error {
	targets, err := makeTargets()
	for _, word := range words {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && !slices.Contains(targets, word) {
			err = errors.Join(err, fmt.Errorf("make has no target %s", word))
		}
	}
	return err
}

// checkGoTest reports a directory or test in a go test command that does not exist. It checks the first part of a pattern.
func checkGoTest(words []string) error {
	var errs []error
	var tests strings.Builder
	for _, word := range words {
		if !strings.HasPrefix(word, "./") {
			continue
		}
		files, err := filepath.Glob(filepath.Join("../..", word, "*_test.go"))
		if errs = append(errs, err); len(files) == 0 {
			errs = append(errs, fmt.Errorf("%s has no tests", word))
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			errs = append(errs, err)
			tests.Write(text)
		}
	}
	if i := slices.Index(words, "-run"); i >= 0 && i+1 < len(words) {
		name, _, _ := strings.Cut(words[i+1], "/")
		if !strings.Contains(tests.String(), "\nfunc "+name) {
			errs = append(errs, fmt.Errorf("there is no test %s", name))
		}
	}
	return errors.Join(errs...)
}
