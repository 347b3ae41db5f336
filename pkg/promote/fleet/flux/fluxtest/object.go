package fluxtest

import (
	"embed"
	"encoding/json"
	"strings"
)

// RecordedCommit is the checked commit of the platform's repository in the recorded objects.
const RecordedCommit = "2222222222222222222222222222222222222222"

//go:embed recorded/*.json
var recorded embed.FS

// Recorded returns shortened objects of a real cluster (source-controller 1.9, kustomize-controller 1.9). The
// Kustomization platform applies the directory "cloud" of the branch dev of https://github.com/acme/gitops, which contains
// the GitRepository and the Kustomization shop-functional-test. name is the name of a file in recorded, without .json;
// in files with "nowait" the Kustomization platform does not wait. oldnew are pairs of texts to replace.
func Recorded(name string, oldnew ...string) []Object {
	text, err := recorded.ReadFile("recorded/" + name + ".json")
	if err != nil {
		panic(err)
	}
	var objects []Object
	if err := json.Unmarshal([]byte(strings.NewReplacer(oldnew...).Replace(string(text))), &objects); err != nil {
		panic(err)
	}
	return objects
}

// Object is an object as JSON decodes it.
type Object map[string]any

// With returns a copy in which the field at a path, such as "spec.ref.branch", has a value; nil takes it out.
func (o Object) With(path string, value any) Object {
	changed := o.clone()
	at := changed
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		inner, isObject := at[name].(map[string]any)
		if !isObject {
			inner = map[string]any{}
			at[name] = inner
		}
		at = inner
	}
	last := names[len(names)-1]
	if value == nil {
		delete(at, last)
	} else {
		at[last] = value
	}
	return changed
}

// clone copies an object by way of JSON, so that it holds what a decoder would make of it.
func (o Object) clone() Object {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // the test put something into it that is no JSON
	}
	var copied Object
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}

func (o Object) text(path ...string) string {
	at := map[string]any(o)
	for _, name := range path[:len(path)-1] {
		at, _ = at[name].(map[string]any)
	}
	text, _ := at[path[len(path)-1]].(string)
	return text
}

// key is where the object is on a server.
func (o Object) key() string {
	return o.text("kind") + " " + o.text("metadata", "namespace") + "/" + o.text("metadata", "name")
}
