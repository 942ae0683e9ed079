package cluster

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// A webhook may rewrite images for a mirror or to pin a digest. It must not cause endless restarts of all members.
func TestAMemberWhoseImageAdmissionRewroteIsNotRestarted(t *testing.T) {
	s := state(formed, members(3))
	pod := newPod(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: plan.StartRejoin}, "")
	asked := pod.Spec.Containers[0].Image
	pod.Spec.Containers[0].Image = "mirror.example/etcd@sha256:0123"
	var m plan.Member
	observePod(&m, pod, s.Now)
	if m.PodImage != asked {
		t.Errorf("the Pod counts as one with image %s, want the one that was asked for: %s", m.PodImage, asked)
	}
	delete(pod.Annotations, annotationImage)
	observePod(&m, pod, s.Now)
	if m.PodImage != "mirror.example/etcd@sha256:0123" {
		t.Errorf("a Pod of an earlier release counts as one with image %s", m.PodImage)
	}
}
