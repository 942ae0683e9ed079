package plan

// CanCompareData says whether a member can be asked for its hash.
func (m Member) CanCompareData(incarnation int32) bool {
	return m.Incarnation == incarnation && m.InMembership && !m.Learner && m.Answers
}

// CommonRevision is the one that all voters that answer have reached.
func (s State) CommonRevision() (revision int64, ok bool) {
	for _, m := range s.Members {
		if m.CanCompareData(s.Incarnation) && (!ok || m.Revision < revision) {
			revision, ok = m.Revision, true
		}
	}
	return revision, ok
}
