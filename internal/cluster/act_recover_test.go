package cluster

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// A process that was paused for an hour acts on an old state. With the flag, it would remove the members that the
// cluster has added since.
func TestTheFlagIsUsedOnlyWhereTheAPIStillSaysSo(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	podOf := func(name, owner string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: map[string]string{v1beta2.LabelCluster: "example"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "EtcdCluster", Name: "example", UID: "uid-" + "example", Controller: ptr.To(owner != "")}},
		}}
	}
	at := metav1.Now()
	tests := map[string]struct {
		recovery *v1beta2.ClusterRecoveryStatus
		pod      *corev1.Pod
		want     error
		withdraw bool
	}{
		"the consent was withdrawn":                    {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, podOf("m", "us"), errNoConsent, true},
		"the recovery still needs the flag":            {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, podOf("m", "us"), nil, false},
		"a foreign Pod exists":                         {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, podOf("x", ""), nil, false},
		"the Pod of another member exists":             {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, podOf("x", "us"), errNotAlone, false},
		"the Pod of another member has ended":          {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, ended(podOf("x", "us"), false), nil, false},
		"the node of another member's Pod was deleted": {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, ended(podOf("x", "us"), true), errNotAlone, false},
		"the recovery no longer needs the flag":        {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: "m"}, podOf("m", "us"), errNoLongerForced, false},
		"another survivor was chosen since":            {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "x"}, podOf("m", "us"), errNoLongerForced, false},
		"the flag is not recorded":                     {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m"}, podOf("m", "us"), errNoLongerForced, false},
		"the recovery was cancelled":                   {nil, podOf("m", "us"), errNoLongerForced, false},
	}
	for name, test := range tests {
		cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", UID: "uid-example"}}
		cluster.Status.Recovery = test.recovery
		if !test.withdraw {
			cluster.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		}
		api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, test.pod).Build()
		r := &Reconciler{Client: api, APIReader: api}
		v := &view{State: plan.NewState(cluster), cluster: cluster, known: &remembered{}}
		if err := r.confirmForce(t.Context(), v, plan.CreateMember{Name: "m", Start: plan.StartForce}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if err := r.confirmForce(t.Context(), v, plan.CreateMember{Name: "m", Start: plan.StartRejoin}); err != nil {
			t.Errorf("%s, without the flag: %v", name, err)
		}
	}
}

// ended: the kubelet reported that the containers of a Pod have ended. If its node was deleted, only the garbage collector of Kubernetes
// set its phase. A process may still run there.
func ended(pod *corev1.Pod, running bool) *corev1.Pod {
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: plan.EtcdContainer}}}
	if running {
		pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	} else {
		pod.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{}
	}
	return pod
}

// A tool removed the annotations of the survivor's Pod. The operator treated the Pod as one without the flag, let the client Service
// select it, and added members. When etcd restarted in place, it removed them, and they continued as another cluster.
func TestAPodWithTheFlagIsSeenWithoutItsAnnotations(t *testing.T) {
	s := state(formed, members(3), noQuorum, with(0, withoutPod), with(1, gone), with(2, gone), consenting, forcing(0))
	for name, start := range map[string]plan.Start{"the Pod has the flag": plan.StartForce, "the Pod does not have the flag": plan.StartRejoin} {
		pod := newPod(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, Start: start}, "")
		r, v := beside(t, pod)
		if err := controllerutil.SetControllerReference(v.cluster, pod, r.Client.Scheme()); err != nil {
			t.Fatal(err)
		}
		pod.Annotations = nil
		var m plan.Member
		observePod(&m, pod, noon)
		if flagged := start == plan.StartForce; (m.Start == plan.StartForce) != flagged {
			t.Errorf("%s: the Pod is seen to start with %q", name, m.Start)
		}
		v.State = s
		if v.unlabelled(pod) {
			t.Errorf("%s: a Service is to select the Pod with %v", name, v.wantedLabels(pod))
		}
	}
}
