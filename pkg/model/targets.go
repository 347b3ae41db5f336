package model

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// FullName is the name of a workload's deployment target in an environment.
func FullName(workload, target string) string { return workload + "-" + target }

// checkTargetNames reports target names that are no DNS labels, by themselves or with the
// workload's name in front.
func checkTargetNames(w *Workload, diags *diag.List) {
	for _, spec := range w.DeploymentTargets {
		checkDNSLabel("deployment target name", spec.Name, diags)
		full := FullName(w.Name.Value, spec.Name.Value)
		if len(full) > validation.DNS1123LabelMaxLength && len(spec.Name.Value) <= validation.DNS1123LabelMaxLength {
			diags.Error("invalid-name", spec.Name.At, fmt.Sprintf("the full name %q of the deployment target has %d characters, more than %d",
				full, len(full), validation.DNS1123LabelMaxLength))
		}
	}
}

// unfold returns the deployment targets that a workload has in an environment.
func unfold(w *Workload, environment string) []*DeploymentTarget {
	var targets []*DeploymentTarget
	for i := range w.DeploymentTargets {
		spec := &w.DeploymentTargets[i]
		if spec.Environment.Value != environment {
			continue
		}
		name := Text{FullName(w.Name.Value, spec.Name.Value), spec.Name.At}
		targets = append(targets, &DeploymentTarget{
			Object: Object{
				Kind: "DeploymentTarget", Name: name, Labels: targetLabels(w, spec),
				Source: w.Source, At: spec.Name.At, Broken: w.Broken,
			},
			Workload: w.Name.Value, Workspace: w.workspace().Value, Environment: spec.Environment,
			Manifests:     spec.Manifests,
			ConfigSchemas: slices.Concat(spec.ConfigSchemas, w.ConfigSchemas),
			Registration:  w.Registration,
		})
	}
	return targets
}

// workspace is the registration's; a workload in the control plane itself says its own.
func (w *Workload) workspace() Text {
	if w.Registration != nil {
		return w.Registration.Workspace
	}
	return w.Labels[WorkspaceLabel]
}

// targetLabels are the target's, overlaid by the workload's, then workload and workspace.
func targetLabels(w *Workload, spec *TargetSpec) map[string]Text {
	labels := make(map[string]Text, len(spec.Labels)+len(w.Labels)+2)
	maps.Copy(labels, spec.Labels)
	maps.Copy(labels, w.Labels)
	labels[WorkloadLabel] = w.Name
	labels[WorkspaceLabel] = w.workspace()
	return labels
}
