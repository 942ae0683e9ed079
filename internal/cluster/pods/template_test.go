package pods

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// TestNoReleaseRestartsMembers pins the hashes. If a release of the operator or of Kubernetes' types changed them, it
// would restart every member of every cluster.
func TestNoReleaseRestartsMembers(t *testing.T) {
	tests := map[string]struct {
		state state.State
		want  string
	}{
		"an empty policy": {clustertest.State(), "1-44136fa355b3678a"},
		"everything":      {clustertest.State(plantest.Policy(clustertest.FullPolicy())), "1-65f39f6caa5844d6"},
		"TLS":             {clustertest.State(plantest.WithTLS), "1-afc21caf679b9db8"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Template(test.state); got != test.want {
				t.Errorf("template() = %s, want %s: with this, an upgrade of the operator restarts every member; raise templateVersion if that is meant", got, test.want)
			}
		})
	}
}

// "restarts" is whether the note on the Pod differs. A change of resources then resizes the Pod, see resize_test.go.
func TestWhatRestartsMembers(t *testing.T) {
	tests := map[string]struct {
		change   func(*v1beta2.PodPolicy)
		restarts bool
	}{
		"resources":                     {func(p *v1beta2.PodPolicy) { p.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("2Gi") }, true},
		"resources in another notation": {func(p *v1beta2.PodPolicy) { p.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1024Mi") }, false},
		"environment":                   {func(p *v1beta2.PodPolicy) { p.EtcdEnv[0].Value = "2" }, true},
		"tolerations":                   {func(p *v1beta2.PodPolicy) { p.Tolerations = nil }, true},
		"node selector":                 {func(p *v1beta2.PodPolicy) { p.NodeSelector["disk"] = "faster" }, true},
		"affinity":                      {func(p *v1beta2.PodPolicy) { p.Affinity = &corev1.Affinity{} }, true},
		"priority":                      {func(p *v1beta2.PodPolicy) { p.PriorityClassName = "" }, true},
		"service account":               {func(p *v1beta2.PodPolicy) { p.ServiceAccountName = "other" }, true},
		"spread":                        {func(p *v1beta2.PodPolicy) { p.TopologySpreadConstraints[0].MaxSkew = 2 }, true},
		"restartedAt":                   {func(p *v1beta2.PodPolicy) { p.Annotations[AnnotationRestartedAt] = "now" }, true},
		"labels":                        {func(p *v1beta2.PodPolicy) { p.Labels["team"] = "data" }, false},
		"annotations":                   {func(p *v1beta2.PodPolicy) { p.Annotations = nil }, false},
		"the volume":                    {func(p *v1beta2.PodPolicy) { p.PersistentVolumeClaimSpec = nil }, false},
		"fields without an effect":      {func(p *v1beta2.PodPolicy) { p.BusyboxImage, p.DNSTimeoutInSecond = "", 0 }, false},
		"the order of pull secrets": {func(p *v1beta2.PodPolicy) {
			p.ImagePullSecrets[0], p.ImagePullSecrets[1] = p.ImagePullSecrets[1], p.ImagePullSecrets[0]
		}, false},
		"anti-affinity": {func(p *v1beta2.PodPolicy) { p.AntiAffinity = false }, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := clustertest.FullPolicy()
			before.ImagePullSecrets = append(before.ImagePullSecrets, corev1.LocalObjectReference{Name: "another"})
			after := *before.DeepCopy()
			test.change(&after)
			was, is := clustertest.State(plantest.Policy(before)), clustertest.State(plantest.Policy(after))
			if restarts := Template(was) != Template(is); restarts != test.restarts {
				t.Errorf("restarts = %t, want %t", restarts, test.restarts)
			}
		})
	}
}

// unmarked returns a Pod as releases before the note created it, with the fields that the API server and admission fill
// in.
func unmarked(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "unmarked-"+name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(content, &pod); err != nil {
		t.Fatal(err)
	}
	for _, key := range filledIn {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}
	pod.Spec.ServiceAccountName, pod.Spec.DNSPolicy, pod.Spec.SchedulerName = "default", corev1.DNSClusterFirst, "default-scheduler"
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "injected"})
	pod.Spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
	pod.Annotations["cni.example/address"] = "10.0.0.7"
	return &pod
}

func TestMembersOfEarlierReleasesAreNotRestarted(t *testing.T) {
	toxic := plantest.Policy(v1beta2.PodPolicy{Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}})
	tests := map[string]struct {
		pod     string
		state   state.State
		matches bool
	}{
		"matches a Pod without a policy":                                 {"rejoin", clustertest.State(plantest.Formed, plantest.Members(3)), true},
		"matches a Pod with the policy of the archived operator":         {"policy", clustertest.State(plantest.Policy(clustertest.EveryField)), true},
		"matches a Pod with TLS":                                         {"tls", clustertest.State(plantest.Formed, plantest.Members(3), plantest.WithTLS), true},
		"does not match a Pod without the tolerations of the spec":       {"rejoin", clustertest.State(plantest.Formed, plantest.Members(3), toxic), false},
		"does not match a Pod with a policy that the spec does not have": {"policy", clustertest.State(), false},
		"does not match a Pod without TLS if the spec has TLS":           {"rejoin", clustertest.State(plantest.Formed, plantest.Members(3), plantest.WithTLS), false},
		"does not match a Pod with TLS if the spec has no TLS":           {"tls", clustertest.State(plantest.Formed, plantest.Members(3)), false},
		"does not match a Pod with other environment variables": {"policy", clustertest.State(plantest.Policy(func() v1beta2.PodPolicy {
			p := *clustertest.EveryField.DeepCopy()
			p.EtcdEnv = nil
			return p
		}())), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var m state.Member
			ObserveTemplate(test.state, &m, unmarked(t, test.pod))
			if m.Outdated == test.matches || m.Relabel != test.matches {
				t.Errorf("outdated %t, relabel %t; matches should be %t", m.Outdated, m.Relabel, test.matches)
			}
		})
	}
}

func TestMarkedPodsAreComparedByTheirNote(t *testing.T) {
	made := NewPod(clustertest.State(plantest.Policy(clustertest.EveryField)), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
	relabelled := *clustertest.EveryField.DeepCopy()
	relabelled.Labels = map[string]string{"team": "data"}
	tests := map[string]struct {
		state             state.State
		outdated, relabel bool
	}{
		"the spec has not changed":        {clustertest.State(plantest.Policy(clustertest.EveryField)), false, false},
		"the spec has other labels":       {clustertest.State(plantest.Policy(relabelled)), false, true},
		"the spec has no policy any more": {clustertest.State(), true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var m state.Member
			ObserveTemplate(test.state, &m, made)
			if m.Outdated != test.outdated || m.Relabel != test.relabel {
				t.Errorf("outdated %t, relabel %t, want %t, %t", m.Outdated, m.Relabel, test.outdated, test.relabel)
			}
		})
	}
}

func TestLabelsOfTheUserGoAndThoseOfOthersStay(t *testing.T) {
	s := clustertest.State(plantest.Policy(clustertest.EveryField))
	pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
	pod.Labels["injected"] = "by somebody else"
	after := *clustertest.EveryField.DeepCopy()
	after.Labels, after.Annotations = map[string]string{"tier": "data", "app": "stored before it was refused"}, nil
	got := RelabelPatch(clustertest.State(plantest.Policy(after)), pod)
	want := map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{"team": nil, "tier": "data"},
		"annotations": map[string]any{"note": nil, annotationMetadata: `{"labels":{"app":"stored before it was refused","tier":"data"}}`},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

func TestLabelsOfTheClusterChangeInARunningPod(t *testing.T) {
	asks := func(cluster, pod map[string]string) state.State {
		s := clustertest.State(plantest.Policy(v1beta2.PodPolicy{Labels: pod}))
		s.Spec.Metadata = &v1beta2.MetadataPolicy{Labels: map[string]v1beta2.LabelValue{}}
		for key, value := range cluster {
			s.Spec.Metadata.Labels[key] = v1beta2.LabelValue(value)
		}
		return s
	}
	for name, test := range map[string]struct {
		before, after state.State
		want          map[string]any
		relabel       bool
	}{
		"nothing changes":                           {asks(map[string]string{"team": "a"}, nil), asks(map[string]string{"team": "a"}, nil), map[string]any{"team": "a"}, false},
		"a label is added":                          {asks(nil, nil), asks(map[string]string{"team": "a"}, nil), map[string]any{"team": "a"}, true},
		"a label is removed":                        {asks(map[string]string{"team": "a"}, nil), asks(nil, nil), map[string]any{"team": nil}, true},
		"spec.pod takes a label over":               {asks(map[string]string{"team": "a"}, nil), asks(map[string]string{"team": "a"}, map[string]string{"team": "b"}), map[string]any{"team": "b"}, true},
		"spec.pod gives a label back":               {asks(map[string]string{"team": "a"}, map[string]string{"team": "b"}), asks(map[string]string{"team": "a"}, nil), map[string]any{"team": "a"}, true},
		"a label leaves both":                       {asks(map[string]string{"team": "a"}, map[string]string{"team": "b"}), asks(nil, nil), map[string]any{"team": nil}, true},
		"a label moves from the cluster to the Pod": {asks(map[string]string{"team": "a"}, nil), asks(nil, map[string]string{"team": "a"}), map[string]any{"team": "a"}, true},
	} {
		pod := NewPod(test.before, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
		var m state.Member
		if ObserveTemplate(test.after, &m, pod); m.Relabel != test.relabel || m.Outdated {
			t.Errorf("%s: relabel %t, restart %t", name, m.Relabel, m.Outdated)
		}
		patch, _ := RelabelPatch(test.after, pod)["metadata"].(map[string]any)
		if diff := cmp.Diff(test.want, patch["labels"]); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnEarlierReleasesPodIsMarkedWithoutALabelMore(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	got := RelabelPatch(s, unmarked(t, "rejoin"))
	want := map[string]any{"metadata": map[string]any{
		"labels":      map[string]any{},
		"annotations": map[string]any{annotationMetadata: "{}", AnnotationTemplate: Template(s)},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}
