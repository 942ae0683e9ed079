package cluster

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// A user exported the claim of a member, changed its name and applied it, to get a copy of the data. The copy had the labels, annotations and
// owner of the original. After a hibernation, the operator started a member on the copy: a second etcd with the identity and the vote of the
// first. Otherwise it deleted the copy.
func TestACopyOfAMembersVolumeIsLeftAlone(t *testing.T) {
	s := state(formed)
	for name, change := range map[string]func(original, replica *corev1.PersistentVolumeClaim){
		"a copy with its owner": func(_, _ *corev1.PersistentVolumeClaim) {},
		"a copy without owner of a volume that is kept": func(original, replica *corev1.PersistentVolumeClaim) {
			original.OwnerReferences, replica.OwnerReferences = nil, nil
		},
	} {
		original := newVolume(s, plan.CreateMember{Name: nameOf(0), Incarnation: 1, InitialSize: 1})
		original.OwnerReferences = controlled("uid-example", nameOf(0), nil).OwnerReferences
		replica := original.DeepCopy()
		replica.Name = "copy-of-monday"
		change(original, replica)
		r, v := beside(t, original, replica)
		v.ClusterID, v.Incarnation, v.Spec.Size = oldID, 1, 1
		if original.OwnerReferences == nil {
			v.Spec.VolumeRetention = &v1beta2.VolumeRetentionPolicy{WhenDeleted: v1beta2.RetainVolumes}
		}
		if err := r.observeMembers(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		v.Services = s.Services
		if len(v.Members) != 1 || v.Members[0].Name != nameOf(0) {
			t.Errorf("%s: the members are %+v", name, v.Members)
		}
		if create, is := plan.Plan(v.State).(plan.CreateMember); !is || create.Name != nameOf(0) {
			t.Errorf("%s: the plan is %+v", name, plan.Plan(v.State))
		}
		if err := r.act(t.Context(), v, plan.DeleteVolume{Name: replica.Name}); !errors.Is(err, errForeign) {
			t.Errorf("%s: the copy is deleted: %v", name, err)
		}
	}
}

func TestACopyOfAVolumeThatWasSetAsideIsLeftAlone(t *testing.T) {
	original := newVolume(state(formed), plan.CreateMember{Name: nameOf(0), Incarnation: 1})
	original.Labels[v1beta2.LabelReplacedOf], original.Annotations[v1beta2.AnnotationReplacedAt] = "example", "2026-03-01T12:00:00Z"
	replica := original.DeepCopy()
	replica.Name = "copy-of-monday"
	r, v := beside(t, original, replica)
	if err := r.observeSetAside(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if len(v.SetAside) != 1 || v.SetAside[0].Name != nameOf(0) {
		t.Errorf("set aside are %+v", v.SetAside)
	}
}

// etcd takes one entry for each peer URL of a member. The operator read several entries as an earlier membership. So it deleted the Pod
// of a learner again and again after the Pod had ended once.
func TestAForeignMemberWithTwoPeerURLsIsNamedOnce(t *testing.T) {
	s := state(formed, members(3), func(s *plan.State) {
		s.ForeignMembers = []plan.ForeignMember{{ID: 0xf00, PeerURLs: []string{"http://10.0.0.5:2380", "http://10.1.0.5:2380"}}}
	})
	pod := newPod(s, plan.CreateMember{Name: nameOf(3), Incarnation: 1, Start: plan.StartJoin}, "")
	var m plan.Member
	observePod(&m, pod, noon)
	if want := strings.Join(s.JoinPeers(nameOf(3)), ","); m.Peers != want {
		t.Errorf("the Pod joins %s, want %s", m.Peers, want)
	}
}
