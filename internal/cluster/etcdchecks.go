package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// corruptionChecks have a member compare its data with that of the others before it serves, and the leader compare
// what each compaction leaves on all members. They are no part of what a Pod is made for: Pods that run without them
// run on. What the spec says of them itself stays.
func corruptionChecks(s plan.State, incarnation int32) []string {
	v := s.VersionFor(incarnation)
	env := s.PodPolicy().EtcdEnv
	says := func(name string) bool {
		return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == name })
	}
	const initial, compaction = "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED"
	switch {
	case plan.Older(v, "3.5.5"): // the checks of earlier ones raise false alarms
		return nil
	case plan.Older(v, "3.6.0-0"):
		var args []string
		if !says(initial) {
			args = append(args, "--experimental-initial-corrupt-check=true")
		}
		if !says(compaction) {
			args = append(args, "--experimental-compact-hash-check-enabled=true")
		}
		return args
	case says(initial), says(compaction):
		return nil // etcd refuses to start with both words for one thing
	}
	return featureGates(env, "InitialCorruptCheck", "CompactHashCheck")
}

// featureGates adds gates to those that the spec sets. The variable of the spec is left out (withoutFlags), so the flag has
// them all.
func featureGates(env []corev1.EnvVar, gates ...string) []string {
	var set []string
	for _, e := range env {
		if e.Name != "ETCD_FEATURE_GATES" {
			continue
		}
		if e.ValueFrom != nil {
			return nil // not to be known here
		}
		if e.Value != "" {
			set = strings.Split(e.Value, ",")
		}
	}
	for _, gate := range gates {
		if !slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), gate+"=") }) {
			set = append(set, gate+"=true")
		}
	}
	return []string{"--feature-gates=" + strings.Join(set, ",")}
}
