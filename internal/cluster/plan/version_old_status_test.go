package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// What etcd logged when it was started on the data of the next minor version. Without it the operator does not know that the version in the
// status is an old one.
func TestEtcdThatIsOlderThanItsDataSaysWhatItNeeds(t *testing.T) {
	for message, want := range map[string]string{
		`2026-11-28 00:26:54.641457 C | etcdserver/membership: cluster cannot be downgraded (current version: 3.4.15 is lower than determined cluster version: 3.5).`:                                                                                    "3.5",
		`{"level":"fatal","caller":"membership/downgrade.go:69","msg":"invalid downgrade; server version is lower than determined cluster version","current-server-version":"3.5.35","determined-cluster-version":"3.6","stacktrace":"go.etcd.io/etcd"}`: "3.6",
		`{"level":"fatal","caller":"etcdmain/etcd.go:183","msg":"discovery failed","error":"version \"3.7.0\" is not supported","stacktrace":"go.etcd.io/etcd/server/v3/etcdmain.startEtcdOrProxyV2"}`:                                                   "3.7",
		`{"level":"fatal","msg":"discovery failed","error":"no space left on device"}`:                                                                                                                                                                   "",
	} {
		ended := corev1.ContainerStatus{LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: message}}}
		if got := lifecycle.SaysTooOld(ended); got != want {
			t.Errorf("%s\nneeds %q, want %q", message, got, want)
		}
	}
}

// The cluster was upgraded to 3.6. An API backup brings back a status with version 3.5 while all nodes restart, and no member answers with another one. Each
// member starts with 3.5, which etcd refuses, and no change of the spec helps, because a version is only changed while a quorum serves.
func TestAnOldVersionInTheStatusIsForgottenIfEtcdRefusesIt(t *testing.T) {
	for size := 1; size <= 3; size += 2 {
		s := stateWith(formed, members(size), noQuorum, ofVersion("3.6.16"))
		s.Spec.Size = size
		s.KnownVersion = "3.5.26"
		for i := range size {
			with(i, onVolume, pod(state.PodBlocked), func(m *state.Member) {
				m.PodImage, m.NeedsMinor = s.Spec.ImageOf("3.5.26"), "3.6"
			})(&s)
		}
		if got := state.VersionFor(s, state.FirstIncarnation); got != "3.6.16" {
			t.Errorf("%d members: they start with %s", size, got)
		}
		before := v1beta2.EtcdClusterStatus{CurrentVersion: "3.5.26"}
		if got := NewStatus(s, Plan(s), nil, before, 1).CurrentVersion; got != "" {
			t.Errorf("%d members: the status still has version %s, so the next Pod starts with it", size, got)
		}
		if d, is := Plan(s).(steps.DeletePod); !is {
			t.Errorf("%d members: the plan is %T, and the Pods keep an etcd that does not start", size, d)
		}
	}
}

// The data is of 3.6, and the spec asks for 3.7. The operator does not know which release of 3.6 it is, and 3.7 may not read it. A person sets spec.version to
// 3.6.x first.
func TestAnOldVersionIsNotReplacedByOneThatSkipsAMinorVersion(t *testing.T) {
	s := stateWith(formed, members(1), noQuorum, ofVersion("3.7.3"), with(0, onVolume, pod(state.PodBlocked), func(m *state.Member) { m.NeedsMinor = "3.6" }))
	s.Spec.Size, s.KnownVersion = 1, "3.5.26"
	if got := state.VersionFor(s, state.FirstIncarnation); got != "3.5.26" {
		t.Errorf("the member starts with %s", got)
	}
}
