package killer_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestStatusNamesWhyMembersDoNotServe causes faults of members one after another. After each, the cluster must be Ready again.
func TestStatusNamesWhyMembersDoNotServe(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: older})
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)

	b.step("the spec skips a minor version", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newest })
		b.reportsFault("minor-version-skipped", "one minor version at a time", "Set spec.version to the version that the message names")
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = older })
		b.operate(&killer.Count{}, "accept the version", b.isReady)
	})
	b.step("an annotation asks to fence a quorum", func(b *bench) {
		m := b.cluster.Status.MemberStatuses
		b.annotate(v1beta2.AnnotationFence, m[0].Name+","+m[1].Name)
		b.reportsFault("quorum-fenced", "must keep a quorum, 2 of 3 voters", "Remove a name from the annotation")
		b.annotate(v1beta2.AnnotationFence, "")
		b.operate(&killer.Count{}, "lift the fence", b.isReady)
	})
	b.step("the cluster is paused, and a member is lost", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Paused = true })
		lost := b.cluster.Status.MemberStatuses[0].Name
		b.delete(&corev1.Pod{}, lost)
		b.reportsFault("paused", lost, "Set spec.paused to false")
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Paused = false })
		b.operate(&killer.Count{}, "recreate the Pod", b.isReady)
	})
	b.step("etcd does not accept an option of the spec", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_HEARTBEAT_INTERVAL", Value: "soon"}}}
		})
		b.reportsFault("etcd-option-wrong", `invalid value "soon" for ETCD_HEARTBEAT_INTERVAL`, "Correct the cause in spec.pod")
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Pod = nil })
		b.operate(&killer.Count{}, "restart the member without it", b.isReady)
	})
	b.step("a member hangs", func(b *bench) {
		victim := b.cluster.Status.MemberStatuses[0].Name
		b.pods.Freeze(victim)
		b.reportsFault("member-hangs", "Member "+victim+" does not serve", "the operator replaces it")
		b.pods.Kill(victim)
		b.operate(&killer.Count{}, "serve again", b.isReady)
	})
	b.step("two of three members hang", func(b *bench) {
		m := b.cluster.Status.MemberStatuses
		b.pods.Freeze(m[0].Name)
		b.pods.Freeze(m[1].Name)
		kubetest.Eventually(b, "their Pods are not ready", func(context.Context) error {
			if n := len(b.traffic.selected(b.Context())); n > 1 {
				return fmt.Errorf("the client Service selects %d members", n)
			}
			return nil
		})
		b.reportsFault("quorum-hangs", "does not answer", "")
		b.pods.Kill(m[0].Name)
		b.pods.Kill(m[1].Name)
		b.operate(&killer.Count{}, "serve again", b.isReady)
	})
}
