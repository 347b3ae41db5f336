package fleet_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kalypso-gitops/kalypso/pkg/promote"
	"github.com/kalypso-gitops/kalypso/pkg/promote/fleet"
)

func TestNew(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"argocd", "azure-resource-graph", "command", "flux"}, fleet.Names())
	o := fleet.Options{Env: func(name string) string { return map[string]string{"ARGOCD_AUTH_TOKEN": "t"}[name] }}
	for text, want := range map[string]string{
		"argocd:https://argocd.example.com": "argocd:https://argocd.example.com",
		"azure-resource-graph":              "azure-resource-graph",
		"command:./state.sh --all":          "command:./state.sh",
		"flux":                              "flux",
		"flux:":                             "flux",
		"flux: a , b":                       "flux:a,b",
		"flux:arn:aws:eks:1:cluster/x":      "flux:arn:aws:eks:1:cluster/x",
	} {
		asked, err := fleet.New(text, o)
		require.NoError(t, err, text)
		assert.Equal(t, want, asked.String())
	}
	for text, want := range map[string]string{
		"":                          `unknown fleet source ""`,
		"flx:edge-1":                `unknown fleet source "flx" (did you mean "flux"?)`,
		"anything":                  "(one of argocd, azure-resource-graph, command, flux, none)",
		"argocd":                    "name its URL",
		"azure-resource-graph:prod": `azure-resource-graph: "prod" is not a subscription ID`,
		"command":                   "the command is empty",
		"flux:a,":                   "flux:a, has an empty context name",
	} {
		_, err := fleet.New(text, o)
		require.ErrorContains(t, err, want, text)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestOptionsReachTheFleet: what is given of the machine is what a fleet uses.
func TestOptionsReachTheFleet(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var agents []string
	var slept []time.Duration
	asked, err := fleet.New("argocd:https://argocd.example.com", fleet.Options{
		Env: func(name string) string { return map[string]string{"ARGOCD_AUTH_TOKEN": "t"}[name] },
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			agents = append(agents, r.UserAgent())
			if len(agents) == 1 {
				later := http.Header{"Retry-After": {now.Add(7 * time.Second).Format(http.TimeFormat)}}
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: later, Body: http.NoBody}, nil
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"items":[]}`))}, nil
		}),
		Sleep:     func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil },
		Now:       func() time.Time { return now },
		UserAgent: "kalypso/test",
	})
	require.NoError(t, err)
	_, err = asked.Query(t.Context(), promote.Deployment{})
	require.NoError(t, err)
	assert.Equal(t, []string{"kalypso/test", "kalypso/test"}, agents)
	assert.Equal(t, []time.Duration{7 * time.Second}, slept)
}
