package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// requirement is one condition of a selector. Its values are a set, because thousands of objects may be matched against
// thousands of values.
type requirement struct {
	key      string
	operator selection.Operator
	values   map[string]bool
	at       diag.Place
}

func (r requirement) parse() (*labels.Requirement, error) {
	return labels.NewRequirement(r.key, r.operator, slices.Sorted(maps.Keys(r.values)))
}

// matches reports whether an object with the labels satisfies the requirement.
func (r requirement) matches(labels map[string]model.Text) bool {
	value, has := labels[r.key]
	switch r.operator {
	case selection.Exists:
		return has
	case selection.DoesNotExist:
		return !has
	case selection.NotIn:
		return !has || !r.values[value.Value]
	default: // In, Equals
		return has && r.values[value.Value]
	}
}

// String writes the requirement as kubectl does: "edge=true", "size in (large,small)", "!edge".
func (r requirement) String() string {
	parsed, err := r.parse()
	if err != nil {
		return r.key
	}
	return parsed.String()
}

// selector is the conjunction of its requirements; an empty one matches everything.
type selector []requirement

// matches reports whether an object with the labels satisfies all requirements.
func (s selector) matches(labels map[string]model.Text) bool {
	return !slices.ContainsFunc(s, func(r requirement) bool { return !r.matches(labels) })
}

// operators are the operators that a LabelSelector may use.
var operators = map[string]selection.Operator{
	"In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist,
}

// compile validates a selector by the rules of Kubernetes. Its requirements are in the order of the file.
func compile(written model.Selector, diags *diag.List) selector {
	var s selector
	for key, value := range written.MatchLabels {
		s.add(requirement{key, selection.Equals, map[string]bool{value.Value: true}, value.At}, diags)
	}
	for _, expression := range written.MatchExpressions {
		operator, known := operators[expression.Operator.Value]
		if !known {
			if expression.Operator.Value != "" { // else reported as missing
				diags.Error("invalid-selector", expression.Operator.At, fmt.Sprintf("unknown operator %q", expression.Operator.Value),
					diag.Hint(diag.DidYouMean(expression.Operator.Value, slices.Sorted(maps.Keys(operators)))))
			}
			continue
		}
		values := make(map[string]bool, len(expression.Values))
		for _, value := range expression.Values {
			values[value.Value] = true
		}
		s.add(requirement{expression.Key.Value, operator, values, expression.At}, diags)
	}
	// Two labels whose value is the same YAML alias have the same place.
	slices.SortStableFunc(s, func(a, b requirement) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key)) })
	return s
}

func (s *selector) add(r requirement, diags *diag.List) {
	if r.key == "" {
		return // reported as missing
	}
	if _, err := r.parse(); err != nil {
		diags.Error("invalid-selector", r.at, "invalid selector: "+selectorProblem(r, err))
		return
	}
	*s = append(*s, r)
}

// selectorProblem returns a message for an error of Kubernetes' library.
func selectorProblem(r requirement, err error) string {
	switch {
	case (r.operator == selection.In || r.operator == selection.NotIn) && len(r.values) == 0:
		return fmt.Sprintf("operator %s needs values for key %q", operatorName(r.operator), r.key)
	case (r.operator == selection.Exists || r.operator == selection.DoesNotExist) && len(r.values) > 0:
		return fmt.Sprintf("operator %s takes no values for key %q", operatorName(r.operator), r.key)
	}
	var aggregate utilerrors.Aggregate
	if errors.As(err, &aggregate) && len(aggregate.Errors()) > 0 {
		err = aggregate.Errors()[0]
	}
	var fieldError *field.Error
	if errors.As(err, &fieldError) {
		return fmt.Sprintf("%q: %s", fmt.Sprint(fieldError.BadValue), model.WithoutRegex(fieldError.Detail))
	}
	return err.Error()
}

// operatorName returns the name of an operator in a LabelSelector.
func operatorName(operator selection.Operator) string {
	for name, known := range operators {
		if known == operator {
			return name
		}
	}
	return string(operator)
}
