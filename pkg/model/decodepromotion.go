package model

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model/yamldoc"
)

type promotionSpec struct {
	Next   []Text `field:"next" doc:"Environments to promote a commit to after this one has deployed it."`
	Checks struct {
		Fleets       fleetNames `field:"fleet" doc:"Fleet source to query for the state of the clusters: NAME or NAME:ARGUMENT, as in --fleet. With none, a person sets the status."`
		Healthy      Healthy    `field:"healthy" doc:"How many clusters must run the commit and be healthy: a count such as 27, or a percentage such as 95%."`
		Timeout      Duration   `field:"timeout" doc:"How long to wait for the clusters: 90s, 30m, 2h."`
		Expect       Number     `field:"expect" doc:"Minimum number of clusters."`
		ClusterTypes struct {
			Labels Selector `field:"labelSelector" doc:"Selects cluster types by their labels."`
		} `field:"clusterTypeSelector" doc:"The cluster types whose clusters are checked (default: all)."`
		StatusLogins []Text `field:"statusLogins" format:"login" doc:"GitHub logins whose commit statuses for this environment are trusted, besides kalypso's own: octocat, or NAME[bot] for a GitHub App."`
		At           diag.Place
	} `field:"checks" doc:"When a commit counts as deployed."`
	Publishing
	At diag.Place
}

// promotion returns nil for nil.
func (s *promotionSpec) promotion() *Promotion {
	if s == nil {
		return nil
	}
	c := s.Checks
	return &Promotion{Next: s.Next, At: s.At, Publishing: s.Publishing, Checks: Checks{
		Fleets: c.Fleets, Healthy: c.Healthy, Timeout: c.Timeout, Expect: c.Expect, ClusterTypes: c.ClusterTypes.Labels,
		StatusLogins: c.StatusLogins, At: c.At,
	}}
}

// annotation stands in for a field.
type annotation struct {
	name, field string
	// rule is the rule if it differs from that of the field.
	rule string
	text Text
}

// annotated returns what a field says, or the annotation that stands in for it, which is decoded as strictly and within
// the same limits. given is nil without the field.
func annotated[S any](p *parser, given *S, of annotation) *S {
	name := "annotation " + of.name
	doc, diags := p.Embedded(of.text.Value, of.text.At, name, p.limits.Limits)
	p.diags.Add(diags)
	if doc == nil || !doc.Check(p.limits.Limits, p.diags) {
		return given
	}
	var other *S
	d := &decoder{Document: doc, diags: p.diags, kind: p.kind}
	d.decode(doc.Root, reflect.ValueOf(&other).Elem(), (*trail)(nil).key(name))
	if given == nil || p.diags.HasErrors() {
		return cmp.Or(given, other)
	}
	field := reflect.ValueOf(*given)
	if at, differ := difference(field, reflect.ValueOf(*other), nil); differ {
		here, _ := field.FieldByName("At").Interface().(diag.Place)
		p.diags.Error(of.rule, of.text.At,
			fmt.Sprintf("%s and %s differ in %s", name, of.field, at), diag.See(here, of.field+" is here"), diag.Hint("remove one of them"))
	}
	return given
}

// difference returns the path of the first field in which two values of a type differ. Places do not count.
func difference(a, b reflect.Value, path *trail) (at *trail, differ bool) {
	if a.Type() == placeType {
		return nil, false
	}
	if text, ok := a.Interface().(fmt.Stringer); ok {
		return path, text.String() != fmt.Sprint(b.Interface())
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			at := path
			if name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("field"), ","); name != "" {
				at = path.key(name)
			}
			if at, differ = difference(a.Field(i), b.Field(i), at); differ {
				return at, true
			}
		}
		return nil, false
	case reflect.Slice:
		differ = a.Len() != b.Len()
		for i := 0; !differ && i < a.Len(); i++ {
			_, differ = difference(a.Index(i), b.Index(i), path)
		}
		return path, differ
	case reflect.Map: // of texts
		differ = a.Len() != b.Len()
		for key, value := range a.Seq2() {
			differ = differ || fmt.Sprint(value) != fmt.Sprint(b.MapIndex(key))
		}
		return path, differ
	default:
		return path, !a.Equal(b)
	}
}

// invalid reports a value that is of the right type and has no meaning.
func (d *decoder) invalid(n *yaml.Node, path *trail, hint string) {
	d.diags.Error("invalid-value", d.Place(n), fmt.Sprintf("%s %s is %s", d.kind, path, yamldoc.Quote(n.Value)), diag.Hint(hint))
}

// scalar resolves a node that should be one value, of one of the kinds allowed; want says which, for messages.
func (d *decoder) scalar(n *yaml.Node, path *trail, want string, allowed []reflect.Kind) (value any, ok bool) {
	if n.Kind == yaml.ScalarNode {
		if value, ok = yamldoc.Resolve(n); !ok {
			d.wrongTag(n, path)
			return nil, false
		}
		if slices.Contains(allowed, reflect.ValueOf(value).Kind()) {
			return value, true
		}
	}
	d.wrongType(n, path, want)
	return nil, false
}

var (
	wholeNumbers    = []reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64}
	textsAndNumbers = append(slices.Clone(wholeNumbers), reflect.Float64, reflect.String)
)

func (h *Healthy) decode(d *decoder, n *yaml.Node, path *trail) {
	h.At = d.Place(n)
	value, ok := d.scalar(n, path, "a count or a percentage", textsAndNumbers)
	switch value := value.(type) { // other numbers are no count, however they are meant
	case int:
		h.Count = value
	case string:
		h.Count, h.Share = parseHealthy(value)
	}
	if ok && !h.inRange() {
		*h = Healthy{At: h.At}
		d.invalid(n, path, hintHealthy)
	}
}

func (t *Duration) decode(d *decoder, n *yaml.Node, path *trail) {
	t.At = d.Place(n)
	value, ok := d.scalar(n, path, "a duration", textsAndNumbers)
	if text, isText := value.(string); isText { // a number is of no unit
		t.Value, _ = time.ParseDuration(text)
	}
	if ok && t.Value <= 0 {
		t.Value = 0
		d.invalid(n, path, "write a duration above 0 with its unit, such as 90s, 30m or 2h")
	}
}

func (t *Number) decode(d *decoder, n *yaml.Node, path *trail) {
	t.At = d.Place(n)
	value, ok := d.scalar(n, path, "a whole number", wholeNumbers)
	t.Value, _ = value.(int) // the others are too large
	if ok && (t.Value < 1 || t.Value > mostClusters) {
		t.Value = 0
		d.invalid(n, path, "write a whole number above 0")
	}
}

// validTexts decodes a list of strings, or one string for which path stands, without those for which hint says what to write instead.
func (d *decoder) validTexts(n *yaml.Node, path *trail, hint func(text string) string) []Text {
	items, at := n.Content, path.item
	if n.Kind == yaml.ScalarNode {
		items, at = []*yaml.Node{n}, func(int) *trail { return path }
	}
	var valid []Text
	for i, item := range items {
		if yamldoc.Enough(d.diags) {
			break
		}
		item = yamldoc.Deref(item)
		before := len(*d.diags)
		text := d.text(item, at(i))
		if len(*d.diags) > before {
			continue
		}
		if hint := hint(text.Value); hint != "" {
			d.invalid(item, at(i), hint)
			continue
		}
		valid = append(valid, text)
	}
	return valid
}

// fleetNames are one text or a list of them, each as --fleet has it.
type fleetNames []Text

// fleetText is NAME or NAME:ARGUMENT.
var fleetText = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*(?::.*)?$`)

func (f *fleetNames) decode(d *decoder, n *yaml.Node, path *trail) {
	if n.Kind == yaml.MappingNode {
		d.wrongType(n, path, "a string or a list of strings")
		return
	}
	seen := map[string]bool{}
	*f = d.validTexts(n, path, func(name string) string {
		switch {
		case !fleetText.MatchString(name), strings.ContainsFunc(name, isControl), strings.HasPrefix(name, NoFleet+":"):
			return fmt.Sprintf("write NAME or NAME:ARGUMENT with a name in lower case, such as flux:edge-1, or %s if a person sets the status", NoFleet)
		case name == NoFleet && len(n.Content) > 1:
			return fmt.Sprintf("remove the others if a person sets the status, else %q", NoFleet)
		case seen[name]:
			return "remove the duplicate"
		}
		seen[name] = true
		return ""
	})
}

// loginText matches the login of a person or of a GitHub App. Only logins of Apps have brackets, so that no person can
// have the login of an App. Logins of managed users of an enterprise contain an underscore.
var loginText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$`)
