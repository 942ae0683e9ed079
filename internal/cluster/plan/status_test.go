package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// report returns the next status of a cluster, as Plan and NewStatus compute it.
func report(s state.State, before v1beta2.EtcdClusterStatus) v1beta2.EtcdClusterStatus {
	return NewStatus(s, Plan(s), nil, before, 7)
}

// words returns the status and the reason of each condition, by its type.
func words(status v1beta2.EtcdClusterStatus) map[string]string {
	said := map[string]string{}
	for _, c := range status.Conditions {
		said[c.Type] = string(c.Status) + " " + c.Reason
	}
	return said
}

func TestConditions(t *testing.T) {
	broken := errors.New("the API server does not answer")
	tests := map[string]struct {
		state state.State
		err   error
		want  map[string]string
		phase v1beta2.ClusterPhase
	}{
		"a cluster that is as its spec asks": {
			state: stateWith(formed, members(3)), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "True Ready", "Available": "True Ready", "Progressing": "False Ready", "Degraded": "False Ready", "Stalled": "False Ready"},
		},
		"a cluster that is being formed": {
			state: stateWith(), phase: v1beta2.ClusterPhaseCreating,
			want: map[string]string{"Ready": "False Creating", "Available": "False Creating", "Progressing": "True Creating", "Degraded": "False Ready", "Stalled": "False Creating"},
		},
		"a cluster that cannot form without a default StorageClass": {
			state: stateWith(noClass), phase: v1beta2.ClusterPhaseFailed,
			want: map[string]string{"Ready": "False NoStorageClass", "Available": "False NoStorageClass", "Progressing": "False NoStorageClass", "Degraded": "False Ready", "Stalled": "True NoStorageClass"},
		},
		"a member is down": {
			state: stateWith(formed, members(3), with(1, pod(state.PodStarting))), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False Settling", "Available": "True Ready", "Progressing": "True Settling", "Degraded": "True MemberDown", "Stalled": "False Settling"},
		},
		"quorum is lost": {
			state: stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone)), phase: v1beta2.ClusterPhaseFailed,
			want: map[string]string{"Ready": "False QuorumLost", "Available": "False QuorumLost", "Progressing": "False QuorumLost", "Degraded": "True MemberDown", "Stalled": "True QuorumLost"},
		},
		"a cluster that grows": {
			state: stateWith(formed, members(3), size(5)), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False Scaling", "Available": "True Ready", "Progressing": "True Scaling", "Degraded": "True MemberDown", "Stalled": "False Scaling"},
		},
		"a cluster that is paused": {
			state: stateWith(formed, members(3), func(s *state.State) { s.Spec.Paused = true }), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False Paused", "Available": "True Ready", "Progressing": "False Paused", "Degraded": "False Ready", "Stalled": "False Paused"},
		},
		"the operator cannot reach members whose Pods are ready": {
			state: stateWith(formed, members(3), cutOff), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False MembersUnreachable", "Available": "Unknown MembersUnreachable", "Progressing": "True MembersUnreachable", "Degraded": "Unknown MembersUnreachable", "Stalled": "False MembersUnreachable"},
		},
		"the operator has not reached members with ready Pods for 1 h": {
			state: stateWith(formed, members(3), cutOff, silentFor(time.Hour)), phase: v1beta2.ClusterPhaseFailed,
			want: map[string]string{"Ready": "False MembersUnreachable", "Available": "Unknown MembersUnreachable", "Progressing": "False MembersUnreachable", "Degraded": "Unknown MembersUnreachable", "Stalled": "True MembersUnreachable"},
		},
		"the operator's Secret is missing while clients are served": {
			state: stateWith(formed, members(3), cutOff, func(s *state.State) { s.SecretProblem = "Secret tls is not there" }), phase: v1beta2.ClusterPhaseFailed,
			want: map[string]string{"Ready": "False SecretMissing", "Available": "Unknown MembersUnreachable", "Progressing": "False SecretMissing", "Degraded": "Unknown MembersUnreachable", "Stalled": "True SecretMissing"},
		},
		"one read of all members was slow": {
			state: stateWith(formed, members(3), cutOff, silentFor(time.Second)), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False MembersUnreachable", "Available": "True Ready", "Progressing": "True MembersUnreachable", "Degraded": "False Ready", "Stalled": "False MembersUnreachable"},
		},
		"one read of one member was slow": {
			state: stateWith(formed, members(3), with(1, func(m *state.Member) {
				m.Serving, m.Answers, m.SilentSince = false, false, noon.Add(-time.Second)
			})), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False MemberDown", "Available": "True Ready", "Progressing": "True MemberDown", "Degraded": "False Ready", "Stalled": "False MemberDown"},
		},
		"members answer, but no member reaches a quorum": {
			state: stateWith(formed, members(3), cutOff, func(s *state.State) {
				for i := range s.Members {
					s.Members[i].Answers = true
				}
			}), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False MemberDown", "Available": "False MemberDown", "Progressing": "True MemberDown", "Degraded": "True MemberDown", "Stalled": "False MemberDown"},
		},
		"a refused version": {
			state: stateWith(formed, members(3), ofVersion("3.8.0")), phase: v1beta2.ClusterPhaseFailed,
			want: map[string]string{"Ready": "False VersionNotSupported", "Available": "True Ready", "Progressing": "False VersionNotSupported", "Degraded": "False Ready", "Stalled": "True VersionNotSupported"},
		},
		"a step that failed": {
			state: stateWith(formed, members(3), size(5)), err: broken, phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False ReconcileError", "Available": "True Ready", "Progressing": "True ReconcileError", "Degraded": "True MemberDown", "Stalled": "False ReconcileError"},
		},
		"a restore beside members that serve": {
			state: stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodStarting))), phase: v1beta2.ClusterPhaseRunning,
			want: map[string]string{"Ready": "False Restoring", "Available": "True Ready", "Progressing": "True Restoring", "Degraded": "False Ready", "Stalled": "False Restoring"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := NewStatus(test.state, Plan(test.state), test.err, v1beta2.EtcdClusterStatus{ObservedGeneration: -1}, 7)
			if diff := cmp.Diff(test.want, words(status)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if status.Phase != test.phase {
				t.Errorf("phase %q, want %q", status.Phase, test.phase)
			}
			for _, c := range status.Conditions {
				if c.ObservedGeneration != 7 || !c.LastTransitionTime.Time.Equal(noon) {
					t.Errorf("%s is about generation %d, since %s", c.Type, c.ObservedGeneration, c.LastTransitionTime)
				}
			}
		})
	}
}

func TestStatusKeepsTheOldFields(t *testing.T) {
	s := stateWith(formed, members(3), with(1, pod(state.PodStarting)), ofVersion("3.6.17"), withTLS)
	got := report(s, v1beta2.EtcdClusterStatus{ObservedGeneration: -1})
	got.Conditions = nil
	member := func(i int, role v1beta2.MemberRole, version string, ready bool) v1beta2.MemberStatus {
		return v1beta2.MemberStatus{
			Name: nameOf(i), ID: []string{"0000000000000001", "0000000000000002", "0000000000000003"}[i], Role: role, Version: version,
			ClientURL: "https://" + nameOf(i) + ".example.ns.svc:2379", Ready: ready,
		}
	}
	want := v1beta2.EtcdClusterStatus{
		ObservedGeneration: 7,
		Phase:              v1beta2.ClusterPhaseRunning,
		Reason:             "Member " + nameOf(1) + " is starting.",
		Size:               2,
		ReadyMembers:       "2/3",
		ServiceName:        "example-client",
		ClientPort:         2379,
		Members:            v1beta2.MembersStatus{Ready: []string{nameOf(0), nameOf(2)}, Unready: []string{nameOf(1)}},
		CurrentVersion:     "3.6.16",
		TargetVersion:      "3.6.17",
		ClusterID:          oldID,
		Incarnation:        1,
		Selector:           "app=etcd,etcd_cluster=example",
		ClientTLSSecret:    "operator-tls",
		OperatorTLSSecret:  "operator-tls",
		MemberStatuses: []v1beta2.MemberStatus{
			member(0, v1beta2.MemberLeader, "3.6.16", true), member(1, v1beta2.MemberVoter, "", false), member(2, v1beta2.MemberVoter, "3.6.16", true),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestStatusIsStable: if nothing changed, the status is the same, so the operator does not write it.
func TestStatusIsStable(t *testing.T) {
	states := map[string]state.State{
		"done":        stateWith(formed, members(3)),
		"forming":     stateWith(initial(3), begun),
		"quorum lost": stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone)),
		"seeding":     stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodStarting)), func(s *state.State) { s.Request.Size = 8 << 30 }),
		"paused":      stateWith(formed, members(3), func(s *state.State) { s.Spec.Paused = true }),
	}
	for name, s := range states {
		t.Run(name, func(t *testing.T) {
			before := v1beta2.EtcdClusterStatus{Restore: s.Restore}
			first := report(s, before)
			s.Now = s.Now.Add(time.Hour)
			s.Restore = first.Restore
			if diff := cmp.Diff(first, report(s, first)); diff != "" {
				t.Errorf("the second status differs from the first:\n%s", diff)
			}
		})
	}
}

func TestStatusRemembers(t *testing.T) {
	well := report(stateWith(formed, members(3)), v1beta2.EtcdClusterStatus{})
	t.Run("keeps the voters while no quorum answers, even if they have no objects", func(t *testing.T) {
		lost := stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone))
		lost.Members = lost.Members[:1]
		status := well
		for range 3 {
			status = report(lost, status)
		}
		cluster := &v1beta2.EtcdCluster{Status: status}
		if got := len(state.NewState(cluster).KnownVoters); got != 3 {
			t.Errorf("%d voters are remembered, want 3: %+v", got, status.MemberStatuses)
		}
	})
	t.Run("drops a voter that the membership no longer has", func(t *testing.T) {
		cluster := &v1beta2.EtcdCluster{Status: report(stateWith(formed, members(2)), well)}
		if got := len(state.NewState(cluster).KnownVoters); got != 2 {
			t.Errorf("%d voters are remembered, want 2", got)
		}
	})
	t.Run("keeps the version while no member reports one", func(t *testing.T) {
		status := report(stateWith(formed, members(3), noQuorum, everyImage("")), well)
		if status.CurrentVersion != "3.6.16" {
			t.Errorf("current version %q, want 3.6.16", status.CurrentVersion)
		}
	})
	t.Run("keeps the time at which a condition changed", func(t *testing.T) {
		later := stateWith(formed, members(3), func(s *state.State) { s.Now = noon.Add(time.Hour) })
		for _, c := range report(later, well).Conditions {
			if !c.LastTransitionTime.Time.Equal(noon) {
				t.Errorf("%s changed at %s, want %s", c.Type, c.LastTransitionTime, noon)
			}
		}
	})
	t.Run("keeps a database size until it differs by 10 %", func(t *testing.T) {
		for now, want := range map[int64]int64{1000: 1000, 1099: 1000, 1200: 1200, 0: 1000} {
			if got := steady(1000, now); got != want {
				t.Errorf("steady(1000, %d) = %d, want %d", now, got, want)
			}
		}
	})
	t.Run("drops a condition of the archived operator", func(t *testing.T) {
		before := v1beta2.EtcdClusterStatus{Conditions: []metav1.Condition{{Type: "Scaling", Status: metav1.ConditionTrue}}}
		if said := words(report(stateWith(formed, members(3)), before)); said["Scaling"] != "" {
			t.Errorf("conditions: %v", said)
		}
	})
}

func TestStatusRecords(t *testing.T) {
	restore := func(step v1beta2.RestoreStep) v1beta2.EtcdClusterStatus {
		return v1beta2.EtcdClusterStatus{Restore: stateWith(formed, restored(step)).Restore}
	}
	seedStatus := v1beta2.EtcdClusterStatus{ClusterID: seedID, Incarnation: 2}
	tests := map[string]struct {
		step   steps.Step
		state  state.State
		before v1beta2.EtcdClusterStatus
		check  func(v1beta2.EtcdClusterStatus) any
		want   any
	}{
		"records the incarnation when the volumes exist": {
			steps.BeginBootstrap{Incarnation: 1}, stateWith(initial(3)), v1beta2.EtcdClusterStatus{},
			func(s v1beta2.EtcdClusterStatus) any { return s.Incarnation }, int32(1),
		},
		"records the ID of a cluster that has formed": {
			steps.RecordFormed{ClusterID: oldID, Incarnation: 1}, stateWith(initial(3), begun), v1beta2.EtcdClusterStatus{},
			func(s v1beta2.EtcdClusterStatus) any { return s.ClusterID }, oldID,
		},
		"records that a restore has started": {
			Plan(stateWith(formed, members(3), asked)), stateWith(formed, members(3), asked), v1beta2.EtcdClusterStatus{},
			func(s v1beta2.EtcdClusterStatus) any { return s.Restore.Step }, v1beta2.RestoreSeeding,
		},
		"records what a restore waits for": {
			steps.Wait{Message: "for this"}, stateWith(formed, members(3), restored(v1beta2.RestoreSwitching)), restore(v1beta2.RestoreSwitching),
			func(s v1beta2.EtcdClusterStatus) any { return s.Restore.Message }, "for this",
		},
		"records the cluster ID and the revision of a proven seed": {
			steps.BeginSwitch{ClusterID: seedID, Revision: 43}, stateWith(formed, members(3), restored(v1beta2.RestoreSeeding)), restore(v1beta2.RestoreSeeding),
			func(s v1beta2.EtcdClusterStatus) any {
				return []any{s.Restore.Step, s.Restore.ClusterID, s.Restore.Revision}
			}, []any{v1beta2.RestoreSwitching, seedID, int64(43)},
		},
		"records that the seed is the cluster, with its version and its only voter": {
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
			stateWith(formed, members(3), stopped, restored(v1beta2.RestoreSwitching), aSeed(serving, withImage("3.7.1"))), restore(v1beta2.RestoreSwitching),
			func(s v1beta2.EtcdClusterStatus) any {
				voters := state.NewState(&v1beta2.EtcdCluster{Status: s}).KnownVoters
				return []any{s.Restore.Step, s.ClusterID, s.Incarnation, s.CurrentVersion, voters}
			}, []any{v1beta2.RestoreGrowing, seedStatus.ClusterID, seedStatus.Incarnation, "3.7.1", []string{seedName}},
		},
		"records that a restore is complete": {
			steps.CompleteRestore{}, stateWith(formed, restored(v1beta2.RestoreGrowing)), restore(v1beta2.RestoreGrowing),
			func(s v1beta2.EtcdClusterStatus) any { return s.Restore.Step }, v1beta2.RestoreComplete,
		},
		"records why a restore failed": {
			steps.FailRestore{Message: seedFailed}, stateWith(formed, members(3), restored(v1beta2.RestoreSeeding)), restore(v1beta2.RestoreSeeding),
			func(s v1beta2.EtcdClusterStatus) any { return []any{s.Restore.Step, s.Restore.Message} }, []any{v1beta2.RestoreFailed, seedFailed},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.check(NewStatus(test.state, test.step, nil, test.before, 7))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			unchanged := NewStatus(test.state, test.step, errors.New("not done"), test.before, 7)
			if diff := cmp.Diff(test.want, safely(test.check, unchanged)); diff == "" {
				t.Error("it is recorded though the step failed")
			}
		})
	}
}

// safely returns what check returns, with an empty restore if the status has none.
func safely(check func(v1beta2.EtcdClusterStatus) any, s v1beta2.EtcdClusterStatus) any {
	if s.Restore == nil {
		s.Restore = &v1beta2.ClusterRestoreStatus{}
	}
	return check(s)
}

// Member 1 was removed, and then no member answered. The restore counted member 0, alone on a silent node, as 1 of 2 voters,
// which is too few to acknowledge writes (SIM_SEED=1, world 869).
func TestARemovedVoterIsTakenOffTheRecordAtOnce(t *testing.T) {
	s := stateWith(formed, members(2), size(1))
	removal := steps.RemoveMember{ID: s.Members[1].ID, Name: s.Members[1].Name}
	before := NewStatus(s, steps.Wait{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	for _, test := range []struct {
		err  error
		want int
	}{{nil, 1}, {errors.New("refused"), 2}} {
		status := NewStatus(s, removal, test.err, before, 1)
		after := state.NewState(&v1beta2.EtcdCluster{Status: status})
		if len(after.KnownVoters) != test.want {
			t.Errorf("after %v: voters %v, want %d", test.err, after.KnownVoters, test.want)
		}
	}
}
