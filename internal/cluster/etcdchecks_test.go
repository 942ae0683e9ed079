package cluster

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func TestMembersCheckTheirDataAsTheirVersionCan(t *testing.T) {
	env := func(pairs ...string) change {
		var all []corev1.EnvVar
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
		return policy(v1beta2.PodPolicy{EtcdEnv: all})
	}
	const initial, compaction = "--experimental-initial-corrupt-check=true", "--experimental-compact-hash-check-enabled=true"
	for name, test := range map[string]struct {
		version string
		env     change
		want    []string
	}{
		"3.4":                             {"3.4.23", env(), nil},
		"3.5 before the check was right":  {"3.5.4", env(), nil},
		"3.5":                             {"3.5.35", env(), []string{initial, compaction}},
		"3.5, and the spec says no":       {"3.5.35", env("ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "false"), []string{compaction}},
		"3.6":                             {"3.6.16", env(), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, and the spec has gates":     {"3.6.16", env("ETCD_FEATURE_GATES", "LeaseCheckpoint=true"), []string{"--feature-gates=LeaseCheckpoint=true,InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, and the spec says no":       {"3.6.16", env("ETCD_FEATURE_GATES", "InitialCorruptCheck=false"), []string{"--feature-gates=InitialCorruptCheck=false,CompactHashCheck=true"}},
		"3.6, with the words of 3.5":      {"3.6.16", env("ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "true"), nil},
		"3.7, and a release candidate":    {"3.7.0-rc.1", env(), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, whose gates are not known:": {"3.6.16", policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_FEATURE_GATES", ValueFrom: &corev1.EnvVarSource{}}}}), nil},
	} {
		s := state(ofVersion(test.version), test.env)
		if got := corruptionChecks(s, 1); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A Pod that an earlier release made without the checks is what the spec asks for.
func TestNoMemberRestartsForTheChecks(t *testing.T) {
	s := state(formed, members(3))
	pod := newPod(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartRejoin}, "")
	before := pod.Annotations[annotationTemplate]
	pod.Spec.Containers[0].Command = slices.DeleteFunc(pod.Spec.Containers[0].Command, func(arg string) bool { return strings.HasPrefix(arg, "--feature-gates") })
	for _, noted := range []bool{true, false} {
		if !noted {
			delete(pod.Annotations, annotationTemplate)
		}
		var m plan.Member
		observeTemplate(s, &m, pod)
		if m.Outdated || before == "" {
			t.Errorf("noted %v: it is to be made again", noted)
		}
	}
}
