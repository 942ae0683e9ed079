package pods

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// etcd does not answer while it reads its database at the start, and while it is defragmented.
func TestTheKubeletLetsAMemberReadTheLargestDatabaseOnASlowDisk(t *testing.T) {
	const slow = 8 << 20 // bytes a second
	quota := func(bytes string) func(*state.State) {
		return func(s *state.State) {
			s.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: bytes}}}
		}
	}
	for name, test := range map[string]struct {
		change func(*state.State)
		size   int64
	}{
		"the default quota":             {func(*state.State) {}, 2 << 30},
		"a quota of 8 GiB":              {quota("8589934592"), 8 << 30},
		"no quota on a volume of 8 GiB": {quota("-1"), 8 << 30},
		"a quota from another object on a volume of 100 GiB": {func(s *state.State) {
			quota("")(s)
			s.Members[1].VolumeCapacity = 100 << 30
		}, 100 << 30},
		"no quota and no volume, so the maximum that etcd recommends": {func(s *state.State) {
			quota("-1")(s)
			s.Spec.Pod.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}, 8 << 30},
		"no quota and a limited emptyDir": {func(s *state.State) {
			quota("-1")(s)
			s.Spec.Pod.EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(20<<30, resource.BinarySI)}
		}, 20 << 30},
		"the size of the database before all members stopped": {func(s *state.State) { s.KnownDBSize = 7 << 30 }, 7 << 30},
		"the size of a member's database":                     {func(s *state.State) { s.Members[0].DBSize = 5 << 30 }, 5 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			s := clustertest.State(plantest.Formed, plantest.Members(3))
			test.change(&s)
			pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
			etcd := pod.Spec.Containers[0]
			for what, probe := range map[string]*corev1.Probe{"startup": etcd.StartupProbe, "liveness": etcd.LivenessProbe} {
				if got := int64(probe.FailureThreshold) * int64(probe.PeriodSeconds); got < test.size/slow {
					t.Errorf("the %s probe ends a member after %d s, and to read %d bytes takes %d s", what, got, test.size, test.size/slow)
				}
			}
		})
	}
}

func TestAMemberHasItsStartupBudgetUntilItsStartupProbeSucceeds(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, test := range map[string]struct {
		status corev1.ContainerStatus
		want   time.Duration
	}{
		"etcd is starting":                         {corev1.ContainerStatus{State: running, Started: ptr.To(false)}, 90 * time.Second},
		"etcd has started":                         {corev1.ContainerStatus{State: running, Started: ptr.To(true)}, 0},
		"the kubelet does not report it":           {corev1.ContainerStatus{State: running}, 0},
		"etcd has ended and waits for its restart": {corev1.ContainerStatus{Started: ptr.To(false)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			probe := &corev1.Probe{PeriodSeconds: 3, FailureThreshold: 30}
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: lifecycle.EtcdContainer, StartupProbe: probe}}}}
			test.status.Name = lifecycle.EtcdContainer
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{test.status}
			var m state.Member
			ObservePod(&m, pod, time.Now())
			if m.StartupBudget != test.want {
				t.Errorf("the startup budget is %s, want %s", m.StartupBudget, test.want)
			}
		})
	}
}
