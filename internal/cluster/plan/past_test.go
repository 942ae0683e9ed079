package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// waitsForNodes is a new member whose Pod no node takes.
func waitsForNodes(m *state.Member) {
	ahead(m)
	m.Pod, m.PodReason, m.PodMessage, m.UnreadySince = state.PodBlocked, v1beta2.ReasonPodUnschedulable, "0/3 nodes are available", noon.Add(-time.Hour)
}

// wrongPassword is a seed that serves, with the users of its snapshot.
var wrongPassword = aSeed(serving, func(m *state.Member) { m.Serving, m.Refusal, m.Unanswered = false, etcd.RefusedPassword, "" })

// nodeLost is a member on a node that was lost long ago.
var nodeLost = with(1, pod(state.PodDeleting), unreadyFor(24*time.Hour), func(m *state.Member) { m.NodeSilent = true })

// dueRepairs are states in which a repair is due, and the rule that begins it.
var dueRepairs = []struct {
	what, rule string
	calls      change
}{
	{"a certificate expires", "renewCertificates", func(s *state.State) { managed(s); due(&s.Certificates) }},
	{"a member is corrupt", "corruptAlarm", func(s *state.State) { accused(3)(s); hashing("a", "a", "b")(s) }},
	{"the data of a member is lost", "replaceLost", with(1, gone)},
	{"the node of a member is lost", "replaceDead", nodeLost},
	{"the space quota is used up", "reclaimSpace", func(s *state.State) { database(100*mi, 90*mi)(s); full(s) }},
}

// Each rule may wait, for days if it waits for a person. That must not keep the operator from repairs, unless waitHolds says why.
func TestNoWaitHidesARepairWithoutAReason(t *testing.T) {
	all := allRules()
	for _, repair := range dueRepairs {
		s := stateWith(formed, members(3), repair.calls)
		want, by := Choose(s)
		if by != repair.rule || !steps.Acts(want) {
			t.Fatalf("%s: rule %q returns %T %+v, want a step of %s", repair.what, by, want, want, repair.rule)
		}
		for i, r := range all {
			if r.Name == repair.rule {
				break // the rules after it are not asked
			}
			for _, stalled := range []bool{false, true} {
				planted := slices.Clone(all)
				planted[i].Decide = func(state.State) steps.Step {
					return steps.Wait{Reason: "Planted", Message: "It waits.", Stalled: stalled}
				}
				step := first([]group{{Rules: planted}}, s, func(string, steps.Step) bool { return false }).step
				_, waits := step.(steps.Wait)
				h, listed := waitHolds[r.Name]
				excused := listed && len(h.why) > 20 && h.reach(s, steps.Wait{Stalled: stalled}) < needed[repair.rule]
				if waits && !excused {
					t.Errorf("%s: nothing is done while rule %s waits (stalled: %t), and waitHolds has no reason for that", repair.what, r.Name, stalled)
				}
			}
		}
	}
}

func TestEachRuleThatHoldsUpRepairsExistsAndHasAReason(t *testing.T) {
	names := RuleNames()
	for rule, h := range waitHolds {
		if !slices.Contains(names, rule) || len(h.why) < 20 {
			t.Errorf("rule %q has the reason %q", rule, h.why)
		}
	}
}

func TestRepairsGoOnWhile(t *testing.T) {
	sidecar := with(1, func(m *state.Member) {
		m.PodReady, m.Beside, m.BesideSince, m.UnreadySince = false, "container proxy is not ready", noon.Add(-time.Hour), noon.Add(-time.Hour)
	})
	noSpace := func(s *state.State) { database(100*mi, 90*mi)(s); full(s) }
	emptied := func(s *state.State) { s.Spec.Hibernate = true }
	for name, test := range map[string]struct {
		changes []change
		want    steps.Step
	}{
		"new members find no node, and the space quota is used up":          {[]change{members(3), size(5), noSpace, with(3, waitsForNodes), with(4, waitsForNodes)}, steps.CompactHistory{}},
		"there is no StorageClass, and the space quota is used up":          {[]change{members(3), size(5), noSpace, noClass}, steps.CompactHistory{}},
		"a container beside etcd is not ready, and the space quota is used": {[]change{members(3), noSpace, sidecar}, steps.CompactHistory{}},
		"a Secret is missing, and the space quota is used up":               {[]change{members(3), noSpace, func(s *state.State) { s.SecretProblem = "Secret tls is not there." }}, steps.CompactHistory{}},
		"a restore asks for a password, and a node is lost":                 {[]change{members(3), restored(v1beta2.RestoreSeeding), asked, wrongPassword, nodeLost}, steps.RemoveMember{}},
		"a restore asks for a password, and the space quota is used up":     {[]change{members(3), noSpace, restored(v1beta2.RestoreSeeding), asked, wrongPassword}, steps.CompactHistory{}},
		"a restore asks for a password, and members trust an old CA":        {[]change{members(3), restored(v1beta2.RestoreSeeding), asked, wrongPassword, func(s *state.State) { s.Certificates.Trust = "new" }}, steps.DeletePod{}},
		"a hibernation is refused, and the data of a member is lost":        {[]change{members(3), policy(v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}), emptied, with(1, gone)}, steps.RemoveMember{}},
	} {
		t.Run(name, func(t *testing.T) {
			step := Plan(stateWith(append([]change{formed}, test.changes...)...))
			if fmt.Sprintf("%T", step) != fmt.Sprintf("%T", test.want) {
				t.Errorf("the operator returns %T %+v, want %T", step, step, test.want)
			}
		})
	}
}

// While a member is missing, a switch is not what a person looks for first. The message has both.
func TestTheStatusReportsTheRestoreAndTheMemberThatIsDown(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, wrongPassword, with(1, blockedBy(v1beta2.ReasonImageUnavailable)))
	wait, is := Plan(s).(steps.Wait)
	if !is || !wait.Stalled || !strings.Contains(wait.Message, "Authentication is on in the snapshot") || !strings.Contains(wait.Message, "Meanwhile: Member "+nameOf(1)) {
		t.Errorf("the status says %+v", Plan(s))
	}
}

// Before the switch, members are repaired. During it, they stop.
func TestASwitchIsNotHeldUpByRepairs(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked, aSeed(), with(1, gone))
	if step := Plan(s); steps.Acts(step) && fmt.Sprintf("%T", step) == "plan.RemoveMember" {
		t.Errorf("the operator returns %+v while it switches to a seed", step)
	}
}
