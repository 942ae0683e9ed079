package certificates

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The operator compares stored times with its clock: those in the status, in annotations and in certificates, and those of Kubernetes.
// Each of them may come from a clock that was wrong, and the operator's own clock may be wrong now. While that clock and the one of the API
// server differ, nobody knows which one is right. Then a wait counts from when the operator first saw its beginning, by a clock that
// nobody sets. The operator issues no certificates until they are urgent, and then ones that are valid
// by both clocks.

// NoteClock records how far the clock of the API server is ahead of the operator's, if that matters.
func NoteClock(s *state.State, ahead time.Duration) {
	s.ServerAhead = 0
	if clock.Differ(ahead) {
		s.ServerAhead = ahead
	}
}

// timesOfWaits are the times that a wait counts from, and that are not recorded in the status again.
func timesOfWaits(s *state.State) []*time.Time {
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

// timesOfRecords are the times in the status that say when something was done or began. The status records them again.
func timesOfRecords(s *state.State) []*time.Time {
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
func CorrectTimes(s *state.State, seen *clock.Seen) {
	seen.Next()
	for _, at := range timesOfWaits(s) {
		*at = seen.Trusted(*at, s.Now, state.ClocksDiffer(*s))
	}
	for i := range s.Members {
		if at := &s.Members[i].EtcdSince; !at.IsZero() { // only this process can tell when etcd started, if the clock of a node is behind
			*at = state.Later(seen.Trusted(*at, s.Now, state.ClocksDiffer(*s)), seen.Since(*at, s.Now))
		}
	}
	for _, at := range timesOfRecords(s) {
		if trusted := seen.Trusted(*at, s.Now, false); !state.ClocksDiffer(*s) {
			*at = trusted.Truncate(time.Second) // as the API stores it
		}
	}
	for name, at := range s.Defragmented {
		s.Defragmented[name] = clock.Done(at, s.Now)
	}
	overlap := overlap(*s)
	for _, end := range []*time.Time{&s.Certificates.SwitchAfter, &s.Certificates.DropAfter, &s.Certificates.CheckClientsAfter} {
		*end = seen.Trusted(end.Add(-overlap), s.Now, state.ClocksDiffer(*s)).Add(overlap)
	}
	if state.ClocksDiffer(*s) {
		for i := range s.Members {
			s.Members[i].GoneBy = time.Time{}
		}
	}
}

// overlap is how long a CA that is being replaced is trusted beside the new one.
func overlap(s state.State) time.Duration {
	if !s.Spec.TLS.Issued() {
		return 0
	}
	return state.Validity(s).CaOverlap
}

// AsksClock reports whether a step cannot be undone, and a time that has passed may be its cause. It is taken only if the operator's clock
// agrees with that of the API server, or if it was planned with the knowledge that they differ.
func AsksClock(s state.State, step steps.Step) bool {
	switch step := step.(type) {
	case steps.CreateCA, steps.ReplaceCA, steps.RemovePreviousCA:
		return true
	case steps.WriteCertificates, steps.WriteUserCertificates:
		return s.Spec.TLS.Managed != nil
	case steps.RemoveMember:
		return step.Cause != "" && !step.DataGone()
	case steps.DeletePod:
		m, _ := state.Find(s, step.Name)
		return !m.Serving && m.Pod != state.PodEnded
	case steps.ForceDeletePod:
		return !step.Stopped
	case steps.FailRestore, steps.BeginRecovery:
		return true
	}
	return false
}

// ClockSkew is the wait until the clocks agree. It names no difference, which would change with each pass.
func ClockSkew(s state.State) steps.Wait {
	which := "behind"
	if s.ServerAhead < 0 {
		which = "ahead of"
	}
	meaning := "Until they agree, the operator renews certificates only when half of renewBefore is left. It replaces a member that does not serve only after it has observed that for the whole time. The members continue to serve."
	if !s.Formed() {
		meaning = "Certificates that are issued by a wrong clock are useless, so the operator creates none, and the cluster does not start."
	}
	return steps.Wait{
		Reason: v1beta2.ReasonClockSkew, Stalled: true,
		Message: "The clock of the operator's node is more than a minute " + which + " that of the API server. " + meaning + " Correct the clock that is wrong, for example with NTP.",
	}
}

// ReportClock reports that the clocks differ, once all else is done.
func ReportClock(s state.State) steps.Step {
	if state.ClocksDiffer(s) {
		return ClockSkew(s)
	}
	return nil
}

// untilClocksAgree holds a step that issues certificates while the clocks differ. A cluster that runs is not kept from its repair.
func untilClocksAgree(s state.State, step steps.Step) steps.Step {
	if step == nil || !awaitsClocks(s, step) {
		return step
	}
	if s.Certificates.Missing || !s.Formed() {
		return ClockSkew(s)
	}
	return nil
}

// awaitsClocks reports whether a step that issues certificates waits until the clocks agree. They may differ for ever, and certificates
// must not expire meanwhile.
func awaitsClocks(s state.State, step steps.Step) bool {
	return state.ClocksDiffer(s) && AsksClock(s, step) && !s.Certificates.Urgent
}
