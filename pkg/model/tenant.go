package model

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// checkTenant reports what a workload of an application repository may not do: every string in it
// is data, never a template, a path outside, or somebody else's name.
func checkTenant(w *Workload, limits Limits, diags *diag.List) {
	refuseSecrets(w, diags) // before checks whose messages quote values
	checkDNSLabel("workload name", w.Name, diags)
	checkTenantLabels(w, w.Labels, diags)
	for i := range w.DeploymentTargets {
		target := &w.DeploymentTargets[i]
		checkBootstrapName(w, target.Name, diags)
		checkTenantLabels(w, target.Labels, diags)
		checkPlain("environment", target.Environment, diags)
		for _, key := range slices.Sorted(maps.Keys(target.Manifests)) {
			if yamldoc.Enough(diags) {
				return
			}
			value := target.Manifests[key]
			if checkLength("a key of manifests", Text{key, value.At}, limits, diags) {
				checkPlain("a key of manifests", Text{key, value.At}, diags)
				checkLength("manifests."+key, value, limits, diags)
				checkPlain("manifests."+key, value, diags)
			}
		}
		if p, ok := target.Manifests["path"]; ok && escapes(p.Value) {
			diags.Error("tenant-path", p.At, fmt.Sprintf("manifests.path %q points outside its repository", p.Value),
				diag.Hint("remove the .. segments"))
		}
	}
}

// bootstrapName is what "flux bootstrap" calls the GitRepository and the Kustomization that pull the platform's own files.
const bootstrapName = "flux-system"

// checkBootstrapName refuses the one full name of a target with which the usual template would replace these.
func checkBootstrapName(w *Workload, name Text, diags *diag.List) {
	if FullName(w.Name.Value, name.Value) == bootstrapName {
		diags.Error("invalid-name", name.At, fmt.Sprintf("the full name %q of the deployment target is reserved for Flux", bootstrapName),
			diag.Hint("rename the deployment target or the workload"))
	}
}

// checkLength reports whether a string of a tenant is within the limit, and adds an error if not.
func checkLength(what string, text Text, limits Limits, diags *diag.List) bool {
	if limits.ValueBytes == 0 || len(text.Value) <= limits.ValueBytes {
		return true
	}
	diags.Error("value-too-large", text.At, fmt.Sprintf("%s has %d bytes, more than %d", what, len(text.Value), limits.ValueBytes))
	return false
}

// checkTenantLabels refuses labels that Kubernetes would not accept, and those that would make the
// workload look like somebody else's.
func checkTenantLabels(w *Workload, labels map[string]Text, diags *diag.List) {
	checkLabels(diag.Error, labels, diags)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		checkHidden(key, labels[key], diags)
	}
	reserved := map[string]string{WorkloadLabel: w.Name.Value}
	if w.Registration != nil {
		reserved[WorkspaceLabel] = w.Registration.Workspace.Value
	}
	for _, key := range slices.Sorted(maps.Keys(reserved)) {
		label, given := labels[key]
		if !given || label.Value == reserved[key] {
			continue
		}
		options := []diag.Option{diag.Hint("remove it: the label is set by kalypso")}
		if key == WorkspaceLabel {
			options = append(options, seeWorkspace(w.Registration))
		}
		diags.Error("reserved-label", label.At, fmt.Sprintf("label %q is %q, but this workload's %s is %q",
			key, label.Value, key, reserved[key]), options...)
	}
}

func seeWorkspace(r *WorkloadRegistration) diag.Option {
	if r.Workspace.At.IsZero() {
		return diag.See(r.At, "the registration sets no workspace")
	}
	return diag.See(r.Workspace.At, "the registration sets the workspace here")
}

// checkPlain refuses a string that could be more than one plain value where a template prints it.
func checkPlain(what string, text Text, diags *diag.List) {
	switch {
	case strings.Contains(text.Value, "{{"):
		diags.Error("tenant-template", text.At, what+` contains "{{", but values from application repositories are never templates`)
	case strings.HasSuffix(text.Value, "{"): // two values may meet
		diags.Error("tenant-template", text.At, what+` ends with "{", which could become a template action with the text that follows it`)
	case strings.ContainsFunc(text.Value, isControl):
		diags.Error("tenant-control-character", text.At, what+" contains a line break or another control character")
	}
}

// Decoded returns what a template could decode a string to, as far as that is text at all. Most words
// are no base64, or that of bytes that are no text.
func Decoded(text string) []string {
	var decoded []string
	for _, decode := range []func(string) ([]byte, error){base64.StdEncoding.DecodeString, base32.StdEncoding.DecodeString} {
		content, err := decode(text)
		if err == nil && utf8.Valid(content) && !bytes.ContainsFunc(content, isBinary) {
			decoded = append(decoded, string(content))
		}
	}
	return decoded
}

// isBinary tells control characters that do not occur in text.
func isBinary(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }

// checkHidden refuses a label that a template could decode to more than one value. What else a label
// holds is harmless by Kubernetes' rules. A word of a few letters may decode to a line break by chance.
func checkHidden(key string, label Text, diags *diag.List) {
	const chance = 6
	for _, decoded := range Decoded(label.Value) {
		if strings.Contains(decoded, "{{") || len(decoded) >= chance && strings.ContainsAny(decoded, "\r\n") {
			diags.Error("tenant-template", label.At, fmt.Sprintf("label %q contains an encoded template or line break", key))
		}
	}
}

// escapes reports whether a path leads out of the directory that it is relative to, be it by way of
// Windows' separators or from the root.
func escapes(p string) bool {
	p = strings.TrimLeft(strings.ReplaceAll(p, `\`, "/"), "/")
	p = path.Clean(p)
	return p == ".." || strings.HasPrefix(p, "../")
}
