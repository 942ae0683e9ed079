package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// guarded: the member reaches a quorum, and etcd's authentication refuses the operator.
func guarded(m *state.Member) {
	m.Answers, m.PodReady, m.InService, m.Guarded, m.Refusal = false, true, true, true, etcd.RefusedUnknown
}

// alone: the i-th member serves alone with --force-new-cluster.
func alone(i int) change {
	return func(s *state.State) {
		s.MembershipKnown = true
		m := &s.Members[i]
		voter(m)
		m.Start, m.Leader, m.Revision = state.StartForce, true, 17
	}
}

var lostTwo = stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting)

func TestPlanRecoveryChooses(t *testing.T) {
	const two = "Quorum is lost: 2 of 5 voters have their data, and 3 are needed. etcd accepts no writes."
	const compared = " The operator must compare it with the others first. To continue without this member, delete its PersistentVolumeClaim."
	five := func(changes ...change) state.State {
		s := stateWith(formed, members(5), size(5), noQuorum, with(2, gone), with(3, gone), with(4, gone), consenting)
		for _, c := range changes {
			c(&s)
		}
		return s
	}
	changed := func(s state.State, changes ...change) state.State {
		s.Members = append([]state.Member(nil), s.Members...)
		for _, c := range changes {
			c(&s)
		}
		return s
	}
	planTests{
		"continues from the only survivor": {
			changed(lostTwo, with(0, knows(42, 3))), steps.BeginRecovery{Member: nameOf(0), RaftIndex: 42, RaftTerm: 3},
		},
		"chooses the survivor with the highest Raft index": {
			five(with(0, knows(41, 3)), with(1, knows(42, 3))), steps.BeginRecovery{Member: nameOf(1), RaftIndex: 42, RaftTerm: 3},
		},
		"prefers a higher Raft index to a later term": {
			five(with(0, knows(42, 3)), with(1, knows(41, 9))), steps.BeginRecovery{Member: nameOf(0), RaftIndex: 42, RaftTerm: 3},
		},
		"chooses the survivor with the later term if the Raft indexes are equal": {
			five(with(0, knows(42, 3)), with(1, knows(42, 4))), steps.BeginRecovery{Member: nameOf(1), RaftIndex: 42, RaftTerm: 4},
		},
		"chooses no survivor until all members that hold data have answered": {
			five(with(0, knows(42, 3))),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: two + " Member " + nameOf(1) + " holds data, but has not answered yet." + compared, Requeue: recovery.RequeueUnasked},
		},
		"uses the Raft index in the metrics of a member that has not answered for 1 min": {
			five(with(0, knows(41, 3)), with(1, silent, unreadyFor(time.Minute), func(m *state.Member) { m.RaftIndex = 42 })),
			steps.BeginRecovery{Member: nameOf(1), RaftIndex: 42},
		},
		"ignores the Raft index of a member that started 1 s ago: it may still read its data": {
			five(with(0, knows(41, 3)), with(1, silent, unreadyFor(time.Second), func(m *state.Member) { m.RaftIndex = 2 })),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: two + " Member " + nameOf(1) + " holds data, but has not answered yet." + compared, Requeue: recovery.RequeueUnasked},
		},
		"reports a survivor whose Pod cannot run, so that the operator cannot compare it": {
			five(with(0, knows(42, 3)), with(1, blockedBy(v1beta2.ReasonPodUnschedulable))),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: two + " Member " + nameOf(1) + " holds data, but does not run: why." + compared, Stalled: true},
		},
		"creates the Pod of a survivor that has none": {
			five(with(0, knows(42, 3)), with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"stops the Pod of a lost member before it chooses the survivor": {
			changed(lostTwo, with(0, knows(42, 3)), with(1, func(m *state.Member) { m.Pod = state.PodStarting })),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRecovering, Message: "only the survivor may run while it restarts with --force-new-cluster"},
		},
		"asks a person if a node does not confirm that the Pod of a lost member has stopped": {
			changed(lostTwo, with(0, knows(42, 3)), with(1, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(-time.Minute) })),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(1)), Stalled: true},
		},
		"asks a person to save the data of a survivor whose volume is being deleted": {
			changed(lostTwo, with(0, knows(42, 3), volume(state.VolumeDeleting))),
			steps.Wait{
				Reason: v1beta2.ReasonRecovering,
				Message: "Only the Pod of survivor " + nameOf(0) + " still has its data, because its volume is being deleted. The data is lost when the Pod ends. " +
					"Save the data first with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot. To give the data up, delete the Pod.",
				Stalled: true,
			},
		},
		"asks for an EtcdRestore if no voter has data": {
			stateWith(formed, members(3), noQuorum, with(0, gone), with(1, gone), with(2, gone), consenting),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 0 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"forces no new cluster if enough voters have data, even if they are down for 1 h": {
			stateWith(formed, members(3), noQuorum, with(0, unreadyFor(time.Hour)), with(1, unreadyFor(time.Hour)), with(2, gone), consenting),
			steps.Wait{
				Reason: v1beta2.ReasonQuorumLost,
				Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + nameOf(0) + ", " + nameOf(1) +
					". The operator removes nothing. Recover these members. If some of them are lost for good, delete their PersistentVolumeClaims. To continue from a snapshot, apply an EtcdRestore.",
				Stalled: true,
			},
		},
		"starts the restore instead if there is an EtcdRestore": {
			changed(lostTwo, with(0, knows(42, 3)), asked), begins("back", "uid-back"),
		},
	}.run(t)
}

func TestPlanRecoveryForces(t *testing.T) {
	lost := func(changes ...change) state.State {
		return stateWith(append([]change{formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting, forcing(0)}, changes...)...)
	}
	again := steps.DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonRecovering, Message: "it must start once with --force-new-cluster"}
	without := steps.DeletePod{Name: nameOf(0), Reason: v1beta2.ReasonRecovering, Message: "it must start without --force-new-cluster"}
	restarting := steps.Wait{Reason: v1beta2.ReasonRecovering, Message: "Survivor " + nameOf(0) + " is restarting with --force-new-cluster."}
	planTests{
		"stops the other survivors first": {
			lost(with(1, onVolume)), steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRecovering, Message: "only the survivor may run while it restarts with --force-new-cluster"},
		},
		"waits until the other survivors have stopped": {
			lost(with(1, onVolume, pod(state.PodDeleting))), steps.Wait{Reason: v1beta2.ReasonRecovering, Message: "Member " + nameOf(1) + " is stopping. Then the survivor continues alone."},
		},
		"asks a person if a node does not confirm that another survivor has stopped": {
			lost(with(1, onVolume, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(-time.Minute) })),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(1)), Stalled: true},
		},
		"does not restart the other survivors": {
			lost(with(1, volume(state.VolumePresent))), again,
		},
		"stops the survivor to restart it with the flag": {
			lost(), again,
		},
		"waits until the survivor has stopped": {
			lost(with(0, pod(state.PodDeleting))), steps.Wait{Reason: v1beta2.ReasonRecovering, Message: "Survivor " + nameOf(0) + " is stopping. After that, it must start once with --force-new-cluster."},
		},
		"records the flag before it starts the survivor with it": {
			lost(with(0, withoutPod)), steps.RecordForcing{Member: nameOf(0)},
		},
		"starts the survivor with the flag after the flag is recorded": {
			lost(with(0, withoutPod), flagRecorded), steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartForce},
		},
		"waits until the survivor with the flag serves": {
			lost(with(0, forced)), restarting,
		},
		"recreates the survivor with a corrected image": {
			lost(with(0, forced, blockedBy(v1beta2.ReasonImageUnavailable), withImage("3.6.15"), func(m *state.Member) { m.Start = state.StartForce })), again,
		},
		"reports why the survivor does not start": {
			lost(with(0, blockedBy(v1beta2.ReasonPodFailing), forced)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Survivor " + nameOf(0) + " does not run: why. To give it up, delete its PersistentVolumeClaim. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"waits while the survivor serves, but the membership still has other members": {
			lost(alone(0), with(1, func(m *state.Member) { m.InMembership = true })), restarting,
		},
		"continues if the cluster was still growing from a restore": {
			lost(func(s *state.State) {
				s.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", Step: v1beta2.RestoreGrowing, Incarnation: 1}
			}, with(0, withoutPod), flagRecorded,
				func(s *state.State) { s.Services.ClientRestoreUID = "" }),
			steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartForce},
		},
		"records that the survivor serves alone": {
			lost(alone(0)), steps.RecordForced{Revision: 17},
		},
		"is cancelled if the consent is withdrawn before the flag is recorded": {
			lost(grace(time.Minute)), steps.CancelRecovery{Message: "spec.recovery.quorumLoss no longer allows it. Nothing was changed."},
		},
		"is cancelled if the consent to continue without a foreign voter is withdrawn in time": {
			lost(guest()), steps.CancelRecovery{Message: "The annotations do not let it continue any more without members that the operator did not add: " + guestLabel + ". They may have newer data. Nothing was changed."},
		},
		"continues without a foreign voter if an annotation consents to that": {
			lost(guest(), mayGo), again,
		},
		"continues if the consent about a foreign voter is withdrawn after the flag is recorded": {
			lost(guest(), flagRecorded, with(0, withoutPod)), steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartForce},
		},
		"continues if the consent is withdrawn after the survivor serves alone": {
			lost(alone(0), grace(time.Minute)), steps.RecordForced{Revision: 17},
		},
		"asks the survivor if the consent is withdrawn after the flag is recorded, and no Pod has it": {
			lost(flagRecorded, with(0, withoutPod), grace(time.Minute)), steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin},
		},
		"waits for permission if the quorum that refuses the operator may be the survivor alone": {
			lost(flagRecorded, with(0, guarded)), waits.WaitForPermission(lost(with(0, guarded))),
		},
		"is cancelled if only another member reaches a quorum": {
			lost(flagRecorded, with(1, onVolume, guarded)), steps.CancelRecovery{Message: "A quorum answers. Survivor " + nameOf(0) + " may have run with --force-new-cluster."},
		},
		"is cancelled if a quorum refuses the operator before the flag is recorded": {
			lost(with(0, guarded)), steps.CancelRecovery{Message: "A quorum answers. Nothing was changed."},
		},
		"does not report that nothing was changed if the flag may have been used": {
			lost(flagRecorded, with(0, gone)), steps.CancelRecovery{Message: "The volume of survivor " + nameOf(0) + " does not exist. Survivor " + nameOf(0) + " may have run with --force-new-cluster."},
		},
		"records that the survivor serves if a foreign learner was added to it": {
			lost(flagRecorded, alone(0), with(0, voter), func(s *state.State) {
				s.Recovery.Voters = []string{nameOf(0), nameOf(1), nameOf(2)}
				s.ForeignMembers = []state.ForeignMember{{ID: 9, Name: "guest", Learner: true}}
			}), steps.RecordForced{Revision: 17},
		},
		"is cancelled if the survivor is lost": {
			lost(with(0, gone)), steps.CancelRecovery{Message: "The volume of survivor " + nameOf(0) + " does not exist. Nothing was changed."},
		},
		"asks a person about a survivor that cannot start and whose volume is being deleted": {
			lost(with(0, blockedBy(v1beta2.ReasonPodFailing), forced, volume(state.VolumeDeleting))),
			steps.Wait{
				Reason: v1beta2.ReasonRecovering,
				Message: "Only the Pod of survivor " + nameOf(0) + " still has its data, because its volume is being deleted. The data is lost when the Pod ends. " +
					"Save the data first with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot. To give the data up, delete the Pod.",
				Stalled: true,
			},
		},
		"removes the flag before it starts an EtcdRestore": {
			lost(asked, with(0, forced)), without,
		},
		"starts an EtcdRestore instead of the recovery": {
			lost(asked), begins("back", "uid-back"),
		},
		"removes the flag before the cluster grows": {
			lost(alone(0), growing), without,
		},
		"removes the flag if the status was lost": {
			lost(alone(0), lostStatus), without,
		},
		"removes the flag of a member that does not start if the status was lost": {
			lost(with(0, blockedBy(v1beta2.ReasonPodFailing), forced), lostStatus), without,
		},
		"waits until the survivor with the flag has stopped": {
			lost(with(0, pod(state.PodDeleting), forced), growing),
			steps.Wait{Reason: v1beta2.ReasonRecovering, Message: "Member " + nameOf(0) + " is restarting without --force-new-cluster."},
		},
		"restarts the survivor without the flag": {
			lost(with(0, withoutPod), growing), steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin},
		},
		"grows by learners": {
			lost(alone(0), growing, with(0, voter)), create(3),
		},
		"adds no member with the flag to the client Service": {
			lost(alone(0), with(0, func(m *state.Member) { m.InService = false })), steps.RecordForced{Revision: 17},
		},
		"deletes the volumes of lost members when the cluster has its size": {
			lost(alone(0), growing, with(0, voter), size(1), with(1, volume(state.VolumePresent)), keeping(0)), steps.DeleteVolume{Name: nameOf(1), Reason: v1beta2.ReasonScaling},
		},
		"does not stop the survivor to force it if its next Pod would be without its volume": {
			lost(ontoPods), recovery.KeepsSurvivor(state.Member{Name: nameOf(0)}),
		},
		"does not stop it to remove the flag if its next Pod would be without its volume": {
			lost(alone(0), growing, ontoPods), recovery.KeepsSurvivor(state.Member{Name: nameOf(0)}),
		},
		"is complete when the survivor is healthy and the cluster has its size": {
			lost(alone(0), growing, with(0, voter), size(1)), steps.CompleteRecovery{},
		},
	}.run(t)
}

// growing: the survivor has served alone, and the cluster grows from it.
func growing(s *state.State) { s.Recovery.Step = v1beta2.RecoveryGrowing }

func TestARecoveryIsToldInTheStatus(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting, with(0, knows(42, 3)))
	status := report(s, v1beta2.EtcdClusterStatus{})
	if got := status.Recovery; got == nil || got.Step != v1beta2.RecoveryForcing || got.Member != nameOf(0) || got.RaftIndex != 42 || got.RaftTerm != 3 ||
		!cmp.Equal(got.Voters, s.KnownVoters) || !got.StartedAt.Time.Equal(noon) {
		t.Errorf("begun: %+v", got)
	}
	s.Recovery = status.Recovery
	for i := range s.Members {
		gone(&s.Members[i])
	}
	alone(0)(&s)
	status = report(s, status)
	if got := status.Recovery; got.Step != v1beta2.RecoveryGrowing || got.Revision != 17 || got.Member != nameOf(0) || len(got.Voters) != 3 {
		t.Errorf("forced: %+v", got)
	}
	s.Recovery = status.Recovery
	s.Members, s.Spec.Size = s.Members[:1], 1
	voter(&s.Members[0])
	s.Budget = budgetOf(state.MinAvailable(s))
	if got := report(s, status).Recovery; got.Step != v1beta2.RecoveryComplete || got.Revision != 17 {
		t.Errorf("complete: %+v", got)
	}
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "example-another"}
	if got := report(s, status).Recovery; got != nil {
		t.Errorf("called off: %+v", got)
	}
}

// backup-operator may not run between a recovery and a restore that fails. Without the record it would continue the history that was lost.
func TestTheLastRecoveryIsKeptByARestoreAndByARecoveryThatIsCancelled(t *testing.T) {
	started := metav1.NewTime(noon)
	in := func(step v1beta2.RecoveryStep, member string) v1beta2.EtcdClusterStatus {
		return v1beta2.EtcdClusterStatus{
			Recovery: &v1beta2.ClusterRecoveryStatus{Step: step, Member: member, StartedAt: &started}, LastRecovery: &v1beta2.PastRecovery{Member: "earlier"},
		}
	}
	withFlag := func(s v1beta2.EtcdClusterStatus) v1beta2.EtcdClusterStatus {
		s.Recovery.ForcedAt = &started
		return s
	}
	followed := func(s v1beta2.EtcdClusterStatus) v1beta2.EtcdClusterStatus {
		s.LastRecovery = &v1beta2.PastRecovery{Member: "n", StartedAt: metav1.NewTime(noon.Add(time.Hour))}
		return s
	}
	restore := steps.BeginRestore{}
	for name, test := range map[string]struct {
		status v1beta2.EtcdClusterStatus
		step   steps.Step
		want   string
	}{
		"a restore after a recovery":                                                 {in(v1beta2.RecoveryComplete, "m"), restore, "m"},
		"a restore while the survivor is restarted":                                  {in(v1beta2.RecoveryForcing, "m"), restore, "m"},
		"a restore without a recovery before it":                                     {v1beta2.EtcdClusterStatus{LastRecovery: &v1beta2.PastRecovery{Member: "earlier"}}, restore, "earlier"},
		"a recovery whose survivor serves":                                           {in(v1beta2.RecoveryForcing, "m"), steps.RecordForced{}, "m"},
		"a second recovery, which may be cancelled":                                  {in(v1beta2.RecoveryComplete, "m"), steps.BeginRecovery{Member: "n"}, "m"},
		"a recovery that is cancelled after its survivor may have run with the flag": {withFlag(in(v1beta2.RecoveryForcing, "n")), steps.CancelRecovery{}, "n"},
		"a recovery that is cancelled before the flag is recorded":                   {in(v1beta2.RecoveryForcing, "n"), steps.CancelRecovery{}, "earlier"},
		"a restore after a recovery that was cancelled too late":                     {followed(in(v1beta2.RecoveryComplete, "m")), restore, "n"},
		"a second recovery after one that was cancelled too late":                    {followed(in(v1beta2.RecoveryComplete, "m")), steps.BeginRecovery{Member: "o"}, "n"},
	} {
		recordFacts(&test.status, state.State{Now: noon}, test.step)
		if got := test.status.LastRecovery; got == nil || got.Member != test.want {
			t.Errorf("%s: the last recovery is %+v, want that from %s", name, got, test.want)
		}
	}
}

// The operator deleted the volumes that the first recovery replaced at once instead of keeping them, because a second one was
// cancelled.
func TestARecoveryThatIsCancelledLeavesTheOneBeforeIt(t *testing.T) {
	s := stateWith(formed, members(3), forcing(0), growing, flagRecorded)
	s.Recovery.Voters, s.Recovery.Revision = []string{nameOf(0), nameOf(5)}, 17
	status := v1beta2.EtcdClusterStatus{Recovery: s.Recovery.DeepCopy()}
	recordFacts(&status, s, steps.BeginRecovery{Member: nameOf(1)})
	s.Recovery = status.Recovery.DeepCopy()
	recordFacts(&status, s, steps.CancelRecovery{})
	got := status.Recovery
	if got == nil || got.Step != v1beta2.RecoveryGrowing || got.Member != nameOf(0) || got.Revision != 17 || got.Earlier != nil {
		t.Fatalf("the status has %+v, want the recovery from %s", got, nameOf(0))
	}
	s.Recovery = got
	if !state.SetsAside(s, state.Member{Name: nameOf(5), Incarnation: 1}) {
		t.Error("the volume of a voter from before the first recovery is not set aside")
	}
}
