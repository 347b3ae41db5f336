// Graphql checks GraphQL documents against a schema.
//
//	go -C tools/graphql run . FOLDER
//
// The folder holds schema.graphql; every other .graphql file in it is a document. That package githubtest answers these
// documents only is how a request of kalypso that GitHub would refuse is noticed.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: graphql FOLDER")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "graphql:", err)
		os.Exit(1)
	}
}

func check(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "schema.graphql"))
	if err != nil {
		return err
	}
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: string(text)})
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.graphql"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if filepath.Base(file) == "schema.graphql" {
			continue
		}
		document, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, problems := gqlparser.LoadQueryWithRules(schema, string(document), rules.NewDefaultRules()); len(problems) > 0 {
			return fmt.Errorf("%s: %w", file, problems)
		}
		fmt.Println(filepath.Base(file))
	}
	return nil
}
