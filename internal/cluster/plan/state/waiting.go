package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// firstAttempt is how long a Pod that failed twice in a row is left alone. The delay doubles up to LastAttempt.
	firstAttempt = time.Second
	// LastAttempt is the longest delay.
	LastAttempt = 5 * time.Minute
	// StalledAttempts is how many failures in a row are for a person to look at.
	StalledAttempts = 3
)

// PodFailure is what is recorded of a member's Pods that failed in a row.
func PodFailure(s State, member string) v1beta2.PodFailure {
	for _, f := range s.PodFailures {
		if f.Name == member {
			return f
		}
	}
	return v1beta2.PodFailure{Name: member}
}

// NextAttempt returns when a Pod that failed may be recreated. It is in the past if that is due.
func NextAttempt(s State, m Member) time.Time {
	f := PodFailure(s, m.Name)
	last := clock.Done(f.LastTime.Time, s.Now)
	if f.Count <= 0 || last.IsZero() {
		return time.Time{}
	}
	delay := LastAttempt
	if doublings := f.Count - 1; doublings < 9 {
		delay = min(firstAttempt<<doublings, LastAttempt)
	}
	return last.Add(delay)
}

// BacksOff reports whether a Pod that failed is left alone for now. A Pod that is not what the spec asks for is not: the
// correction may be in the spec.
func BacksOff(s State, m Member) bool {
	return m.Pod == PodEnded && s.Now.Before(NextAttempt(s, m)) && m.PodImage == s.ImageFor(m.Incarnation) && !m.Outdated
}

// A Pod that has stopped holds up only its own member. If the API server refuses to delete its object, the operator does all
// else that it can, and tries the deletion again after a pause.

// FirstRefusal is the pause after the first refusal. It doubles up to LastRefusal.
const FirstRefusal = 10 * time.Second

// LastRefusal is the longest of these pauses.
const LastRefusal = 5 * time.Minute

// StopRefused reports whether the API server refused to delete the object of a member's stopped Pod.
func StopRefused(s State, member string) bool {
	return slices.ContainsFunc(s.Held, func(h Held) bool { return h.Pod == member && h.Refused != "" })
}

// RequeueSoon follows a step that was carried out. If the cache has not seen it, the next pass finds out, or carries out the same step
// again and waits longer.
const RequeueSoon = 20 * time.Millisecond

// RequeueStarting is the interval while members start, which no watch reports.
const RequeueStarting = 500 * time.Millisecond

// RequeueStalled is the interval of a cluster that waits for a person. What the person does mostly comes with a
// watch event.
const RequeueStalled = 30 * time.Second

// RequeueSettled is the interval of a cluster that is as its spec asks, or that waits for a person.
const RequeueSettled = 10 * time.Second

// StalledRequeue returns when to look again at a cluster that waits for a person: every 30 s, because watches report what
// happens to its objects, and when the time of a member that does not serve ends, because no watch reports that.
func StalledRequeue(s State) time.Duration {
	next := RequeueStalled
	for _, m := range s.Members {
		if m.Pod == PodNone || m.UnreadySince.IsZero() {
			continue
		}
		for _, grace := range []time.Duration{s.Spec.MemberReplacementGrace(), RecreateGrace, StartGrace} {
			since := Later(m.UnreadySince.Add(grace), m.FailingSince.Add(shortGrace(s, grace)))
			if left := since.Sub(s.Now); left >= 0 {
				next = min(next, left+RequeueStarting)
			}
		}
	}
	return next
}

// goneGrace is how long a Pod may outlive the end of its grace period before a person is asked.
const goneGrace = 30 * time.Second

// HowToEnd says how a person ends the Pods of members that do not stop. A deletion with --force removes no finalizer, and without it the
// object stays.
func HowToEnd(members ...Member) string {
	node, pod, kept := "the node is", "the Pod", []string{}
	if len(members) > 1 {
		node, pod = "these nodes are", "the Pods"
	}
	for _, m := range members {
		if m.Held {
			kept = append(kept, m.Name+": "+cmp.Or(m.Finalizers, "unknown"))
		}
	}
	advice := "Make sure that " + node + " off. Then delete " + pod + " with --force --grace-period=0."
	if len(kept) > 0 {
		advice += " Finalizers keep the objects of these Pods, so remove them, too: " + strings.Join(kept, "; ") + "."
	}
	return advice
}

// Overdue says whether a Pod exists for longer after its grace period than goneGrace.
func Overdue(s State, m Member) bool {
	return m.Pod == PodDeleting && !m.GoneBy.IsZero() && s.Now.Sub(m.GoneBy) > goneGrace
}

// WaitLimit is how long the operator waits for the same thing before it reports that a person must look.
const WaitLimit = 15 * time.Minute

// SlowWaitLimit is that limit for work that takes long with a large database: to verify a snapshot, or to restore it.
const SlowWaitLimit = 30 * time.Minute

// FirstWords are those of a message before its first detail, without numbers and times.
func FirstWords(message string) string {
	words := strings.Fields(message)
	for i, word := range words {
		if strings.HasPrefix(word, "(") {
			words = words[:i]
			break
		}
		if bare := strings.TrimRight(word, ".:,;"); bare != word {
			words = append(words[:i:i], bare)
			break
		}
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }), " ")
}

// Since returns what the operator waits for, and since when. The simulation compares worlds by it.
func (w *Waiting) Since() map[WaitKey]time.Time { return maps.Clone(w.since) }

// Saw records the waits of a pass. A wait that was not among them is over.
func (w *Waiting) Saw(waits []WaitKey, now time.Time) {
	since := make(map[WaitKey]time.Time, len(waits))
	for _, key := range waits {
		since[key] = now
		if before, known := w.since[key]; known && before.Before(now) {
			since[key] = before
		}
	}
	w.since = since
}

// Lasted returns since when the operator waits for something, and for how long. Both are 0 if it does not.
func Lasted(s State, key WaitKey) (since time.Time, d time.Duration) {
	since, waits := s.Waiting.since[key]
	if !waits {
		return time.Time{}, 0
	}
	return since, s.Now.Sub(since)
}

// Fencing describes a change of the fence of spec.readOnly, or of one of a restore.
func Fencing(s State, id etcd.ID, bySpec, byRestore string) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonRestoring, Message: byRestore, Requeue: RequeueSoon}
	if id == ReadOnlyFence(s) {
		d.Reason, d.Message = v1beta2.ReasonReadOnly, bySpec
	}
	return d
}
