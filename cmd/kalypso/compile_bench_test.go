package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/model/fleettest"
	"github.com/kalypso-gitops/kalypso/pkg/render"
	"github.com/kalypso-gitops/kalypso/pkg/schedule"
)

// BenchmarkCompile goes from a loaded fleet to the output.
func BenchmarkCompile(b *testing.B) {
	for _, size := range fleettest.Sizes() {
		b.Run(size.Name, func(b *testing.B) {
			fleet, diags := fleettest.Generate(size).Load()
			require.False(b, diags.HasErrors())
			b.ReportAllocs()
			for b.Loop() {
				assignments, _ := schedule.Assign(fleet)
				tree, diags := render.Render(fleet, assignments, render.Options{})
				require.False(b, diags.HasErrors())
				require.NotEmpty(b, tree.Files)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size.Assignments()), "µs/assignment")
		})
	}
}
