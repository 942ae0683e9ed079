package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcdflags"
)

// checks are the feature gates that have members compare their data. Their variables of before 3.6 cannot keep the operator from
// setting the others.
var checks = map[string]bool{"InitialCorruptCheck": true, "CompactHashCheck": true}

// corruptionChecks have a member compare its data with that of the others before it serves, and the leader compare
// what each compaction leaves on all members. They are no part of what a Pod is made for: Pods that run without them
// run on. What the spec says of them itself stays, also in the words of 3.5.
func corruptionChecks(s plan.State, incarnation int32) []string {
	v := s.VersionFor(incarnation)
	env := s.PodPolicy().EtcdEnv
	if etcdflags.Gates(v) {
		return featureGates(env, "InitialCorruptCheck", "CompactHashCheck")
	}
	if plan.Older(v, "3.5.5") { // the checks of earlier ones raise false alarms
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

// featureGates adds gates to those that the spec sets, by ETCD_FEATURE_GATES or by the variables of before 3.6. These variables are left
// out (etcdEnv), so the flag has them all.
func featureGates(env []corev1.EnvVar, gates ...string) []string {
	if gatesAreElsewhere(env) {
		return nil
	}
	var set []string
	for _, e := range env {
		if e.Name == gatesVariable && e.Value != "" {
			set = strings.Split(e.Value, ",")
		}
	}
	wanted := gatesOf(env)
	for _, gate := range gates {
		wanted = append(wanted, gate+"=true")
	}
	for _, gate := range wanted {
		name, _, _ := strings.Cut(gate, "=")
		if !slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), name+"=") }) {
			set = append(set, gate)
		}
	}
	return []string{"--feature-gates=" + strings.Join(set, ",")}
}
