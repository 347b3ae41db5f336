// Openapi makes JSON Schemas of those operations in GitHub's description of its REST API that package githubtest
// serves.
//
//	npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
//	go run ./hack/openapi package/generated/api.github.com.json pkg/github/githubtest/openapitest
//
// The folder holds operations.txt, the operations to keep, and gets schemas.json. The result depends on nothing but
// the two files.
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
	schemas, err := convert(data, strings.Split(strings.TrimSpace(string(list)), "\n"))
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return os.WriteFile(filepath.Join(dir, "schemas.json"), schemas, 0o644)
}

type object = map[string]any

// description is an OpenAPI description, and the schemas that were made of it so far.
type description struct {
	whole object
	defs  object // by name of the component
}

// convert returns the schemas of operations ("GET /path"): of the variables in the path, of the query, of the body of
// a request, and of successful answers, by status.
func convert(openapi []byte, operations []string) ([]byte, error) {
	d := description{defs: object{}}
	decoder := json.NewDecoder(bytes.NewReader(openapi))
	decoder.UseNumber() // a bound of 2^63 stays what it was
	if err := decoder.Decode(&d.whole); err != nil {
		return nil, err
	}
	converted := object{}
	for _, operation := range operations {
		method, path, _ := strings.Cut(operation, " ")
		described, err := d.find("paths", path, strings.ToLower(method))
		if err != nil {
			return nil, err
		}
		if converted[operation], err = d.operation(described); err != nil {
			return nil, fmt.Errorf("%s: %w", operation, err)
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out) // sorts keys
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(object{"operations": converted, "$defs": d.defs})
	return out.Bytes(), err
}

// find goes down the description by keys.
func (d *description) find(keys ...string) (object, error) {
	at := d.whole
	for i, key := range keys {
		next, ok := at[key].(object)
		if !ok {
			return nil, fmt.Errorf("nothing at %s", strings.Join(keys[:i+1], " "))
		}
		at = next
	}
	return at, nil
}

// resolve returns what a part of the description is or refers to.
func (d *description) resolve(part any) (object, error) {
	fields, _ := part.(object)
	reference, ok := fields["$ref"].(string)
	if !ok {
		return fields, nil
	}
	keys := strings.Split(strings.TrimPrefix(reference, "#/"), "/")
	if len(keys) != 3 || keys[0] != "components" {
		return nil, fmt.Errorf("reference %q is not to a component", reference)
	}
	return d.find(keys...)
}

func (d *description) operation(described object) (object, error) {
	path, query := object{}, object{}
	parameters, _ := described["parameters"].([]any)
	for _, one := range parameters {
		parameter, err := d.resolve(one)
		if err != nil {
			return nil, err
		}
		name, _ := parameter["name"].(string)
		schema, _ := parameter["schema"].(object)
		switch parameter["in"] {
		case "path":
			path[name] = textOf(schema)
		case "query":
			query[name] = textOf(schema)
		}
	}
	converted := object{"path": closed(path), "query": closed(query), "answers": object{}}
	if body, ok := described["requestBody"].(object); ok {
		schema, err := d.body(body)
		if err != nil {
			return nil, err
		}
		converted["body"], converted["needsBody"] = schema, body["required"] == true
	}
	answers, _ := described["responses"].(object)
	for status, one := range answers {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		answer, err := d.resolve(one)
		if err != nil {
			return nil, err
		}
		schema, err := d.content(answer, true)
		if err != nil {
			return nil, err
		}
		converted["answers"].(object)[status] = schema
	}
	return converted, nil
}

// textOf returns the schema of a parameter as it is written in a URL.
func textOf(schema object) object {
	switch schema["type"] {
	case "integer":
		return object{"pattern": "^-?[0-9]+$"}
	case "boolean":
		return object{"enum": []any{"true", "false"}}
	}
	if values, ok := schema["enum"]; ok {
		return object{"enum": values}
	}
	return object{}
}

func closed(properties object) object {
	return object{"properties": properties, "additionalProperties": false}
}

// body returns the schema of a request's body, which may hold only fields that are described. GitHub ignores others,
// so that a misspelt one is never noticed.
func (d *description) body(described object) (any, error) {
	schema, err := d.content(described, false)
	fields, _ := schema.(object)
	alternatives, _ := fields["oneOf"].([]any)
	for _, one := range append(alternatives, schema) {
		if one, ok := one.(object); ok && one["properties"] != nil {
			one["additionalProperties"] = false
		}
	}
	return schema, err
}

// content returns the schema of a JSON body; true for none.
func (d *description) content(described object, answer bool) (any, error) {
	content, _ := described["content"].(object)
	media, ok := content["application/json"].(object)
	if !ok {
		return true, nil
	}
	return d.schema(media["schema"], answer)
}
