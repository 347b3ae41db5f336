package model

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

// PublishingAnnotation of a GitOpsRepo holds, as YAML text, spec.pullRequest and spec.commit: the CRD of the in-cluster
// operator does not have these fields.
const PublishingAnnotation = "kalypso.io/publishing"

// Publishing are the reviewed settings for pull requests and commits. The zero value of a field means that it is not set.
type Publishing struct {
	PullRequest PullRequest `field:"pullRequest" doc:"Settings of the pull request."`
	Commit      Commit      `field:"commit" doc:"Settings of the commit."`
	At          diag.Place
}

// PullRequest are settings of a pull request.
type PullRequest struct {
	Labels    []Text `field:"labels" format:"label" doc:"Labels to add to the pull request."`
	Reviewers []Text `field:"reviewers" format:"reviewer" doc:"Users or OWNER/TEAM to request a review from."`
	Assignees []Text `field:"assignees" format:"login" doc:"Users to assign the pull request to."`
	Draft     Bool   `field:"draft" doc:"Open the pull request as a draft."`
	AutoMerge Text   `field:"autoMerge" format:"autoMerge" doc:"Merge the pull request when its requirements are met: always, or no-change (only if no cluster changes)."`
	Branch    Text   `field:"branch" format:"branch" doc:"Branch to open the pull request from."`
	Title     Text   `field:"title" format:"title" doc:"Title of the pull request (default: environment and counts)."`
	At        diag.Place
}

// Commit are settings of a commit.
type Commit struct {
	Author Text `field:"author" format:"author" doc:"Author and committer: NAME <EMAIL>."`
	// Signing is SigningRequired or empty.
	Signing Text `field:"signing" format:"signing" doc:"required: refuse to push a commit without a signing key."`
	At      diag.Place
}

// SigningRequired says that a commit must be signed.
const SigningRequired = "required"

// Publishing are the settings for promotions to the environment.
func (e *Environment) Publishing() Publishing {
	if e.Promotion == nil {
		return Publishing{}
	}
	return e.Promotion.Publishing
}

// Unsigned returns what is wrong with a commit without a signing key; nil if it may be pushed. In a dry run it is a notice.
func (c Commit) Unsigned(signed, dryRun bool) diag.List {
	var diags diag.List
	text, hint := "the commit must be signed, but the run has no signing key", diag.Hint("set --signing-key FILE or KALYPSO_SIGNING_KEY")
	switch {
	case signed || c.Signing.Value != SigningRequired:
	case dryRun:
		diags.Notice("signing-required", c.Signing.At, "publishing would be refused: "+text, hint)
	default:
		diags.Error("signing-required", c.Signing.At, text, hint)
	}
	return diags
}

// Bool is a boolean together with the place where it was written.
type Bool struct {
	Value bool
	At    diag.Place
}

func (b *Bool) decode(d *decoder, n *yaml.Node, path *trail) {
	b.At = d.Place(n)
	value, _ := d.scalar(n, path, "true or false", []reflect.Kind{reflect.Bool})
	b.Value, _ = value.(bool)
}

// checkPullRequest reports settings that contradict each other. base is the branch that the pull request is merged into.
func (p *parser) checkPullRequest(s PullRequest, base Text) {
	if s.Branch.Value != "" && s.Branch.Value == base.Value {
		p.diags.Error("invalid-value", s.Branch.At, fmt.Sprintf("%s pullRequest.branch is %q, the branch that the pull request is merged into", p.kind, s.Branch.Value),
			diag.See(base.At, "branch is set here"), diag.Hint("name another branch, such as deployment/"+base.Value))
	}
	if s.Draft.Value && s.AutoMerge.Value != "" {
		p.diags.Error("invalid-value", s.AutoMerge.At, fmt.Sprintf("%s pullRequest.autoMerge is %q, but a draft cannot be merged", p.kind, s.AutoMerge.Value),
			diag.See(s.Draft.At, "draft is set here"), diag.Hint("remove one of them"))
	}
}

// format is what a text must look like in a field with the tag "format", or in a list there.
type format struct {
	// values are all that are allowed, if there are any.
	values []string
	// pattern is for editors, too; nil for none.
	pattern *regexp.Regexp
	// valid finds what a pattern cannot; nil for nothing.
	valid func(text string) bool
	// hint says what to write; empty for the nearest of values.
	hint string
}

// formats are the formats by name. --label splits lists at commas, so a label has none. GitHub allows 50 characters in a
// label and 256 in a title.
var formats = map[string]format{
	"label": {pattern: regexp.MustCompile(`^[^,\s]([^,]{0,48}[^,\s])?$`), hint: "write a label of at most 50 characters without commas"},
	"login": {pattern: loginText, hint: "write a GitHub login such as octocat, or NAME[bot] for a GitHub App"},
	"reviewer": {
		pattern: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\]|/[A-Za-z0-9_.-]{1,100})?$`),
		hint:    "write a GitHub login such as octocat, or OWNER/TEAM",
	},
	"title":     {pattern: regexp.MustCompile(`^\S.{0,255}$`), hint: "write one line of at most 256 characters"},
	"autoMerge": {values: []string{"always", "no-change"}},
	"signing":   {values: []string{SigningRequired}, hint: "write required, or remove it"},
	"branch":    {pattern: branchText, valid: func(name string) bool { return CheckBranch(name) == nil }, hint: "write the name of a branch, such as deployment/dev"},
	"author":    {valid: func(text string) bool { _, _, err := ParseAuthor(text); return err == nil }, hint: hintAuthor},
}

// problem returns what to write instead of a text; empty if it is right.
func (f format) problem(text string) string {
	switch {
	case f.values != nil && !slices.Contains(f.values, text):
		return cmp.Or(f.hint, diag.DidYouMean(text, f.values))
	case f.pattern != nil && !f.pattern.MatchString(text), f.valid != nil && !f.valid(text), strings.ContainsFunc(text, isControl):
		return f.hint
	default:
		return ""
	}
}

// formatted decodes a text or a list of texts of a format.
func (d *decoder) formatted(n *yaml.Node, out reflect.Value, f format, path *trail) {
	switch isList := out.Type() != textType; {
	case isList && n.Kind != yaml.SequenceNode:
		d.wrongType(n, path, "a list")
	case isList:
		out.Set(reflect.ValueOf(d.validTexts(n, path, f.problem)))
	case n.Kind != yaml.ScalarNode:
		d.wrongType(n, path, "a string")
	default:
		for _, text := range d.validTexts(n, path, f.problem) {
			out.Set(reflect.ValueOf(text))
		}
	}
}
