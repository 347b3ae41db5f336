package promote

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/gitobject"
	"github.com/kalypso-gitops/kalypso/pkg/model"
)

// TestC6Guards: what speaks against a promotion, all of it at once, and which decision of a person overrides it.
func TestC6Guards(t *testing.T) {
	t.Parallel()
	stage := &model.Environment{Object: model.Object{Name: model.Text{Value: "stage"}}}
	fine := facts{environment: stage, base: "main", commit: promotedCommit, onBase: true, current: olderCommit, currentOnBase: true, relation: gitobject.Newer}
	with := func(change func(*facts)) facts {
		f := fine
		change(&f)
		return f
	}
	closed := []gate{{environment: "dev", status: Status{State: StatusFailure, Description: "Failed to deploy"}}}
	for name, test := range map[string]struct {
		facts     facts
		overrides Overrides
		// errors and notices are rules.
		errors, notices []string
	}{
		"newer":                       {facts: fine},
		"never promoted before":       {facts: with(func(f *facts) { f.current = "" })},
		"not on the base branch":      {facts: with(func(f *facts) { f.onBase = false }), errors: []string{RuleNotOnBase}},
		"not on it, on purpose":       {with(func(f *facts) { f.onBase = false }), Overrides{Unmerged: true}, nil, []string{RuleNotOnBase}},
		"older":                       {facts: with(func(f *facts) { f.relation = gitobject.Older }), errors: []string{RuleOlderCommit}},
		"older, on purpose":           {with(func(f *facts) { f.relation = gitobject.Older }), Overrides{Rollback: true}, nil, nil},
		"on another line":             {facts: with(func(f *facts) { f.relation = gitobject.Apart }), errors: []string{RuleOlderCommit}},
		"on another line, on purpose": {with(func(f *facts) { f.relation = gitobject.Apart }), Overrides{Rollback: true}, nil, nil},
		"main was rewritten":          {facts: with(func(f *facts) { f.currentOnBase, f.relation = false, gitobject.Unknown }), notices: []string{RuleOlderCommit}},
		"an open gate":                {facts: with(func(f *facts) { f.gates = []gate{{environment: "dev", open: true}} })},
		"a closed gate":               {facts: with(func(f *facts) { f.gates = closed }), errors: []string{RuleGateClosed}},
		"a gate that is skipped":      {with(func(f *facts) { f.gates = closed }), Overrides{SkipGates: true}, nil, []string{RuleGateClosed}},
		"a gate nobody knows": {
			facts: with(func(f *facts) { f.gates = []gate{{environment: "dev", unknown: true}} }), errors: []string{RuleGateUnknown},
		},
		"one of two gates": {
			facts:  with(func(f *facts) { f.gates = append([]gate{{environment: "eu", open: true}}, closed...) }),
			errors: []string{RuleGateClosed},
		},
		"one override is not another": {
			with(func(f *facts) { f.relation, f.gates = gitobject.Older, closed }),
			Overrides{SkipGates: true, Unmerged: true},
			[]string{RuleOlderCommit},
			nil, // it does not go on, so nothing says that it does
		},
		"everything": {
			facts: with(func(f *facts) { f.onBase, f.currentOnBase, f.gates = false, true, closed }), errors: []string{RuleNotOnBase, RuleGateClosed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diags := guard(test.facts, test.overrides)
			rules := func(severity diag.Severity) (rules []string) {
				for _, d := range diags {
					if d.Severity == severity {
						rules = append(rules, d.Rule)
						assert.NotEmpty(t, d.Message)
						assert.True(t, severity != diag.Error || d.Hint != "", "a refusal says what to do: %s", d.Message)
					}
				}
				return rules
			}
			assert.ElementsMatch(t, test.errors, rules(diag.Error))
			assert.ElementsMatch(t, test.notices, rules(diag.Notice))
		})
	}
}

// TestGateIsOpen: a success opens the gate, and the seeds' word for one.
func TestGateIsOpen(t *testing.T) {
	t.Parallel()
	for want, all := range map[bool][]Status{
		true: {{State: StatusSuccess}, {State: StatusSuccess, Description: "a person says so"}, {State: StatusPending, Description: "Deployed"}},
		false: {
			{},
			{State: StatusPending},
			{State: StatusPending, Description: "Promoted"},
			{State: StatusPending, Description: "Deploying"},
			{State: StatusPending, Description: "deployed"},
			{State: StatusPending, Description: "Deployed: 3 of 3 clusters"},
			{State: StatusFailure, Description: "Deployed"},
			{State: StatusError, Description: "Deployed"},
		},
	} {
		for _, status := range all {
			assert.Equal(t, want, isDeployed(status), "%+v", status)
		}
	}
	status, found := find([]Status{{Context: "stage environment", State: StatusPending}, {Context: "Dev Environment", State: StatusSuccess}}, "dev")
	assert.True(t, found, "GitHub does not tell contexts apart by case")
	assert.Equal(t, StatusSuccess, status.State)
	_, found = find([]Status{{Context: "dev", State: StatusSuccess}, {Context: "dev environment 2", State: StatusSuccess}}, "dev")
	assert.False(t, found)
}
