package cluster

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// A user exported the claim of a member, changed its name and applied it, to get a copy of the data. The copy had the labels, annotations and
// owner of the original. After a hibernation, the operator started a member on the copy: a second etcd with the identity and the vote of the
// first. Otherwise it deleted the copy.
func TestACopyOfAMembersVolumeIsLeftAlone(t *testing.T) {
	s := clustertest.State(plantest.Formed)
	for name, change := range map[string]func(original, replica *corev1.PersistentVolumeClaim){
		"a copy with its owner": func(_, _ *corev1.PersistentVolumeClaim) {},
		"a copy without owner of a volume that is kept": func(original, replica *corev1.PersistentVolumeClaim) {
			original.OwnerReferences, replica.OwnerReferences = nil, nil
		},
	} {
		original := pods.NewVolume(s, steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, InitialSize: 1})
		original.OwnerReferences = clustertest.Controlled("uid-example", plantest.NameOf(0), nil).OwnerReferences
		replica := original.DeepCopy()
		replica.Name = "copy-of-monday"
		change(original, replica)
		r, v := beside(t, original, replica)
		v.ClusterID, v.Incarnation, v.Spec.Size = plantest.OldID, 1, 1
		if original.OwnerReferences == nil {
			v.Spec.VolumeRetention = &v1beta2.VolumeRetentionPolicy{WhenDeleted: v1beta2.RetainVolumes}
		}
		if err := r.observer.ObserveMembers(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		v.Services = s.Services
		if len(v.Members) != 1 || v.Members[0].Name != plantest.NameOf(0) {
			t.Errorf("%s: the members are %+v", name, v.Members)
		}
		if create, is := plan.Plan(v.State).(steps.CreateMember); !is || create.Name != plantest.NameOf(0) {
			t.Errorf("%s: the plan is %+v", name, plan.Plan(v.State))
		}
		if err := r.actor.Act(t.Context(), v, steps.DeleteVolume{Name: replica.Name}); !errors.Is(err, view.ErrForeign) {
			t.Errorf("%s: the copy is deleted: %v", name, err)
		}
	}
}
