package promote

import "time"

// Rules say when a fleet has deployed a commit.
type Rules struct {
	// Need returns how many of total clusters must have deployed it; nil means all.
	Need func(total int) int
	// Expect is how many clusters there are at least; those that are not seen are missing.
	Expect int
	// AllowNone lets it count as deployed if no cluster is registered, in all or for a fleet or GitOps repository.
	AllowNone bool
	// Counts reports whether the clusters of a type count; nil means all. One whose type is not known counts.
	Counts func(clusterType string) bool
	// Timeout is how long the fleet is waited for, and Interval how long between two looks.
	Timeout, Interval time.Duration
	// Grace is how long a failure must last until it is one.
	Grace time.Duration
	// Once looks a single time: then neither success nor failure has to last.
	Once bool
}

// need is how many clusters must have deployed the commit, of those that there are or should be.
func (r Rules) need(total int) int {
	switch {
	case total == 0 && r.AllowNone:
		return 0
	case r.Need == nil:
		return max(total, 1)
	default:
		return max(r.Need(total), 1)
	}
}

// counts reports whether what a reconciler says counts.
func (r Rules) counts(s Sighting) bool {
	return r.Counts == nil || s.ClusterType == "" || r.Counts(s.ClusterType)
}
