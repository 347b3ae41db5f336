package model

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
)

type promotionSpec struct {
	Next   []Text `field:"next"`
	Checks struct {
		Fleets       fleetNames `field:"fleet"`
		Healthy      Healthy    `field:"healthy"`
		Timeout      Duration   `field:"timeout"`
		Expect       Number     `field:"expect"`
		ClusterTypes struct {
			Labels Selector `field:"labelSelector"`
		} `field:"clusterTypeSelector"`
		StatusLogins loginNames `field:"statusLogins"`
		At           diag.Place
	} `field:"checks"`
	At diag.Place
}

// promotion returns nil for nil.
func (s *promotionSpec) promotion() *Promotion {
	if s == nil {
		return nil
	}
	c := s.Checks
	return &Promotion{Next: s.Next, At: s.At, Checks: Checks{
		Fleets: c.Fleets, Healthy: c.Healthy, Timeout: c.Timeout, Expect: c.Expect, ClusterTypes: c.ClusterTypes.Labels,
		StatusLogins: c.StatusLogins, At: c.At,
	}}
}

// promotion returns what spec.promotion says, or the annotation that stands in for it.
func (p *parser) promotion(spec *promotionSpec, annotations map[string]Text) *Promotion {
	given, annotated := spec.promotion(), p.annotatedPromotion(annotations[PromotionAnnotation])
	switch {
	case given == nil:
		return annotated
	case annotated == nil || p.diags.HasErrors():
		return given
	}
	if field := given.difference(annotated); field != "" {
		p.diags.Error("promotion-differs", annotations[PromotionAnnotation].At,
			fmt.Sprintf("annotation %s and spec.promotion do not say the same: %s differs", PromotionAnnotation, field),
			diag.See(given.At, "spec.promotion is here"), diag.Hint("remove one of them"))
	}
	return given
}

func (p *parser) annotatedPromotion(text Text) *Promotion {
	var spec *promotionSpec
	p.fillEmbedded(&spec, text, (*trail)(nil).key("annotation "+PromotionAnnotation))
	return spec.promotion()
}

// invalid reports a value that is of the right type and has no meaning.
func (d *decoder) invalid(n *yaml.Node, path *trail, hint string) {
	d.diags.Error("invalid-value", d.place(n), fmt.Sprintf("%s %s is %s", d.kind, path, shortened(n.Value)), diag.Hint(hint))
}

// scalar resolves a node that should be one value; want says which, for messages.
func (d *decoder) scalar(n *yaml.Node, path *trail, want string) (value any, ok bool) {
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, path, want)
		return nil, false
	}
	if value, ok = resolve(n); !ok {
		d.wrongTag(n, path)
	}
	return value, ok
}

// mostClusters is more than any fleet has.
const mostClusters = 1_000_000_000

func (h *Healthy) decode(d *decoder, n *yaml.Node, path *trail) {
	const want = "a count or a percentage"
	h.At = d.place(n)
	value, ok := d.scalar(n, path, want)
	if !ok {
		return
	}
	switch value := value.(type) {
	case int:
		h.Count = value
	case string:
		h.Count, h.Share = parseHealthy(value)
	case float64, int64, uint64: // no count, however it is meant
	default:
		d.wrongType(n, path, want)
		return
	}
	if !h.inRange() {
		*h = Healthy{At: h.At}
		d.invalid(n, path, hintHealthy)
	}
}

const hintHealthy = `write a count such as 27, or a percentage from 1% to 100% such as "95%" or "99.5%"`

func (h *Healthy) inRange() bool {
	return h.Count >= 1 && h.Count <= mostClusters || h.Share >= percent && h.Share <= millionths
}

// ParseHealthy reads a count or a percentage, as it can be written in an Environment.
func ParseHealthy(text string) (Healthy, error) {
	var h Healthy
	if h.Count, h.Share = parseHealthy(text); !h.inRange() {
		return Healthy{}, errors.New(hintHealthy)
	}
	return h, nil
}

var (
	countText      = regexp.MustCompile(`^[1-9][0-9]{0,9}$`)
	percentageText = regexp.MustCompile(`^([0-9]{1,3})(?:\.([0-9]{1,4}))?%$`)
)

// parseHealthy returns zeros for a text that is neither a count nor a percentage.
func parseHealthy(text string) (count, share int) {
	if countText.MatchString(text) {
		count, _ = strconv.Atoi(text)
		return count, 0
	}
	match := percentageText.FindStringSubmatch(text)
	if match == nil {
		return 0, 0
	}
	whole, _ := strconv.Atoi(match[1])
	fraction, _ := strconv.Atoi((match[2] + "0000")[:4])
	return 0, whole*percent + fraction
}

func (t *Duration) decode(d *decoder, n *yaml.Node, path *trail) {
	const want = "a duration"
	t.At = d.place(n)
	value, ok := d.scalar(n, path, want)
	if !ok {
		return
	}
	switch value := value.(type) {
	case string:
		t.Value, _ = time.ParseDuration(value)
	case int, int64, uint64, float64: // of which unit?
	default:
		d.wrongType(n, path, want)
		return
	}
	if t.Value <= 0 {
		t.Value = 0
		d.invalid(n, path, "write a duration above 0 with its unit, such as 90s, 30m or 2h")
	}
}

func (t *Number) decode(d *decoder, n *yaml.Node, path *trail) {
	const want = "a whole number"
	t.At = d.place(n)
	value, ok := d.scalar(n, path, want)
	if !ok {
		return
	}
	switch value := value.(type) {
	case int:
		t.Value = value
	case int64, uint64: // too large
	default:
		d.wrongType(n, path, want)
		return
	}
	if t.Value < 1 || t.Value > mostClusters {
		t.Value = 0
		d.invalid(n, path, "write a whole number above 0")
	}
}

// fleetNames are one text or a list of them, each as --fleet has it.
type fleetNames []Text

// fleetText is NAME or NAME:ARGUMENT.
var fleetText = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*(?::.*)?$`)

func (f *fleetNames) decode(d *decoder, n *yaml.Node, path *trail) {
	switch n.Kind {
	case yaml.MappingNode:
		d.wrongType(n, path, "a string or a list of strings")
		return
	case yaml.ScalarNode:
		*f = fleetNames{d.fleetName(n, path)}
		return
	}
	seen := map[string]bool{}
	for i, item := range n.Content {
		if full(d.diags) {
			return
		}
		name := d.fleetName(target(item), path.item(i))
		switch {
		case name.Value == "": // reported
		case name.Value == NoFleet && len(n.Content) > 1:
			d.invalid(target(item), path.item(i), fmt.Sprintf("remove the others if a person is to decide, else %q", NoFleet))
		case seen[name.Value]:
			d.invalid(target(item), path.item(i), "it is given twice: remove one of them")
		default:
			seen[name.Value] = true
			*f = append(*f, name)
		}
	}
}

// fleetName is empty if there was something to report.
func (d *decoder) fleetName(n *yaml.Node, path *trail) Text {
	before := len(*d.diags)
	name := d.text(n, path)
	if len(*d.diags) > before {
		return Text{At: name.At}
	}
	valid := fleetText.MatchString(name.Value) && !strings.ContainsFunc(name.Value, isControl) && !strings.HasPrefix(name.Value, NoFleet+":")
	if !valid {
		d.invalid(n, path, fmt.Sprintf("write NAME or NAME:ARGUMENT with a name in lower case, such as flux:edge-1, or %s if a person is to decide", NoFleet))
		return Text{At: name.At}
	}
	return name
}

// loginNames is a list of GitHub logins.
type loginNames []Text

// loginText matches the login of a person or of a GitHub App. Only logins of Apps have brackets, so that no person can
// have the login of an App. Logins of managed users of an enterprise contain an underscore.
var loginText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$`)

func (l *loginNames) decode(d *decoder, n *yaml.Node, path *trail) {
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, path, "a list")
		return
	}
	for i, item := range n.Content {
		if full(d.diags) {
			return
		}
		before := len(*d.diags)
		login := d.text(target(item), path.item(i))
		switch {
		case len(*d.diags) > before: // reported
		case !loginText.MatchString(login.Value):
			d.invalid(target(item), path.item(i), "write a GitHub login such as octocat, or NAME[bot] for a GitHub App")
		default:
			*l = append(*l, login)
		}
	}
}
