package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/cli"
	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/term"
)

// commandWithOutput returns the command with -o json that arguments begin with, if any.
func commandWithOutput(args []string) string {
	if !strings.Contains(strings.Join(args, " "), "-o json") {
		return ""
	}
	for n := min(2, len(args)); n > 0; n-- {
		if name := strings.Join(args[:n], " "); outputs()[name] != nil {
			return name
		}
	}
	return ""
}

// checkOutput compares what a command printed with -o json with the schema that kalypso schema prints.
func checkOutput(args []string, printed []byte) error {
	name := commandWithOutput(args)
	if name == "" || len(printed) == 0 {
		return nil
	}
	var text bytes.Buffer
	host := &cli.Host{IO: term.IO{Stdout: &text, Stderr: io.Discard, Env: func(string) string { return "" }}}
	if code := run(context.Background(), append([]string{"schema", "output"}, strings.Fields(name)...), host); code != cli.ExitDone {
		return fmt.Errorf("schema output %s: exit code %d", name, code)
	}
	document, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("https://kalypso.test/output.json", document); err != nil {
		return err
	}
	schema, err := compiler.Compile("https://kalypso.test/output.json")
	if err != nil {
		return err
	}
	result, err := jsonschema.UnmarshalJSON(bytes.NewReader(printed))
	if err != nil {
		return err
	}
	if err := schema.Validate(result); err != nil {
		return fmt.Errorf("the output of %s does not match its schema: %w", name, err)
	}
	return nil
}

// TestSchemaRefusesOtherOutput shows that sessions would fail with a wrong schema.
func TestSchemaRefusesOtherOutput(t *testing.T) {
	t.Parallel()
	args := []string{"version", "-o", "json"}
	require.NoError(t, checkOutput(args, []byte(`{"version": "v1", "goVersion": "go1", "platform": "linux/amd64", "new": 1}`)))
	require.ErrorContains(t, checkOutput(args, []byte(`{"version": "v1", "platform": "linux/amd64"}`)), "goVersion")
	require.ErrorContains(t, checkOutput(args, []byte(`{"version": 1, "goVersion": "go1", "platform": "linux/amd64"}`)), "/version")
}

// TestEveryOutputHasASchema finds commands with -o json that have no schema.
func TestEveryOutputHasASchema(t *testing.T) {
	t.Parallel()
	var commands []string
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if flag := cmd.Flags().Lookup("output"); flag != nil && cmd.Name() != "schema" {
			commands = append(commands, strings.TrimPrefix(cmd.CommandPath(), "kalypso "))
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(&cli.Host{IO: term.IO{Env: func(string) string { return "" }}}))
	var known []string
	for name := range outputs() {
		known = append(known, name)
	}
	assert.ElementsMatch(t, commands, known)
}
