package cluster

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// besideIndexed is beside with the indexes that the cache of a real operator has.
func besideIndexed(t *testing.T, objects ...client.Object) (*Reconciler, *view) {
	t.Helper()
	r, v := beside(t)
	b := fake.NewClientBuilder().WithScheme(r.Client.Scheme()).WithObjects(v.cluster.DeepCopy()).WithObjects(objects...)
	for _, index := range indexes() {
		b = b.WithIndex(index.kind, indexCluster, index.keys)
	}
	c := b.Build()
	r.Client, r.APIReader, r.indexed = c, c, true
	return r, v
}

func TestAPodOrVolumeWithoutLabelsIsStillTheMembersAndGetsThemBack(t *testing.T) {
	second := memberName(2, 0)
	for name, object := range map[string]metav1.ObjectMeta{
		"without labels":                           controlled("uid-example", second, nil),
		"without the cluster's label":              controlled("uid-example", second, map[string]string{v1beta2.LabelApp: "etcd", v1beta2.LabelMember: second, v1beta2.LabelIncarnation: "2"}),
		"with the label of another cluster":        controlled("uid-example", second, map[string]string{v1beta2.LabelCluster: "other"}),
		"with the number of another incarnation":   controlled("uid-example", second, map[string]string{v1beta2.LabelCluster: "example", v1beta2.LabelIncarnation: "1"}),
		"without owner, labels and annotations":    {Namespace: "ns", Name: second},
		"without owner and with the cluster label": {Namespace: "ns", Name: second, Labels: map[string]string{v1beta2.LabelCluster: "example"}},
	} {
		for which, make := range map[string]func(*testing.T, ...client.Object) (*Reconciler, *view){"no index": beside, "an index": besideIndexed} {
			t.Run(name+", "+which, func(t *testing.T) {
				r, v := make(t, &corev1.Pod{ObjectMeta: object}, &corev1.PersistentVolumeClaim{ObjectMeta: object})
				v.ClusterID, v.Incarnation = seedID, 2
				if err := r.observeMembers(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				if len(v.Members) != 1 || v.Members[0].Incarnation != 2 || v.Members[0].Volume != plan.VolumePresent || v.Members[0].Pod == plan.PodNone {
					t.Fatalf("the members are %+v", v.Members)
				}
				if !v.Members[0].Unlabelled || !v.Members[0].VolumeUnlabelled {
					t.Fatalf("the loss is not seen: %+v", v.Members)
				}
				for _, volume := range []bool{false, true} {
					if err := r.act(t.Context(), v, plan.RestoreLabels{Name: second, Volume: volume}); err != nil {
						t.Fatal(err)
					}
				}
				v.Members = nil
				if err := r.observeMembers(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				if len(v.Members) != 1 || v.Members[0].Unlabelled || v.Members[0].VolumeUnlabelled {
					t.Errorf("the members are %+v", v.Members)
				}
			})
		}
	}
}

func TestPodsAndVolumesOfOthersAreNoMembers(t *testing.T) {
	first := nameOf(0)
	users := map[string]string{v1beta2.LabelCluster: "example"}
	labels := map[string]string{v1beta2.LabelCluster: "example", v1beta2.LabelApp: "etcd"}
	for name, object := range map[string]metav1.ObjectMeta{
		"an object of an earlier cluster":           controlled("uid-earlier", first, labels),
		"an orphan of an earlier cluster":           {Namespace: "ns", Name: plan.State{Name: "example", UID: "uid-earlier"}.InitialNames(1, 1)[0], Labels: labels},
		"an object of the user with a similar name": {Namespace: "ns", Name: "example-backup", Labels: users},
	} {
		r, v := besideIndexed(t, &corev1.Pod{ObjectMeta: object}, &corev1.PersistentVolumeClaim{ObjectMeta: object})
		if err := r.observeMembers(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if left := v.IsForeign("Pod", object.Name); left != (object.Labels[v1beta2.LabelApp] != "") {
			t.Errorf("%s: foreign objects are %+v", name, v.Foreign)
		}
		if len(v.Members) > 0 {
			t.Errorf("%s: the members are %+v", name, v.Members)
		}
	}
}

// leaving is an object that is being deleted.
func leaving(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: noon}, []string{"kubernetes.io/pvc-protection"}
	return m
}

func TestDataIsNotCalledGoneAndNoNameIsReusedWhileTheVolumeExists(t *testing.T) {
	name := nameOf(0)
	gone := plan.RemoveMember{ID: 1, Name: name, Cause: plan.LostData}
	added := plan.AddLearner{Name: name}
	ready := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	for sentence, test := range map[string]struct {
		object client.Object
		step   plan.Step
		want   error
	}{
		"the volume exists":                                         {&corev1.PersistentVolumeClaim{ObjectMeta: controlled("uid-example", name, nil)}, gone, errBehind},
		"the volume of another cluster has the name":                {&corev1.PersistentVolumeClaim{ObjectMeta: controlled("uid-other", name, nil)}, gone, errForeign},
		"the Pod is ready, so it has data":                          {&corev1.Pod{ObjectMeta: controlled("uid-example", name, nil), Status: ready}, gone, errBehind},
		"the volume of a lost voter exists":                         {&corev1.PersistentVolumeClaim{ObjectMeta: controlled("uid-example", name, nil)}, plan.BeginRecovery{Member: "other"}, errBehind},
		"the volume of a lost voter is being deleted":               {&corev1.PersistentVolumeClaim{ObjectMeta: leaving(controlled("uid-example", name, nil))}, plan.BeginRecovery{Member: "other"}, nil},
		"a volume with the name of the new member exists":           {&corev1.PersistentVolumeClaim{ObjectMeta: controlled("uid-example", name, nil)}, added, errBehind},
		"a volume with the name of the new member is being deleted": {&corev1.PersistentVolumeClaim{ObjectMeta: leaving(controlled("uid-example", name, nil))}, added, errBehind},
		"the volume is being deleted":                               {&corev1.PersistentVolumeClaim{ObjectMeta: leaving(controlled("uid-example", name, nil))}, gone, nil},
		"a Pod with the name of the new member exists":              {&corev1.Pod{ObjectMeta: controlled("uid-example", name, nil)}, added, errBehind},
		"only objects of another cluster exist":                     {&corev1.Pod{ObjectMeta: controlled("uid-other", "other", nil)}, added, nil},
	} {
		r, v := beside(t, test.object)
		v.KnownVoters = []string{name}
		if err := r.confirmData(t.Context(), v, test.step); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", sentence, err, test.want)
		}
	}
}
