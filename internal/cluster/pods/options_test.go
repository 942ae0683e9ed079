package pods

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/command"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestASeedRunsAfterTheContainersOfTheUser(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3), clustertest.WithContainers, clustertest.Restored(v1beta2.RestoreSeeding), clustertest.FromBucket)
	for range 2 { // a second Pod must not get what was added to the first
		spec := NewPod(s, steps.CreateMember{Name: clustertest.SeedName, Incarnation: 2, Start: state.StartSeed}, clustertest.SeedImage).Spec
		var names []string
		for _, c := range spec.InitContainers {
			names = append(names, c.Name)
		}
		if want := []string{"log", SeedContainer}; !slices.Equal(names, want) {
			t.Errorf("init containers %q, want %q", names, want)
		}
	}
}

func TestAnOptionThatIsNotSetHasNoFlag(t *testing.T) {
	s := clustertest.State(func(s *state.State) { s.Spec.Etcd = &v1beta2.EtcdPolicy{LogLevel: "debug"} })
	if got, want := command.Options(s), []string{"--log-level=debug"}; !slices.Equal(got, want) {
		t.Errorf("flags %q, want %q", got, want)
	}
}

func TestWhatOfTheNewFieldsRestartsMembers(t *testing.T) {
	image := func(p v1beta2.ImagePolicy) plantest.Change {
		return func(s *state.State) { s.Spec.ImagePolicy = &p }
	}
	options := func(p v1beta2.EtcdPolicy) plantest.Change { return func(s *state.State) { s.Spec.Etcd = &p } }
	for name, test := range map[string]struct {
		was, is  plantest.Change
		restarts bool
	}{
		"an empty spec.etcd":                          {none, options(v1beta2.EtcdPolicy{}), false},
		"an empty spec.image":                         {none, image(v1beta2.ImagePolicy{}), false},
		"another image, which is compared separately": {none, image(v1beta2.ImagePolicy{Repository: "mirror/etcd", Tag: "{version}"}), false},
		"a pull policy":                               {none, image(v1beta2.ImagePolicy{PullPolicy: corev1.PullAlways}), true},
		"an option of etcd":                           {none, clustertest.WithOptions, true},
		"a quota in another notation":                 {options(v1beta2.EtcdPolicy{QuotaBackendBytes: ptr.To(resource.MustParse("4Gi"))}), options(v1beta2.EtcdPolicy{QuotaBackendBytes: ptr.To(resource.MustParse("4294967296"))}), false},
		"an additional container":                     {none, clustertest.WithContainers, true},
		"a runtime class":                             {none, plantest.Policy(v1beta2.PodPolicy{RuntimeClassName: ptr.To("kata")}), true},
		"a scheduler":                                 {none, plantest.Policy(v1beta2.PodPolicy{SchedulerName: "mine"}), true},
		"a user namespace of the Pod":                 {none, plantest.Policy(v1beta2.PodPolicy{HostUsers: ptr.To(false)}), true},
		"a grace period":                              {none, plantest.Policy(v1beta2.PodPolicy{TerminationGracePeriodSeconds: ptr.To(int64(60))}), true},
		"a volume beside that of etcd":                {none, plantest.Policy(v1beta2.PodPolicy{Volumes: []v1beta2.PodVolume{{Name: "a", EmptyDir: &corev1.EmptyDirVolumeSource{}}}}), true},
		"the Service":                                 {none, clustertest.WithService(clustertest.FullService), false},
		"an init container":                           {none, plantest.Policy(v1beta2.PodPolicy{InitContainers: []corev1.Container{{Name: "a", Image: "b"}}}), true},
		"the command of an additional container":      {plantest.Policy(v1beta2.PodPolicy{Containers: []corev1.Container{{Name: "a", Image: "b"}}}), plantest.Policy(v1beta2.PodPolicy{Containers: []corev1.Container{{Name: "a", Image: "b", Command: []string{"c"}}}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := clustertest.State(plantest.Formed, plantest.Members(3), test.was), clustertest.State(plantest.Formed, plantest.Members(3), test.is)
			if restarts := Template(was) != Template(is); restarts != test.restarts {
				t.Errorf("restarts = %t, want %t", restarts, test.restarts)
			}
			var m state.Member
			ObserveTemplate(is, &m, unmarked(t, "rejoin"))
			if test.restarts && Template(was) == Template(clustertest.State()) && !m.Outdated {
				t.Error("a Pod of the first release, which had no such field, counts as made for it")
			}
		})
	}
}

func none(*state.State) {}
