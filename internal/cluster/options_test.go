package cluster

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func fullOptions() *v1beta2.EtcdPolicy {
	return &v1beta2.EtcdPolicy{
		QuotaBackendBytes: ptr.To(resource.MustParse("4Gi")),
		AutoCompaction:    &v1beta2.AutoCompactionPolicy{Mode: v1beta2.AutoCompactionPeriodic, Retention: "5m"},
		HeartbeatInterval: &metav1.Duration{Duration: 200 * time.Millisecond},
		ElectionTimeout:   &metav1.Duration{Duration: 2 * time.Second},
		LogLevel:          "warn",
		MaxRequestBytes:   ptr.To(resource.MustParse("4Mi")),
		SnapshotCount:     ptr.To(int64(5000)),
	}
}

func withOptions(s *plan.State) {
	s.Spec.Etcd = fullOptions()
	s.Spec.ImagePolicy = &v1beta2.ImagePolicy{Repository: "registry.k8s.io/etcd", Tag: "{version}-0", PullPolicy: corev1.PullAlways}
}

func withContainers(s *plan.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{
		RuntimeClassName: ptr.To("gvisor"), SchedulerName: "mine", HostUsers: ptr.To(false), TerminationGracePeriodSeconds: ptr.To(int64(60)),
		InitContainers: []corev1.Container{{Name: "log", Image: "log:1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}},
		Containers:     []corev1.Container{{Name: "proxy", Image: "proxy:1", VolumeMounts: []corev1.VolumeMount{{Name: "conf", MountPath: "/conf"}}}},
		Volumes:        []v1beta2.PodVolume{{Name: "conf", ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "conf"}}}},
	}
}

func TestASeedRunsAfterTheContainersOfTheUser(t *testing.T) {
	s := state(formed, members(3), withContainers, restored(v1beta2.RestoreSeeding), fromBucket)
	for range 2 { // a second Pod must not get what was added to the first
		spec := newPod(s, plan.CreateMember{Name: seedName, Incarnation: 2, Start: plan.StartSeed}, seedImage).Spec
		var names []string
		for _, c := range spec.InitContainers {
			names = append(names, c.Name)
		}
		if want := []string{"log", seedContainer}; !slices.Equal(names, want) {
			t.Errorf("init containers %q, want %q", names, want)
		}
	}
}

func TestAnOptionThatIsNotSetHasNoFlag(t *testing.T) {
	s := state(func(s *plan.State) { s.Spec.Etcd = &v1beta2.EtcdPolicy{LogLevel: "debug"} })
	if got, want := etcdOptions(s), []string{"--log-level=debug"}; !slices.Equal(got, want) {
		t.Errorf("flags %q, want %q", got, want)
	}
}

func TestWhatOfTheNewFieldsRestartsMembers(t *testing.T) {
	image := func(p v1beta2.ImagePolicy) change { return func(s *plan.State) { s.Spec.ImagePolicy = &p } }
	options := func(p v1beta2.EtcdPolicy) change { return func(s *plan.State) { s.Spec.Etcd = &p } }
	for name, test := range map[string]struct {
		was, is  change
		restarts bool
	}{
		"an empty spec.etcd":                          {none, options(v1beta2.EtcdPolicy{}), false},
		"an empty spec.image":                         {none, image(v1beta2.ImagePolicy{}), false},
		"another image, which is compared separately": {none, image(v1beta2.ImagePolicy{Repository: "mirror/etcd", Tag: "{version}"}), false},
		"a pull policy":                               {none, image(v1beta2.ImagePolicy{PullPolicy: corev1.PullAlways}), true},
		"an option of etcd":                           {none, withOptions, true},
		"a quota in another notation":                 {options(v1beta2.EtcdPolicy{QuotaBackendBytes: ptr.To(resource.MustParse("4Gi"))}), options(v1beta2.EtcdPolicy{QuotaBackendBytes: ptr.To(resource.MustParse("4294967296"))}), false},
		"an additional container":                     {none, withContainers, true},
		"a runtime class":                             {none, policy(v1beta2.PodPolicy{RuntimeClassName: ptr.To("kata")}), true},
		"a scheduler":                                 {none, policy(v1beta2.PodPolicy{SchedulerName: "mine"}), true},
		"a user namespace of the Pod":                 {none, policy(v1beta2.PodPolicy{HostUsers: ptr.To(false)}), true},
		"a grace period":                              {none, policy(v1beta2.PodPolicy{TerminationGracePeriodSeconds: ptr.To(int64(60))}), true},
		"a volume beside that of etcd":                {none, policy(v1beta2.PodPolicy{Volumes: []v1beta2.PodVolume{{Name: "a", EmptyDir: &corev1.EmptyDirVolumeSource{}}}}), true},
		"the Service":                                 {none, withService(fullService), false},
		"an init container":                           {none, policy(v1beta2.PodPolicy{InitContainers: []corev1.Container{{Name: "a", Image: "b"}}}), true},
		"the command of an additional container":      {policy(v1beta2.PodPolicy{Containers: []corev1.Container{{Name: "a", Image: "b"}}}), policy(v1beta2.PodPolicy{Containers: []corev1.Container{{Name: "a", Image: "b", Command: []string{"c"}}}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := state(formed, members(3), test.was), state(formed, members(3), test.is)
			if restarts := template(was) != template(is); restarts != test.restarts {
				t.Errorf("restarts = %t, want %t", restarts, test.restarts)
			}
			var m plan.Member
			observeTemplate(is, &m, unmarked(t, "rejoin"))
			if test.restarts && template(was) == template(state()) && !m.Outdated {
				t.Error("a Pod of the first release, which had no such field, counts as made for it")
			}
		})
	}
}

func none(*plan.State) {}
