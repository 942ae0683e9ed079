package restore

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Quotas, policies and webhooks may refuse the Pod or the volume of a seed. The API server says so only when the operator
// creates the object, so no rule can see it: the answer takes the place of the step that creates the seed.

// MaxRefusal is how many characters of an answer of the API server a message quotes.
const MaxRefusal = 300

// IsSeed reports whether a member is the seed of a restore that has not switched to it.
func IsSeed(s state.State, name string) bool {
	if state.RestoreStep(s) != v1beta2.RestoreSeeding && !s.Switching() {
		return false
	}
	seed, _ := state.SeedMember(s)
	return seed.Name == name
}

// RefuseSeed returns what to do after Kubernetes has refused to create the seed: wait, and try again after retry, or give
// up. The status records since when it refuses, so that the time also ends if the operator restarts.
func RefuseSeed(s *state.State, why string, retry time.Duration) steps.Step {
	if at := s.Restore.SeedRefusedTime; at == nil || clock.Ahead(at.Time, state.Stamp(*s)) {
		s.Restore = s.Restore.DeepCopy()
		s.Restore.SeedRefusedTime = ptr.To(metav1.NewTime(state.Stamp(*s)).Rfc3339Copy())
	}
	return seedRefusal(*s, planning.Shorten(why, MaxRefusal), retry)
}

func seedRefusal(s state.State, why string, retry time.Duration) steps.Step {
	seed, _ := state.SeedMember(s)
	end := s.Restore.SeedRefusedTime.Add(SeedGrace)
	refused := "Kubernetes refuses the Pod or the volume of seed " + seed.Name
	clients, unchanged, stopped := "The members continue to serve.", " The operator removes the seed. The cluster was not changed.", false
	if s.Switching() {
		clients, unchanged, stopped = "The old members serve until the seed does.", OldContinue, oldStopped(s)
	}
	if stopped {
		clients = "The old members have stopped, so clients wait."
	}
	const correct = " Correct spec.pod of the EtcdCluster, or the quota or policy that the answer names."
	switch {
	case s.Switching() && OldMayContinue(s) && state.Cancelled(s):
		return steps.FailRestore{Message: planning.Sentence(state.NotRequested(s)+" "+refused+": ", why) + unchanged}
	case oldDataLost(s), isStandby(s), s.Switching() && !OldMayContinue(s):
		return steps.Wait{
			Reason: v1beta2.ReasonPodRefused, Stalled: true, Requeue: retry,
			Message: planning.Sentence(refused+": ", why) + " " + clients + correct + fmt.Sprintf(" The operator tries again every %s.", retry),
		}
	case !state.EarlierNow(s).Before(end):
		return steps.FailRestore{Message: planning.Sentence(fmt.Sprintf("%s for more than %s: ", refused, SeedGrace), why) + unchanged + correct + " Then create an EtcdRestore with another name."}
	}
	return steps.Wait{
		Reason: v1beta2.ReasonPodRefused, Stalled: true, Requeue: retry,
		Message: planning.Sentence(refused+": ", why) + " " + clients + correct +
			fmt.Sprintf(" The operator tries again every %s. The restore fails at %s. To end it before that, delete EtcdRestore %s.", retry, end.UTC().Format(time.RFC3339), s.Restore.Name),
	}
}

// oldStopped reports whether no Pod of an old member is left.
func oldStopped(s state.State) bool {
	return !slices.ContainsFunc(s.Members, func(m state.Member) bool { return m.Incarnation < s.Restore.Incarnation && m.Pod != state.PodNone })
}

// oldDataLost reports whether nothing is left of the data of a formed cluster that a restore replaces. The old members had it in
// their Pods, or had lost it before.
func oldDataLost(s state.State) bool {
	return s.Formed() && !slices.ContainsFunc(s.Members, func(m state.Member) bool { return m.Incarnation < s.Restore.Incarnation && s.HoldsData(m) })
}

// ForgetSeedRefusal drops the record when the seed has a Pod, or the restore has gone on.
func ForgetSeedRefusal(restore *v1beta2.ClusterRestoreStatus, s state.State) {
	if restore == nil || restore.SeedRefusedTime == nil {
		return
	}
	seed, _ := state.SeedOf(s, restore.Incarnation)
	if seed.Pod != state.PodNone || (restore.Step != v1beta2.RestoreSeeding && restore.Step != v1beta2.RestoreSwitching) {
		restore.SeedRefusedTime = nil
	}
}

// useAnotherName returns the advice for an EtcdRestore that failed or lost its status. It is empty for one that was deleted.
func useAnotherName(s state.State) string {
	if s.RestoreFailed || s.RestoreUnverified {
		return " Create an EtcdRestore with another name."
	}
	return ""
}

// saveBeforeRefusal takes the safety snapshot before a person is asked for the password of the snapshot: with that one in
// the Secret, the present members would refuse restore-operator.
func saveBeforeRefusal(s state.State, seed state.Member) steps.Step {
	if step := Unstoppable(s); step != nil {
		return step
	}
	if state.WantsExact(s) {
		return steps.FailRestore{Message: "The users and passwords of the snapshot are not those of the members, so the operator cannot reach both at once. So it cannot save the present data exactly. " +
			"The cluster was not changed. Create an EtcdRestore with another name and with safetySnapshot: Required."}
	}
	// One that is there is not renewed while a person corrects the Secret. The switch asks for its age.
	step := SafetySnapshot(s)
	_, fails := step.(steps.FailRestore)
	_, asks := step.(steps.AwaitSafetySnapshot)
	again := asks && s.Restore.SeedReadyTime != nil
	if fails || step != nil && s.Request.Saved == nil && !again {
		return step
	}
	return refusedSeed(s, seed)
}

// refusedSeed waits before a switch to a seed that the operator could not take care of: a snapshot contains the users and
// passwords of its cluster.
func refusedSeed(s state.State, seed state.Member) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true,
		Message: "Authentication is on in the snapshot, with the users and passwords of that time. " + state.WhyRefused(s, seed.Refusal) + " Clients are not switched to seed " + seed.Name + ", and the members continue to serve. " + state.HowToPermit(s, seed.Refusal) + " Or delete the EtcdRestore.",
	}
}
