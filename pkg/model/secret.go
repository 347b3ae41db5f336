package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

// ruleTenantSecret is the rule for a credential in a value of an application repository.
const ruleTenantSecret = "tenant-secret"

// secretForm is the format of a credential with a prefix that makes a false match unlikely.
type secretForm struct {
	// prefix is the start of the credential; form is matched only against texts that contain it.
	prefix string
	form   *regexp.Regexp
	// what names the kind of credential in messages.
	what string
}

// secretForms are the credentials for which servers may refuse a push, so that the credential of one tenant would block
// the publication of the whole environment. Only fixed formats are listed. Source: the patterns with push protection in
// https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns and, for
// the formats, the documentation of the issuers.
var secretForms = slices.Concat(
	newSecretForms("GitHub token", `[0-9A-Za-z]{36}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	newSecretForms("GitHub token", `[0-9A-Za-z]{22}_[0-9A-Za-z]{59}`, "github_pat_"),
	newSecretForms("GitLab token", `[0-9A-Za-z_-]{20}`, "glpat-"),
	newSecretForms("AWS access key", awsKey(), "AKIA", "ASIA"),
	newSecretForms("Slack token", `[0-9A-Za-z]{1,20}-[0-9A-Za-z-]{20}`, "xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-"),
	newSecretForms("Slack webhook", `(?:services|workflows|triggers)/[A-Z][0-9A-Z]{7,}/[0-9A-Za-z/]{24,}`, "hooks.slack.com/"),
	newSecretForms("Stripe key", `[0-9A-Za-z]{24}`, "sk_live_"),
	newSecretForms("Google API key", `[0-9A-Za-z_-]{35}`, "AIza"),
	newSecretForms("npm token", `[0-9A-Za-z]{36}`, "npm_"),
	newSecretForms("PyPI token", `[0-9A-Za-z_-]{50}`, "pypi-AgEI"),
	newSecretForms("Azure storage key", `[0-9A-Za-z+/]{86}==`, "AccountKey="),
	newSecretForms("private key", `(?:[A-Z]+ )*PRIVATE KEY-----`, "-----BEGIN "),
)

// awsKey is the form of the 16 characters of an access key. One of them is a digit, as words are that long, too.
func awsKey() string {
	const length = 16
	forms := make([]string, length)
	for i := range forms {
		forms[i] = fmt.Sprintf(`[A-Z]{%d}[0-9][0-9A-Z]{%d}`, i, length-1-i)
	}
	return `(?:` + strings.Join(forms, "|") + `)(?:[^0-9A-Za-z]|$)`
}

// newSecretForms returns the formats of credentials that differ in their prefixes.
func newSecretForms(what, rest string, prefixes ...string) []secretForm {
	forms := make([]secretForm, len(prefixes))
	for i, prefix := range prefixes {
		forms[i] = secretForm{prefix, regexp.MustCompile(`(?:^|[^0-9A-Za-z])` + regexp.QuoteMeta(prefix) + rest), what}
	}
	return forms
}

// secretIn returns the format of the credential that a text contains; nil if it contains none.
func secretIn(text string) *secretForm {
	for i := range secretForms {
		if s := &secretForms[i]; strings.Contains(text, s.prefix) && s.form.MatchString(text) {
			return s
		}
	}
	return nil
}

// refuseSecrets reports credentials in the names, labels and manifests of a workload, and replaces them by their
// prefixes, so that no later message quotes one.
func refuseSecrets(w *Workload, diags *diag.List) {
	refuseSecret("the workload name", &w.Name, diags)
	refuseSecretMap("labels", w.Labels, diags)
	for i := range w.DeploymentTargets {
		target := &w.DeploymentTargets[i]
		refuseSecret("the deployment target name", &target.Name, diags)
		full := Text{FullName(w.Name.Value, target.Name.Value), target.Name.At} // two harmless names can form a credential
		if refuseSecret("the full name of the deployment target", &full, diags) {
			target.Name.Value = full.Value
		}
		refuseSecretMap("labels", target.Labels, diags)
		refuseSecretMap("manifests", target.Manifests, diags)
	}
}

func refuseSecretMap(field string, values map[string]Text, diags *diag.List) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if yamldoc.Enough(diags) {
			return
		}
		value, name := values[key], Text{key, values[key].At}
		if refuseSecret("a key of "+field, &name, diags) {
			delete(values, key)
		}
		if refuseSecret(field+"."+name.Value, &value, diags) || name.Value != key {
			values[name.Value] = value
		}
	}
}

// refuseSecret reports whether a text contains a credential, adds an error and replaces the text by the prefix.
func refuseSecret(what string, text *Text, diags *diag.List) bool {
	found := secretIn(text.Value)
	if found == nil {
		return false
	}
	diags.Error(ruleTenantSecret, text.At, fmt.Sprintf("%s looks like a secret (%s, %s…)", what, found.what, found.prefix),
		diag.Hint("revoke it, because it remains in the Git history, and refer to a Secret instead; a server with push protection rejects the whole push, for all tenants"))
	text.Value = strings.TrimRight(found.prefix, "-_/= ")
	return true
}
