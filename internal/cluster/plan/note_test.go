package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// etcd refuses all writes, and only a person can help. The cluster was Ready, because a rule before had something to report.
func TestNoReportHidesWhatAPersonMustDo(t *testing.T) {
	full := []change{formed, members(3), full, database(100, 95), onNoSpace(v1beta2.NoSpaceWait, 0)}
	voter := []change{formed, members(3), guest()}
	grows := func(s *state.State) {
		holds(16, 8)(&s.Members[0])
		volumesOf("16Gi")(s)
		s.Now = s.Now.Add(365 * 24 * time.Hour)
	}
	for what, stuck := range map[string][]change{"a used-up quota": full, "a foreign voter": voter} {
		for name, c := range map[string]change{
			"nothing else": func(*state.State) {},
			"a NetworkPolicy that the operator may not write": limited(state.NetworkPolicy{Unmanaged: true}),
			"a NetworkPolicy that a finalizer keeps":          unlimited(state.NetworkPolicy{Exists: true, Current: true, Leaving: true}),
			"an issuer that is not allowed any more":          func(s *state.State) { s.Certificates.IssuerRefused, s.Certificates.Requested = "x", true },
			"a peer certificate without the name":             func(s *state.State) { staticTLS(s); lacksName(s) },
			"clients that still load their certificate":       func(s *state.State) { managed(s); ofCluster(s); stillLoad(s); unchecked(s) },
			"a volume that grows for a year":                  grows,
		} {
			s := stateWith(append(append([]change{}, stuck...), c)...)
			step, rule := Choose(s)
			status := NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
			if meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionReady) || !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionStalled) {
				t.Errorf("%s, and %s: rule %s: %T %s", what, name, rule, step, steps.Describe(s, step).Message)
			}
		}
	}
}

// unchecked: all Secrets and Pods are as they should be.
func unchecked(s *state.State) {
	s.Certificates.CA.Exists = true
	for i := range s.Members {
		s.Members[i].SecurePeer = true
	}
}

// What is reported beside it must not be forgotten.
func TestAReportIsAddedToAWaitAfterIt(t *testing.T) {
	s := stateWith(formed, members(3), guest(), limited(state.NetworkPolicy{Unmanaged: true}))
	step, _ := Choose(s)
	report := services.ReportNetworkPolicy(s).(steps.Advice).Message
	if wait, is := step.(steps.Wait); !is || !strings.HasSuffix(wait.Message, " Meanwhile: "+report) {
		t.Errorf("%+v does not end with %q", step, report)
	}
}

// Another party reverses what the operator writes, and a person must exempt the object. Without a report beside it, the status is Stalled.
func TestNoReportHidesAChangeThatAnotherPartyReverses(t *testing.T) {
	for what, broken := range map[string]change{
		"the client Service selects other Pods": func(s *state.State) { s.Services.ClientCurrent = false },
		"no member is in the client Service":    func(s *state.State) { s.Members[1].InService = false },
		"the PodDisruptionBudget leaves 0 of 3": budgeted(budgetOf(0)),
	} {
		for name, c := range map[string]change{
			"nothing else": func(*state.State) {},
			"a NetworkPolicy that the operator may not write": limited(state.NetworkPolicy{Unmanaged: true}),
			"clients that still load their certificate":       func(s *state.State) { managed(s); ofCluster(s); stillLoad(s); unchecked(s) },
		} {
			s := stateWith(formed, members(3), budgeted(budgetOf(2)), c, broken)
			first, by := Choose(s)
			if !steps.Acts(first) {
				t.Fatalf("%s, %s: rule %s: %T %s", what, name, by, first, steps.Describe(s, first).Message)
			}
			s.Held = []state.Held{{Step: steps.RepeatKey(s, first), Times: 3, Until: s.Now.Add(time.Minute)}}
			step, _ := Choose(s)
			status := NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
			ready, stalled := meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionReady), meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionStalled)
			if ready || !stalled {
				t.Errorf("%s, and %s: Ready=%t, Stalled=%t", what, name, ready, stalled)
			}
		}
	}
}

// A user reads since when a cluster has not been Ready. A time that changes without a change of the condition also writes the status in each pass.
func TestAConditionKeepsTheTimeOfItsLastChange(t *testing.T) {
	of := func(is metav1.ConditionStatus, at time.Time) v1beta2.EtcdClusterStatus {
		return v1beta2.EtcdClusterStatus{Conditions: []metav1.Condition{{Type: v1beta2.ConditionReady, Status: is, LastTransitionTime: metav1.NewTime(at)}}}
	}
	before := of(metav1.ConditionFalse, noon)
	for is, want := range map[metav1.ConditionStatus]time.Time{metav1.ConditionFalse: noon, metav1.ConditionTrue: noon.Add(time.Hour)} {
		status := of(is, noon.Add(time.Hour))
		KeepTransitions(&status, before)
		if at := status.Conditions[0].LastTransitionTime.Time; !at.Equal(want) {
			t.Errorf("%s: the last transition was at %s, want %s", is, at, want)
		}
	}
}

// The API server refuses the object of an earlier step. What the status said before must still be there, and be separated from the refusal.
func TestARefusedObjectHidesNoEarlierReport(t *testing.T) {
	for before, want := range map[string]string{"": "it is refused", "Member a is starting.": "it is refused. Meanwhile: Member a is starting."} {
		status := v1beta2.EtcdClusterStatus{Reason: before}
		NoteRefused(&status, "it is refused", v1beta2.ReasonReconcileError, 1, noon)
		if status.Reason != want || meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionStalled) {
			t.Errorf("%q: the status says %q, conditions %+v", before, status.Reason, status.Conditions)
		}
	}
	var status v1beta2.EtcdClusterStatus
	NoteRefused(&status, "it is refused", v1beta2.ReasonPodFailing, 1, noon)
	if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionStalled) {
		t.Errorf("a person must correct it, and the conditions are %+v", status.Conditions)
	}
}

// The API server refuses to delete the object of a Pod that has stopped. A user who reads that of a Pod that is not there would look for a cause that is none.
func TestARefusedDeletionIsReportedWhileTheStoppedPodIsThere(t *testing.T) {
	for pod, reported := range map[state.PodState]bool{state.PodEnded: true, state.PodDeleting: true, state.PodRunning: false, state.PodNone: false} {
		s := stateWith(formed, members(3))
		s.Members[1].Pod = pod
		s.Held = []state.Held{{Pod: s.Members[1].Name, Refused: "a webhook forbids it", Until: noon.Add(time.Minute)}}
		if said := RefusedStop(s); strings.Contains(said, "a webhook forbids it") != reported {
			t.Errorf("%v: %q", pod, said)
		}
	}
}
