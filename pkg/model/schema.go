package model

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// schemaDialect is what editors know best.
const schemaDialect = "http://json-schema.org/draft-07/schema#"

// Kinds are the names of the kinds that have a schema, in order.
func Kinds() []string { return slices.Sorted(maps.Keys(bodies())) }

// bodies are what the documents of each kind are decoded into.
func bodies() map[string]reflect.Type {
	all := map[string]reflect.Type{configMapKind: configMaps.body}
	for name, k := range kinds {
		all[name] = k.body
	}
	return all
}

// Schema is the JSON Schema of a kind, ready to be written as JSON; nil for a kind that there is not. It is made of the
// types that documents are decoded into. What it refuses kalypso refuses too, but not the other way round: names that
// must exist, or be unique, are beyond a schema.
func Schema(kind string) map[string]any {
	if bodies()[kind] == nil {
		return nil
	}
	schema := kindSchema(kind)
	schema["$schema"] = schemaDialect
	return schema
}

// AnySchema is the JSON Schema of a document of any kind. Kinds that kalypso does not know may hold anything.
func AnySchema() map[string]any {
	definitions, choices := map[string]any{}, []any{}
	for _, kind := range Kinds() {
		definitions[kind] = kindSchema(kind)
		choices = append(choices, map[string]any{
			"if": map[string]any{
				"type": "object", "required": []any{"kind"},
				"properties": map[string]any{"kind": map[string]any{"const": kind}, "apiVersion": map[string]any{"const": apiVersionOf(kind)}},
			},
			"then": map[string]any{"$ref": "#/definitions/" + kind},
		})
	}
	return map[string]any{
		"$schema": schemaDialect, "title": "kalypso", "description": "Objects of a control plane or an application repository.",
		"type":       []any{"object", "null"}, // an empty document is none
		"properties": map[string]any{"kind": map[string]any{"type": "string", "examples": anyOf(Kinds())}},
		"allOf":      choices, "definitions": definitions,
	}
}

func apiVersionOf(kind string) string {
	if kind == configMapKind {
		return "v1"
	}
	return APIVersion
}

func kindSchema(kind string) map[string]any {
	d := describer{kind: kind}
	schema := d.structure(bodies()[kind], nil)
	properties, _ := schema["properties"].(map[string]any)
	properties["apiVersion"] = map[string]any{"const": apiVersionOf(kind)}
	properties["kind"] = map[string]any{"const": kind}
	required, _ := schema["required"].([]any)
	required = append(required, "kind")
	if kind != configMapKind { // which is read without, too
		required = append(required, "apiVersion")
	}
	schema["required"] = required
	schema["title"], schema["description"] = kind, descriptions[kind]
	return schema
}

// describer makes the schema of one kind.
type describer struct{ kind string }

// value is the schema of what is decoded into a type.
func (d describer) value(typ reflect.Type, path *trail) map[string]any {
	switch typ {
	case textType:
		return map[string]any{"type": "string"}
	case ignoredType:
		return map[string]any{}
	case manifestType:
		return map[string]any{"type": []any{"string", "object"}}
	case reflect.TypeFor[Healthy]():
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "integer", "minimum": 1, "maximum": mostClusters},
			map[string]any{"type": "string", "pattern": countText.String() + "|" + strings.ReplaceAll(percentageText.String(), "?:", "")},
		}}
	case reflect.TypeFor[Duration]():
		return map[string]any{"type": "string", "pattern": `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`, "examples": []any{"90s", "30m", "2h"}}
	case reflect.TypeFor[Number]():
		return map[string]any{"type": "integer", "minimum": 1, "maximum": mostClusters}
	case reflect.TypeFor[fleetNames]():
		one := map[string]any{"type": "string", "minLength": 1}
		return map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
	case reflect.TypeFor[Bool]():
		return map[string]any{"type": "boolean"}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return d.value(typ.Elem(), path)
	case reflect.Struct:
		return d.structure(typ, path)
	case reflect.Map: // of texts; null is the empty one
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []any{"string", "null"}}}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.value(typ.Elem(), path)}
	default:
		panic("model: no schema for " + typ.String()) // a mistake in kinds.go, not in the input
	}
}

// structure is the schema of a map that is decoded into a struct.
func (d describer) structure(typ reflect.Type, path *trail) map[string]any {
	properties, required := map[string]any{}, []any{}
	for name, field := range specFields(typ) {
		at := path.key(name)
		schema := d.value(field.typ, at)
		if text := cmp.Or(descriptions[d.kind+"."+at.String()], field.doc); text != "" {
			schema["description"] = text
		}
		if values := allowed[field.owner+"."+name]; values != nil {
			schema["enum"] = anyOf(values)
		}
		formats[field.format].describe(schema)
		if field.required {
			required = append(required, name)
			if field.typ == textType {
				schema["pattern"] = `\S`
			}
		} else {
			orNull(schema)
		}
		properties[name] = schema
	}
	slices.SortFunc(required, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// describe adds the format to the schema of a text or of a list of texts.
func (f format) describe(schema map[string]any) {
	if items, isList := schema["items"].(map[string]any); isList {
		schema = items
	}
	if f.values != nil {
		schema["enum"] = anyOf(f.values)
	}
	if f.pattern != nil {
		schema["pattern"] = f.pattern.String()
	}
}

// orNull lets a value be left empty: that is as if it were not there.
func orNull(schema map[string]any) {
	null := map[string]any{"type": "null"}
	switch typ := schema["type"].(type) {
	case string:
		schema["type"] = []any{typ, "null"}
	case []any:
		schema["type"] = append(typ, "null")
	}
	if choices, ok := schema["anyOf"].([]any); ok {
		schema["anyOf"] = append(choices, null)
	}
	if values, ok := schema["enum"].([]any); ok {
		schema["enum"] = append(values, nil)
	}
}

func anyOf(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

// descriptions are what editors show of a kind, by its name, and of a field whose tag "doc" does not say it for this kind,
// by the kind and where the field stands.
var descriptions = map[string]string{
	"Environment":          "A rollout environment and the location of its data.",
	"BaseRepo":             "Common data of an environment, at a commit. The BaseRepo named main holds the promoted commit.",
	"GitOpsRepo":           "Where to publish the output of the environment.",
	"WorkloadRegistration": "Registers an application repository: the location of its Workloads and their workspace.",
	"Workload":             "An application or service and its deployment targets.",
	"DeploymentTarget":     "One deployment target without a Workload.",
	"ClusterType":          "A group of similar clusters that host the same workloads.",
	"Template":             "Renders one of the files of each deployment target on a cluster type.",
	"SchedulingPolicy":     "Schedules the selected deployment targets on the selected cluster types.",
	"ConfigSchema":         "A JSON Schema for the configuration of the assignments that its labels select.",
	configMapKind:          "Platform configuration, if it has the label platform-config: \"true\". Its other labels select the assignments that it applies to.",

	"ClusterType.metadata.labels":      "Labels that SchedulingPolicies and configuration select by.",
	"ConfigSchema.metadata.labels":     "Labels that the cluster type or the deployment target must have for it to apply (default: all).",
	"ConfigMap.metadata.labels":        "platform-config: \"true\", and labels that the cluster type or the deployment target must have for it to apply.",
	"DeploymentTarget.metadata.labels": "Labels that SchedulingPolicies and configuration select by, including workload and workspace.",
	"Workload.metadata.labels":         "Labels of all its deployment targets.",

	"GitOpsRepo.spec.path": "Top directory of the output; it need not exist yet.",
}

// allowed are the values of fields that may have only some; by the type that declares them.
var allowed = map[string][]string{
	"templateSpec.type":        templateTypes,
	"templateSpec.contentType": contentTypes,
	"Requirement.operator":     {"In", "NotIn", "Exists", "DoesNotExist"},
}
