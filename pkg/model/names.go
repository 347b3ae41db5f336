package model

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// Keys of labels that kalypso gives a meaning of its own.
const (
	WorkloadLabel         = "workload"
	WorkspaceLabel        = "workspace"
	ClusterTypeLabel      = "cluster-type"
	DeploymentTargetLabel = "deployment-target"
	PlatformConfigLabel   = "platform-config"
	// FluxLabelPrefix begins the labels that Flux puts on what it applied.
	FluxLabelPrefix = "kustomize.toolkit.fluxcd.io/"
)

// checkDNSLabel reports a name that is not a DNS label: such names become path segments, parts of
// namespaces and label values.
func checkDNSLabel(what string, name Text, diags *diag.List) {
	if name.Value == "" || len(validation.IsDNS1123Label(name.Value)) == 0 {
		return // an empty name is reported as missing
	}
	if len(name.Value) > validation.DNS1123LabelMaxLength {
		diags.Error("invalid-name", name.At, fmt.Sprintf("%s %q has %d characters, more than %d",
			what, name.Value, len(name.Value), validation.DNS1123LabelMaxLength))
		return
	}
	diags.Error("invalid-name", name.At, fmt.Sprintf("%s %q is not a DNS label", what, name.Value),
		diag.Hint("use lower-case letters, digits and '-', with a letter or digit at both ends"))
}

// checkOutputDirectory reports a directory for the output that is none, or that must stay as it is.
func checkOutputDirectory(directory Text, diags *diag.List) {
	for _, name := range strings.Split(path.Clean(strings.TrimLeft(directory.Value, "/")), "/") {
		if strings.HasPrefix(name, ".") && name != "." || strings.ContainsFunc(name, isControl) {
			diags.Error("invalid-value", directory.At, fmt.Sprintf("GitOpsRepo spec.path is %q, but output must be inside the repository and not in a directory that begins with a dot", directory.Value))
			return
		}
	}
}

// checkName reports a name that cannot be shown or compared safely. Names of templates, configs
// and policies need not satisfy Kubernetes.
func checkName(what string, name Text, diags *diag.List) {
	if i := strings.IndexFunc(name.Value, isControl); i >= 0 {
		diags.Error("invalid-name", name.At, fmt.Sprintf("%s %q contains a control character", what, name.Value))
	}
}

// checkLabels reports labels that Kubernetes would not accept.
func checkLabels(severity diag.Severity, labels map[string]Text, diags *diag.List) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if yamldoc.Enough(diags) {
			return
		}
		label := labels[key]
		report := func(what string, problems []string) {
			if len(problems) > 0 {
				*diags = append(*diags, diag.Diagnostic{
					Severity: severity, Rule: "invalid-label", At: label.At,
					Message: fmt.Sprintf("%s is not valid: %s", what, WithoutRegex(problems[0])),
				})
			}
		}
		report(fmt.Sprintf("label key %q", key), validation.IsQualifiedName(key))
		report(fmt.Sprintf("value %q of label %q", label.Value, key), validation.IsValidLabelValue(label.Value))
	}
}

// WithoutRegex shortens what Kubernetes' validation says to what people need: the examples and the
// regular expression at its end go.
func WithoutRegex(problem string) string {
	short, _, _ := strings.Cut(problem, " (e.g. ")
	return short
}

// isControl tells control characters, line breaks of every kind, and characters that change the
// order in which text is shown.
func isControl(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u2028', r == '\u2029', r == '\ufeff':
		return true
	case r == '\u061c', r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return false
}
