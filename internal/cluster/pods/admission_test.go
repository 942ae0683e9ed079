package pods

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A webhook may rewrite images for a mirror or to pin a digest. It must not cause endless restarts of all members.
func TestAMemberWhoseImageAdmissionRewroteIsNotRestarted(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	pod := NewPod(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}, "")
	asked := pod.Spec.Containers[0].Image
	pod.Spec.Containers[0].Image = "mirror.example/etcd@sha256:0123"
	var m state.Member
	ObservePod(&m, pod, s.Now)
	if m.PodImage != asked {
		t.Errorf("the Pod counts as one with image %s, want the one that was asked for: %s", m.PodImage, asked)
	}
	delete(pod.Annotations, annotationImage)
	ObservePod(&m, pod, s.Now)
	if m.PodImage != "mirror.example/etcd@sha256:0123" {
		t.Errorf("a Pod of an earlier release counts as one with image %s", m.PodImage)
	}
}
