package gitops

// ValueChanges are values that change in the files of the same deployment targets.
type ValueChanges struct {
	// Targets are indexes into Change.Targets, in order.
	Targets []int
	Changes []ValueChange
}

// ValueChange is what happens to one value.
type ValueChange struct {
	// Key is the path of the value in its object, after the kind of the object: "Kustomization spec.interval". The
	// keys of a ConfigMap's data stand alone. Of a file that changes as a whole it is the name.
	Key string
	// WholeFile says that it is not known which values of the file change, or that none does.
	WholeFile bool
	Action    Action
	// Old and New are the part that differs if the values are long.
	Old, New string
}

// Values finds the values that change on targets that are there before and after: those that go away first, then those
// that reach furthest. At most so many different changes are returned; dropped counts the others, on each target anew.
// What is the same once names are alike is left out.
func (c *Change) Values(most int, alike Alike) (all []ValueChanges, dropped int) {
	groups := newKeyGroups(c, most, alike)
	for _, bundle := range groups.bundles() {
		changes := ValueChanges{}
		for _, target := range bundle.targets {
			changes.Targets = append(changes.Targets, int(target))
		}
		for _, k := range bundle.changes {
			value := ValueChange{Key: k.key, Action: k.action, Old: k.old, New: k.now}
			if k.old == noValue {
				value.WholeFile, value.Old, value.New = true, "", ""
			}
			changes.Changes = append(changes.Changes, value)
		}
		all = append(all, changes)
	}
	return all, groups.dropped
}
