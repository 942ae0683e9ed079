package confirm

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
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
		"the Pod of another member has ended":          {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, clustertest.Ended(podOf("x", "us"), false), nil, false},
		"the node of another member's Pod was deleted": {&v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: "m", ForcedAt: &at}, clustertest.Ended(podOf("x", "us"), true), errNotAlone, false},
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
		c := &Confirmer{Lists: &kubecache.Lists{KubeAPI: &view.KubeAPI{Client: api, APIReader: api}}}
		v := &view.View{State: state.NewState(cluster), Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
		if err := c.ConfirmForce(t.Context(), v, steps.CreateMember{Name: "m", Start: state.StartForce}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if err := c.ConfirmForce(t.Context(), v, steps.CreateMember{Name: "m", Start: state.StartRejoin}); err != nil {
			t.Errorf("%s, without the flag: %v", name, err)
		}
	}
}
