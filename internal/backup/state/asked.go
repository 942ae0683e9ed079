package state

// Asked returns whether a user or the archiver has requested a snapshot of the series now.
func (s State) Asked() bool { return s.Requested() || s.BaseWanted() }

// Requested returns whether a user has.
func (s State) Requested() bool {
	return s.Series() && s.Request != "" && s.Request != s.Status.HandledRequest
}

// Suspended returns whether the spec suspends the series, and nothing has requested a snapshot.
func (s State) Suspended() bool { return s.Series() && s.Spec.BackupPolicy.Suspend && !s.Asked() }

// Drillable returns whether the spec asks for restore tests and there is a snapshot to test.
func (s State) Drillable() bool {
	return s.Spec.Drill != nil && s.Recorded() != nil
}
