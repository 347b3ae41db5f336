// Openapi trims GitHub's description of its REST API to the operations that package githubtest serves.
//
//	npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
//	go run ./hack/openapi package/generated/api.github.com.json pkg/github/githubtest/openapi
//
// The folder holds operations.txt, the operations to keep, and gets description.json. What only people
// read (descriptions, examples, links) goes. The result depends on nothing but the two files.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: openapi DESCRIPTION.json FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(from, dir string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	list, err := os.ReadFile(filepath.Join(dir, "operations.txt"))
	if err != nil {
		return err
	}
	trimmed, err := trim(data, strings.Split(strings.TrimSpace(string(list)), "\n"))
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(filepath.Join(dir, "description.json"), trimmed, 0o644)
}

// trim keeps the operations ("GET /path") of a description, and the components that they refer to.
func trim(description []byte, operations []string) ([]byte, error) {
	var whole object
	decoder := json.NewDecoder(bytes.NewReader(description))
	decoder.UseNumber() // a bound of 2^63 stays what it was
	if err := decoder.Decode(&whole); err != nil {
		return nil, err
	}
	paths := object{}
	for _, operation := range operations {
		method, path, _ := strings.Cut(operation, " ")
		found, err := find(whole, "paths", path, strings.ToLower(method))
		if err != nil {
			return nil, err
		}
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path].(object)[strings.ToLower(method)] = plain(found)
	}
	kept := object{"openapi": whole["openapi"], "info": whole["info"], "servers": whole["servers"], "paths": paths}
	if err := addComponents(kept, whole); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out) // sorts keys
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(kept)
	return out.Bytes(), err
}

type object = map[string]any

// find goes down a description by keys.
func find(in object, keys ...string) (any, error) {
	var at any = in
	for i, key := range keys {
		fields, _ := at.(object)
		next, ok := fields[key]
		if !ok {
			return nil, fmt.Errorf("nothing at %s", strings.Join(keys[:i+1], " "))
		}
		at = next
	}
	return at, nil
}

// addComponents adds to kept, from whole, what kept refers to, until nothing is missing.
func addComponents(kept, whole object) error {
	components := object{}
	missing := references(kept)
	for len(missing) > 0 {
		reference := missing[0]
		missing = missing[1:]
		parts := strings.Split(strings.TrimPrefix(reference, "#/"), "/")
		if len(parts) != 3 || parts[0] != "components" {
			return fmt.Errorf("reference %q is not to a component", reference)
		}
		kind, name := parts[1], parts[2]
		if components[kind] == nil {
			components[kind] = object{}
		}
		if components[kind].(object)[name] != nil {
			continue
		}
		found, err := find(whole, parts...)
		if err != nil {
			return err
		}
		component := plain(found)
		components[kind].(object)[name] = component
		missing = append(missing, references(component)...)
	}
	kept["components"] = components
	return nil
}

// references lists what a part of a description refers to.
func references(part any) []string {
	var found []string
	switch part := part.(type) {
	case object:
		for key, value := range part {
			if reference, ok := value.(string); ok && key == "$ref" {
				found = append(found, reference)
			}
			found = append(found, references(value)...)
		}
	case []any:
		for _, value := range part {
			found = append(found, references(value)...)
		}
	}
	return found
}
