package command

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
)

// CorruptionChecks have a member compare its data with that of the others before it serves, and the leader compare
// what each compaction leaves on all members. They are no part of what a Pod is made for: Pods that run without them
// run on. What the spec says of them itself stays, also in the words of 3.5.
func CorruptionChecks(s state.State, incarnation int32) []string {
	v := state.VersionFor(s, incarnation)
	env := s.PodPolicy().EtcdEnv
	if etcdflags.Gates(v) {
		return featureGates(env, "InitialCorruptCheck", "CompactHashCheck")
	}
	if state.Older(v, "3.5.5") { // the checks of earlier ones raise false alarms
		return nil
	}
	var args []string
	for _, flag := range []string{"experimental-initial-corrupt-check", "experimental-compact-hash-check-enabled"} {
		if !slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == etcdflags.VariableOf(flag) }) {
			args = append(args, "--"+flag+"=true")
		}
	}
	return args
}
