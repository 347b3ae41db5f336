package promote

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// lookOf makes a look of clusters by their standing: d deployed, p progressing, b behind, f failed, m missing, s for a silent fleet; "?" says
// that a fleet could not be asked.
func lookOf(letters string, rules Rules) Snapshot {
	var snapshot Snapshot
	for i, letter := range letters {
		cluster := Cluster{Name: fmt.Sprintf("cluster-%d", i)}
		switch letter {
		case 'd':
			cluster.State = Deployed
		case 'p':
			cluster.State = Progressing
		case 'b':
			cluster.State = Behind
		case 'f':
			cluster.State = Broken
		case 'm':
			snapshot.Missing++
			continue
		case 's':
			snapshot.NoReports = append(snapshot.NoReports, "the silent one")
			continue
		case '?':
			snapshot.QueryErrors = "it does not answer"
			continue
		}
		snapshot.Clusters = append(snapshot.Clusters, cluster)
		snapshot.Add(cluster.State)
	}
	snapshot.Need = rules.need(snapshot.Total())
	return snapshot
}

// share is Rules.Need for a share of all, rounded up.
func share(percent int) func(int) int {
	return func(total int) int { return (total*percent + 99) / 100 }
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	usual := Rules{Timeout: 60 * time.Second, Grace: 20 * time.Second}
	with := func(change func(*Rules)) Rules {
		rules := usual
		change(&rules)
		return rules
	}
	for name, test := range map[string]struct {
		rules Rules
		// looks come every ten seconds; the state is that after the last, before which there must be none.
		looks []string
		want  RolloutState
	}{
		"at once is not enough":                {usual, []string{"dd"}, Waiting},
		"two looks in a row":                   {usual, []string{"dd", "dd"}, Succeeded},
		"it holds only for a moment":           {usual, []string{"db", "dd", "df", "dd", "db", "dd"}, Waiting},
		"one is behind":                        {usual, []string{"db", "db", "db", "db", "db", "db", "db"}, TimedOut},
		"in the last moment":                   {usual, []string{"b", "b", "b", "b", "b", "d", "d"}, Succeeded},
		"too late by one look":                 {usual, []string{"b", "b", "b", "b", "b", "b", "d"}, TimedOut},
		"a failure must last":                  {usual, []string{"df", "df"}, Waiting},
		"a failure that lasts":                 {usual, []string{"df", "df", "df"}, Rejected},
		"a failure that comes and goes":        {usual, []string{"df", "df", "dp", "df", "df", "dd", "df"}, TimedOut},
		"a failure without grace":              {with(func(r *Rules) { r.Grace = 0 }), []string{"df"}, Rejected},
		"nothing is registered":                {usual, []string{"", "", "", "", "", "", ""}, NoClusters},
		"nothing is registered, and may be so": {with(func(r *Rules) { r.AllowNone = true }), []string{"", ""}, Succeeded},
		"some are registered late":             {usual, []string{"", "", "d", "d"}, Succeeded},
		"they vanish again":                    {usual, []string{"d", "", "d", "", "d", "", "d"}, TimedOut},
		"one is missing":                       {usual, []string{"dm", "dm", "dm", "dm", "dm", "dm", "dm"}, TimedOut},
		"the missing one comes":                {usual, []string{"dm", "dd", "dd"}, Succeeded},
		"a share is enough":                    {with(func(r *Rules) { r.Need = share(66) }), []string{"ddb", "ddb"}, Succeeded},
		"a failure within what may fail":       {with(func(r *Rules) { r.Need = share(66) }), []string{"dbf", "dbf", "dbf", "ddf", "ddf"}, Succeeded},
		"a failure beyond it":                  {with(func(r *Rules) { r.Need = share(66) }), []string{"dff", "dff", "dff"}, Rejected},
		"it cannot be asked":                   {usual, []string{"dd?", "dd?", "dd?", "dd?", "dd?", "dd?", "dd?"}, Unreachable},
		"it can be asked again":                {usual, []string{"dd", "dd?", "dd", "dd"}, Succeeded},
		"it fails while another is not asked":  {usual, []string{"df?", "df?", "df?"}, Rejected},
		"once, deployed":                       {with(func(r *Rules) { r.Once = true }), []string{"d"}, Succeeded},
		"once, not yet":                        {with(func(r *Rules) { r.Once = true }), []string{"p"}, Waiting},
		"once, failed":                         {with(func(r *Rules) { r.Once = true }), []string{"f"}, Rejected},
		"once, nothing is registered":          {with(func(r *Rules) { r.Once = true }), []string{""}, NoClusters},
		"once, it cannot be asked":             {with(func(r *Rules) { r.Once = true }), []string{"d?"}, Unreachable},
		"a part of the fleet is silent":        {usual, []string{"ds", "ds", "ds", "ds", "ds", "ds", "ds"}, TimedOut},
		"a part is silent, and may be so":      {with(func(r *Rules) { r.AllowNone = true }), []string{"ds", "ds"}, Succeeded},
		"a part is silent at first":            {usual, []string{"ds", "dd", "dd"}, Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1_700_000_000, 0)
			j := evaluator{rules: test.rules, started: now}
			for i, letters := range test.looks {
				got := j.evaluate(lookOf(letters, test.rules), now)
				want := Waiting
				if i == len(test.looks)-1 {
					want = test.want
				}
				assert.Equal(t, want, got, "look %d", i+1)
				now = now.Add(10 * time.Second)
			}
		})
	}
}

func TestNeed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 1, Rules{}.need(0), "nothing registered is not success")
	assert.Equal(t, 0, Rules{AllowNone: true}.need(0))
	assert.Equal(t, 3, Rules{AllowNone: true}.need(3))
	assert.Equal(t, 1, Rules{Need: share(1)}.need(30), "one at least")
	assert.Equal(t, 29, Rules{Need: share(95)}.need(30))
}
