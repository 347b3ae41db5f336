package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// checkYAML compiles a block of YAML: no key comes twice; our kinds are decoded as those of a fleet are; steps and workflows
// are such as those in docs/workflows.
func checkYAML(text string) error {
	documents := strings.Split("\n"+text, "\n---\n")
	var errs []error
	for _, document := range documents {
		errs = append(errs, checkDocument(document))
	}
	return errors.Join(errs...)
}

func checkDocument(text string) error {
	var value any
	if err := yamlv3.Unmarshal([]byte(text), &value); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch value := value.(type) {
	case []any:
		return checkSteps(value)
	case map[string]any:
		kind, _ := value["kind"].(string)
		apiVersion, _ := value["apiVersion"].(string)
		group, _, _ := strings.Cut(apiVersion, "/")
		switch {
		case group == model.Group:
			return checkObject(kind, text)
		case apiVersion == "" && slices.Contains(model.Kinds(), kind):
			return fmt.Errorf("%s has no apiVersion", kind)
		}
		var errs []error
		if steps, is := value["steps"].([]any); is {
			errs = append(errs, checkSteps(steps))
		}
		if jobs, is := value["jobs"].(map[string]any); is {
			if _, limited := value["permissions"]; !limited {
				errs = append(errs, errors.New("no permissions at the top: the default may write"))
			}
			for _, name := range slices.Sorted(maps.Keys(jobs)) {
				if job, is := jobs[name].(map[string]any); is {
					steps, _ := job["steps"].([]any)
					errs = append(errs, checkSteps(steps))
				}
			}
		}
		return errors.Join(errs...)
	}
	return nil
}

// checkObject decodes an object of kalypso, as if it were in the right repository.
func checkObject(kind, text string) error {
	role, path := model.Platform, "example.yaml"
	switch kind {
	case "Environment":
		role, path = model.Main, model.EnvironmentsDirectory+"/example.yaml"
	case "Workload":
		role = model.Tenant
	}
	source := &model.Source{Repo: "https://example.com/docs", Ref: model.Ref{Role: role, Path: "."}, FS: fstest.MapFS{path: {Data: []byte(text)}}}
	_, diags := model.Parse(source, nil, model.DefaultOptions())
	var errs []error
	for _, d := range diags {
		if d.Severity == diag.Error {
			errs = append(errs, errors.New(d.Message))
		}
	}
	return errors.Join(errs...)
}

// checkSteps checks a list, if it is one of steps of a workflow.
func checkSteps(list []any) error {
	var errs []error
	for _, item := range list {
		step, _ := item.(map[string]any)
		uses, _ := step["uses"].(string)
		run, _ := step["run"].(string)
		with, _ := step["with"].(map[string]any)
		errs = append(errs, checkUses(uses, with))
		if strings.Contains(run, "${{") {
			errs = append(errs, errors.New("a step has an expression in its script"))
		} else {
			errs = append(errs, checkShell(run))
		}
	}
	return errors.Join(errs...)
}

var pinnedAction = regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)

// checkUses checks what a step uses: ours with inputs that it has, others by commit.
func checkUses(uses string, with map[string]any) error {
	name, version, _ := strings.Cut(uses, "@")
	switch {
	case name != "kalypso-gitops/kalypso":
		if uses != "" && !strings.HasPrefix(uses, "./") && !pinnedAction.MatchString(uses) {
			return fmt.Errorf("%s is not pinned to a commit", uses)
		}
		return nil
	case version != "COMMIT":
		return fmt.Errorf("%s has %q in place of COMMIT, which whoever copies it chooses", uses, version)
	}
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		return err
	}
	var action struct {
		Inputs map[string]struct {
			Default string `yaml:"default"`
		} `yaml:"inputs"`
	}
	errs := []error{yamlv3.Unmarshal(text, &action)}
	for _, input := range slices.Sorted(maps.Keys(with)) {
		if _, known := action.Inputs[input]; !known {
			errs = append(errs, fmt.Errorf("the action has no input %s", input))
		}
	}
	command, _ := with["command"].(string)
	args, _ := with["args"].(string)
	line := []string{cmp.Or(command, action.Inputs["command"].Default)}
	for arg := range strings.FieldsFuncSeq(args, func(r rune) bool { return r == '\n' }) {
		if !strings.HasPrefix(arg, "${{") || !strings.HasSuffix(arg, "}}") { // which argument that is, only a run knows
			line = append(line, arg)
		}
	}
	return errors.Join(append(errs, checkArguments(line))...)
}
