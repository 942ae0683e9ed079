package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
)

// The operator compares stored times with its clock: those in the status, in annotations and in certificates, and those of Kubernetes.
// Each of them may come from a clock that was wrong, and the operator's own clock may be wrong now. While that clock and the one of the API
// server differ, nobody knows which one is right. Then a wait counts from when the operator first saw its beginning, by a clock that
// nobody sets. The operator issues no certificates until they are urgent, and then ones that are valid
// by both clocks.

// clocksDiffer reports whether the clock of the operator and that of the API server differ.
func (s State) clocksDiffer() bool { return s.ServerAhead != 0 }

// NoteClock records how far the clock of the API server is ahead of the operator's, if that matters.
func (s *State) NoteClock(ahead time.Duration) {
	s.ServerAhead = 0
	if clock.Differ(ahead) {
		s.ServerAhead = ahead
	}
}

// serverNow is the time of the API server if the clocks differ. Otherwise these three are all Now.
func (s State) serverNow() time.Time { return s.Now.Add(s.ServerAhead) }

// earlierNow is the time of the clock that is behind.
func (s State) earlierNow() time.Time { return s.Now.Add(min(s.ServerAhead, 0)) }

// laterNow is the time of the clock that is ahead.
func (s State) laterNow() time.Time { return s.Now.Add(max(s.ServerAhead, 0)) }

// stamp is the time that is recorded as the beginning of a wait after which something is removed. It is never before the true time if one of the
// clocks is right.
func (s State) stamp() time.Time { return s.laterNow() }

// fromEarlier is a validity that begins at earlierNow, and lasts as long as it should by the clock of the API server.
func (s State) fromEarlier(validity time.Duration) time.Duration {
	return validity + max(s.ServerAhead, 0)
}

// waits are the times that a wait counts from, and that are not recorded in the status again.
func (s *State) waits() []*time.Time {
	times := []*time.Time{&s.LearnerFailedAt, &s.SeedReadySince}
	for i := range s.Members {
		m := &s.Members[i]
		times = append(times, &m.UnreadySince, &m.GateSince, &m.BesideSince, &m.FileSystemPendingSince, &m.AddressSince)
		if m.Seed != nil {
			times = append(times, &m.Seed.DoneAt)
		}
	}
	if s.Request != nil && s.Request.Saved != nil {
		times = append(times, &s.Request.Saved.Time.Time)
	}
	for i := range s.SetAside {
		times = append(times, &s.SetAside[i].Since)
	}
	return times
}

// records are the times in the status that say when something was done or began. The status records them again.
func (s *State) records() []*time.Time {
	var times []*time.Time
	if s.Defragmentation != nil && s.Defragmentation.LastScheduleTime != nil {
		times = append(times, &s.Defragmentation.LastScheduleTime.Time)
	}
	if s.Restore != nil && s.Restore.SeedRefusedTime != nil {
		times = append(times, &s.Restore.SeedRefusedTime.Time)
	}
	for i := range s.PodFailures {
		times = append(times, &s.PodFailures[i].LastTime.Time)
	}
	for i := range s.ForeignMembers {
		times = append(times, &s.ForeignMembers[i].Since)
	}
	return times
}

// CorrectTimes puts the time at which the operator first saw a stored time into the place of each that cannot be right.
func (s *State) CorrectTimes(seen *clock.Seen) {
	seen.Next()
	for _, at := range s.waits() {
		*at = seen.Trusted(*at, s.Now, s.clocksDiffer())
	}
	for _, at := range s.records() {
		if trusted := seen.Trusted(*at, s.Now, false); !s.clocksDiffer() {
			*at = trusted.Truncate(time.Second) // as the API stores it
		}
	}
	for name, at := range s.Defragmented {
		s.Defragmented[name] = clock.Done(at, s.Now)
	}
	overlap := s.overlap()
	for _, end := range []*time.Time{&s.Certificates.SwitchAfter, &s.Certificates.DropAfter, &s.Certificates.CheckClientsAfter} {
		*end = seen.Trusted(end.Add(-overlap), s.Now, s.clocksDiffer()).Add(overlap)
	}
	if s.clocksDiffer() {
		for i := range s.Members {
			s.Members[i].GoneBy = time.Time{}
		}
	}
}

// overlap is how long a CA that is being replaced is trusted beside the new one.
func (s State) overlap() time.Duration {
	if !s.Spec.TLS.Issued() {
		return 0
	}
	return s.Validity().caOverlap
}

// AsksClock reports whether a step cannot be undone, and a time that has passed may be its cause. It is taken only if the operator's clock
// agrees with that of the API server, or if it was planned with the knowledge that they differ.
func (s State) AsksClock(step Step) bool {
	switch step := step.(type) {
	case CreateCA, ReplaceCA, RemovePreviousCA:
		return true
	case WriteCertificates:
		return s.Spec.TLS.Managed != nil
	case RemoveMember:
		return step.Cause != "" && !step.DataGone()
	case DeletePod:
		m, _ := s.member(step.Name)
		return !m.Serving && m.Pod != PodEnded
	case ForceDeletePod:
		return !step.Stopped
	case FailRestore, BeginRecovery:
		return true
	}
	return false
}

// ClockSkew is the wait until the clocks agree. It names no difference, which would change with each pass.
func (s State) ClockSkew() Wait {
	which := "behind"
	if s.ServerAhead < 0 {
		which = "ahead of"
	}
	meaning := "Until they agree, the operator renews certificates only when half of renewBefore is left. It replaces a member that does not serve only after it has observed that for the whole time. The members continue to serve."
	if !s.Formed() {
		meaning = "Certificates that are issued by a wrong clock are useless, so the operator creates none, and the cluster does not start."
	}
	return Wait{
		Reason: v1beta2.ReasonClockSkew, Stalled: true,
		Message: "The clock of the operator's node is more than a minute " + which + " that of the API server. " + meaning + " Correct the clock that is wrong, for example with NTP.",
	}
}

// reportClock reports that the clocks differ, once all else is done.
func reportClock(s State) Step {
	if s.clocksDiffer() {
		return s.ClockSkew()
	}
	return nil
}

// untilClocksAgree holds a step that issues certificates while the clocks differ. A cluster that runs is not kept from its repair.
func untilClocksAgree(s State, step Step) Step {
	if step == nil || !s.awaitsClocks(step) {
		return step
	}
	if s.Certificates.Missing || !s.Formed() {
		return s.ClockSkew()
	}
	return nil
}

// awaitsClocks reports whether a step that issues certificates waits until the clocks agree. They may differ for ever, and certificates
// must not expire meanwhile.
func (s State) awaitsClocks(step Step) bool {
	return s.clocksDiffer() && s.AsksClock(step) && !s.Certificates.Urgent
}
