package pods

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestMembersCheckTheirDataAsTheirVersionCan(t *testing.T) {
	env := func(pairs ...string) plantest.Change {
		var all []corev1.EnvVar
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
		return plantest.Policy(v1beta2.PodPolicy{EtcdEnv: all})
	}
	const initial, compaction = "--experimental-initial-corrupt-check=true", "--experimental-compact-hash-check-enabled=true"
	for name, test := range map[string]struct {
		version string
		env     plantest.Change
		want    []string
	}{
		"3.4":                          {"3.4.23", env(), nil},
		"3.5.4, whose check is faulty": {"3.5.4", env(), nil},
		"3.5":                          {"3.5.35", env(), []string{initial, compaction}},
		"3.5, and the spec turns the initial check off": {"3.5.35", env("ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "false"), []string{compaction}},
		"3.6": {"3.6.16", env(), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, and the spec sets another feature gate":             {"3.6.16", env("ETCD_FEATURE_GATES", "LeaseCheckpoint=true"), []string{"--feature-gates=LeaseCheckpoint=true,InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, and the spec turns the initial check off":           {"3.6.16", env("ETCD_FEATURE_GATES", "InitialCorruptCheck=false"), []string{"--feature-gates=InitialCorruptCheck=false,CompactHashCheck=true"}},
		"3.6, and the spec sets the variable of 3.5":              {"3.6.16", env("ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "true"), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.7, and the spec sets the variable of 3.5":              {"3.7.3", env("ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "true"), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, and the spec has both variables of 3.5":             {"3.6.16", env("ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "1", "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED", "t"), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, and the variable of 3.5 turns one check off":        {"3.6.16", env("ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED", "false"), []string{"--feature-gates=CompactHashCheck=false,InitialCorruptCheck=true"}},
		"3.6, and the feature gate is stronger than the variable": {"3.6.16", env("ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED", "false", "ETCD_FEATURE_GATES", "CompactHashCheck=true"), []string{"--feature-gates=CompactHashCheck=true,InitialCorruptCheck=true"}},
		"3.6, and the variable of 3.5 comes from a Secret":        {"3.6.16", plantest.Policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", ValueFrom: &corev1.EnvVarSource{}}}}), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.7, and a variable of 3.5 asks for another gate":        {"3.7.3", env("ETCD_EXPERIMENTAL_ENABLE_LEASE_CHECKPOINT", "true"), []string{"--feature-gates=LeaseCheckpoint=true,InitialCorruptCheck=true,CompactHashCheck=true"}},
		"a release candidate of 3.7":                              {"3.7.0-rc.1", env(), []string{"--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true"}},
		"3.6, and the feature gates come from another object":     {"3.6.16", plantest.Policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_FEATURE_GATES", ValueFrom: &corev1.EnvVarSource{}}}}), nil},
	} {
		s := clustertest.State(plantest.OfVersion(test.version), test.env)
		if got := command.CorruptionChecks(s, 1); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A Pod that an earlier release created without the checks still matches the spec.
func TestNoMemberRestartsForTheChecks(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
	before := pod.Annotations[AnnotationTemplate]
	pod.Spec.Containers[0].Command = slices.DeleteFunc(pod.Spec.Containers[0].Command, func(arg string) bool { return strings.HasPrefix(arg, "--feature-gates") })
	for _, noted := range []bool{true, false} {
		if !noted {
			delete(pod.Annotations, AnnotationTemplate)
		}
		var m state.Member
		ObserveTemplate(s, &m, pod)
		if m.Outdated || before == "" {
			t.Errorf("noted %v: it is to be made again", noted)
		}
	}
}

// etcd ends at once if a flag and a variable set the same option, whatever their values are.
func TestNoVariableSetsAnOptionThatAFlagSets(t *testing.T) {
	gates := corev1.EnvVar{Name: "ETCD_FEATURE_GATES", Value: "CompactHashCheck=false"}
	elsewhere := corev1.EnvVar{Name: "ETCD_FEATURE_GATES", ValueFrom: &corev1.EnvVarSource{}}
	other := corev1.EnvVar{Name: "ETCD_MAX_TXN_OPS", Value: "512"}
	for name, test := range map[string]struct{ env, want []corev1.EnvVar }{
		"the feature gates that the docs recommend": {[]corev1.EnvVar{gates, other}, []corev1.EnvVar{other}},
		"the name and the data directory":           {[]corev1.EnvVar{{Name: "ETCD_NAME", Value: "x"}, {Name: "ETCD_DATA_DIR"}, other}, []corev1.EnvVar{other}},
		"the variable ETCD_FORCE_NEW_CLUSTER":       {[]corev1.EnvVar{{Name: "ETCD_FORCE_NEW_CLUSTER", Value: "true"}, other}, []corev1.EnvVar{other}},
		"feature gates that no flag sets":           {[]corev1.EnvVar{elsewhere}, []corev1.EnvVar{elsewhere}},
		"no variables":                              {nil, nil},
	} {
		s := clustertest.State(plantest.Policy(v1beta2.PodPolicy{EtcdEnv: test.env}))
		pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
		if got := pod.Spec.Containers[0].Env; Text(got) != Text(test.want) {
			t.Errorf("%s: the variables are %s, want %s", name, Text(got), Text(test.want))
		}
	}
}

// A Pod of an earlier release has the variable, with or without a note of the spec that it was created for.
func TestNoMemberRestartsForAVariableThatIsLeftOut(t *testing.T) {
	env := []corev1.EnvVar{{Name: "ETCD_FEATURE_GATES", Value: "CompactHashCheck=false"}}
	s := clustertest.State(plantest.Formed, plantest.Members(3), plantest.Policy(v1beta2.PodPolicy{EtcdEnv: env}))
	pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
	for name, variables := range map[string][]corev1.EnvVar{"earlier": env, "this": pod.Spec.Containers[0].Env} {
		for _, noted := range []bool{true, false} {
			pod := pod.DeepCopy()
			pod.Spec.Containers[0].Env = variables
			if !noted {
				delete(pod.Annotations, AnnotationTemplate)
			}
			var m state.Member
			ObserveTemplate(s, &m, pod)
			if m.Outdated {
				t.Errorf("a Pod of the %s release, noted %t, is recreated", name, noted)
			}
		}
	}
}
