package diff

import (
	"fmt"
	"strings"

	"github.com/kalypso-gitops/kalypso/cmd/kalypso/internal/session"
	"github.com/kalypso-gitops/kalypso/pkg/diag"
	"github.com/kalypso-gitops/kalypso/pkg/gitops/change"
	"github.com/kalypso-gitops/kalypso/pkg/impact"
)

func (c *comparison) text() error {
	p := diffPrinter{session.NewPrinter(c.Stdout, c.OutPalette(c.flags.Color))}
	p.Quiet = c.Quiet
	for i, d := range c.found {
		if i > 0 {
			fmt.Fprintln(p)
		}
		p.difference(d, c.flags)
	}
	return nil
}

// diffPrinter writes differences for people.
type diffPrinter struct{ session.Printer }

func (p diffPrinter) difference(d Result, flags *diffFlags) {
	fmt.Fprintln(p, p.Heading(diag.Safe(d.title())))
	for _, note := range d.Notes {
		p.Notice("  ", note)
	}
	for _, output := range d.Outputs {
		fmt.Fprintln(p, "  "+p.Changed(diag.Safe(change.Changed.Sign()+" "+output)))
	}
	diff := d.impact.Change
	if diff.Empty() && len(d.Outputs) > 0 {
		return
	}
	if diff.Empty() {
		fmt.Fprintln(p, "  no changes")
		return
	}
	fmt.Fprintln(p, "  "+diff.Plan().String())
	if flags.stat {
		p.Stat(diff)
		return
	}
	p.movements(d, change.Removed)
	p.movements(d, change.Added)
	p.values(d)
	if flags.files {
		for _, f := range diff.Files {
			p.File(f)
		}
	}
}

// title says what is compared with what.
func (d Result) title() string {
	if d.With != "" {
		return fmt.Sprintf("environments %s and %s: + only in %s, - only in %s", d.Name, d.With, d.With, d.Name)
	}
	return fmt.Sprintf("environment %s: %s -> %s", d.Name, d.Before, d.After)
}

// movements lists the targets that go, or those that come.
func (p diffPrinter) movements(d Result, action change.Action) {
	var rows [][]string
	n := d.impact.Change.Count(action)
	if n == 0 {
		return
	}
	for _, t := range d.Targets {
		if t.Action == action {
			for _, r := range d.why(t) {
				rows = append(rows, []string{t.ClusterType, t.TargetChange.Target, r.text, r.place()})
			}
		}
	}
	fmt.Fprintf(p, "\n%s\n", p.Paint(action, fmt.Sprintf("%s %s", action.Sign(), d.moved(action, n))))
	p.Rows(2, rows, "CLUSTER TYPE", "TARGET", "REASON", "SOURCE")
}

// moved says that targets came or went.
func (d Result) moved(action change.Action, n int) string {
	switch {
	case d.With != "" && action == change.Removed:
		return diag.Plural(n, "assignment") + " only in " + d.Name
	case d.With != "":
		return diag.Plural(n, "assignment") + " only in " + d.With
	default:
		return diag.Plural(n, "assignment") + " " + action.String()
	}
}

// why says why a target came or went.
func (d Result) why(t impact.Target) []reason {
	if d.blind {
		return []reason{{text: "previous state unknown", at: t.Cause.At}}
	}
	whole := map[impact.Why]string{impact.WhyEnvironment: "environment", impact.WhyRegistration: "WorkloadRegistration", impact.WhyTarget: "deployment target", impact.WhyClusterType: "cluster type"}
	if what, is := whole[t.Cause.Why]; is {
		return []reason{{text: d.oneSided(t, what), at: t.Cause.At}}
	}
	var reasons []reason
	for _, p := range t.Cause.Policies {
		if len(p.Misses) == 0 {
			reasons = append(reasons, reason{text: d.oneSided(t, "policy "+p.Name), at: p.At})
		}
		for _, m := range p.Misses {
			reasons = append(reasons, reason{text: fmt.Sprintf("%spolicy %s %s", d.otherSide(t), p.Name, d.missed(t, m.Message)), at: m.At})
		}
	}
	return reasons
}

// otherSide names the environment where a condition does not hold.
func (d Result) otherSide(t impact.Target) string {
	if d.With == "" {
		return ""
	}
	return "in " + d.without(t) + ", "
}

// missed is a message of schedule.Miss, in the past tense if the condition holds now.
func (d Result) missed(t impact.Target, message string) string {
	if d.With != "" || t.Action != change.Added {
		return message
	}
	return strings.NewReplacer("requires ", "required ", ", but the deployment target is ", ", but the deployment target was ",
		" has ", " had ").Replace(message)
}

// without is which of two environments does not have a target.
func (d Result) without(t impact.Target) string {
	if t.Action == change.Added {
		return d.Name
	}
	return d.With
}

// oneSided says that something is there before or after only.
func (d Result) oneSided(t impact.Target, what string) string {
	switch {
	case d.With != "":
		return d.without(t) + " has no such " + what
	case t.Action == change.Added:
		return "new " + what
	default:
		return "the " + what + " was removed"
	}
}

// values lists what changes on targets that stay.
func (p diffPrinter) values(d Result) {
	if len(d.impact.Values) == 0 {
		return
	}
	n := d.impact.Change.Count(change.Changed)
	fmt.Fprintf(p, "\n%s\n", p.Changed(fmt.Sprintf("%s %s changed", change.Changed.Sign(), diag.Plural(n, "assignment"))))
	for _, v := range d.impact.Values {
		fmt.Fprintf(p, "  %s\n", diag.Safe(d.where(v)))
		for _, value := range v.Changes {
			line := "    " + diag.Safe(valueLine(value))
			if at := valuePlace(value); at != "" {
				line += "  " + p.Faint(diag.Safe(at))
			}
			fmt.Fprintln(p, line)
		}
	}
	if d.LeftOut > 0 {
		fmt.Fprintf(p, "  and %d more\n", d.LeftOut)
	}
}

// mostNamed is how many targets are named where values change; more are counted.
const mostNamed = 2

// where says on which targets values change.
func (d Result) where(v impact.Values) string {
	targets := d.impact.Change.Targets
	var names []string
	clusterTypes := map[string]bool{}
	for _, i := range v.Targets {
		names = append(names, targets[i].ClusterType+"/"+targets[i].Target)
		clusterTypes[targets[i].ClusterType] = true
	}
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s on %s", diag.Plural(len(names), "assignment"), diag.Plural(len(clusterTypes), "cluster type"))
}
