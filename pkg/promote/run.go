package promote

import "context"

// Promote promotes a commit. What keeps it from being promoted is in the diagnostics of the outcome. The error wraps
// remote.ErrMoved if somebody was faster.
func (p *Promoter) Promote(ctx context.Context, r Request) (Outcome, error) {
	step := &step{Promoter: p, Request: r, out: Outcome{Environment: r.Environment.Name.Value, Action: ActionRefused, DryRun: r.DryRun}}
	err := step.run(ctx)
	return step.out, err
}

func (s *step) run(ctx context.Context) error {
	for _, part := range []func(context.Context) error{s.open, s.resolve, s.loops, s.compare, s.proposals, s.gates, s.decide, s.write, s.report} {
		if err := part(ctx); err != nil || s.out.Diags.HasErrors() {
			if s.out.Diags.HasErrors() {
				s.out.Action = ActionRefused
			}
			return err
		}
		if s.out.Action == ActionNotPromotable || s.out.Action == ActionWaiting {
			return nil
		}
	}
	return nil
}
