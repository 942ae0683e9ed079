package act

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// The cache of a new leader did not have the EtcdRestore yet. The operator treated it as deleted, ended the restore and removed the seed.
// A user who needed the restored data had to start again.
func TestARestoreIsNotCancelledOnAnOldCache(t *testing.T) {
	restore := func(uid types.UID, deleting bool) client.Object {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: uid}}
		if deleting {
			r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: plantest.Noon}, []string{"example.com/held"}
		}
		return r
	}
	with := func(kinds ...string) client.Object {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}}
		for _, kind := range kinds {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
		}
		r.Status.Snapshot, r.Status.Source = &v1beta2.Snapshot{}, &v1beta2.RestoreSource{}
		return r
	}
	for name, test := range map[string]struct {
		live       []client.Object
		unverified bool // as the cache shows it
		behind     bool
	}{
		"the EtcdRestore exists":                            {[]client.Object{restore("uid-back", false)}, false, true},
		"the EtcdRestore is verified":                       {[]client.Object{with(v1beta2.ConditionVerified)}, false, true},
		"the EtcdRestore is verified, but not in the cache": {[]client.Object{with(v1beta2.ConditionVerified)}, true, true},
		"the EtcdRestore has lost its conditions":           {[]client.Object{with()}, true, false},
		"the EtcdRestore has failed":                        {[]client.Object{with(v1beta2.ConditionVerified, v1beta2.ConditionFailed)}, false, false},
		"the EtcdRestore is being deleted":                  {[]client.Object{restore("uid-back", true)}, false, false},
		"another EtcdRestore has its name":                  {[]client.Object{restore("uid-other", false)}, false, false},
		"the EtcdRestore does not exist any more":           {nil, false, false},
	} {
		for _, step := range []steps.Step{steps.FailRestore{}, steps.ReturnToSeeding{}} {
			a, v := actorBeside(t, test.live...)
			v.RestoreUnverified = test.unverified
			v.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSwitching, Incarnation: 2}
			if err := a.confirmer.ConfirmCancelled(t.Context(), v); errors.Is(err, view.ErrBehind) != test.behind || !test.behind && err != nil {
				t.Errorf("%s: %T: %v", name, step, err)
			}
			if err := a.Act(t.Context(), v, step); test.behind && !errors.Is(err, view.ErrBehind) {
				t.Errorf("%s: %T is taken", name, step)
			}
		}
	}
}

// A user paused the cluster during the switch, deleted the EtcdRestore and continued. The cache showed the deletion late, so the
// operator stopped the members: the writes since the safety snapshot were lost.
func TestNoMemberIsStoppedForARestoreThatWasDeleted(t *testing.T) {
	for name, exists := range map[string]bool{"the EtcdRestore exists": true, "the EtcdRestore was deleted": false} {
		pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", "m", nil)}
		objects := []client.Object{pod}
		if exists {
			objects = append(objects, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}})
		}
		a, v := actorBeside(t, objects...)
		v.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSwitching, Incarnation: 2}
		v.Cluster.Status.Restore = v.Restore
		if err := a.Client.Status().Update(t.Context(), v.Cluster); err != nil {
			t.Fatal(err)
		}
		v.Request = &state.RestoreRequest{Name: "back", UID: "uid-back"}
		v.Members = []state.Member{{Name: "m", Incarnation: 1, Pod: state.PodRunning}}
		err := a.Act(t.Context(), v, steps.StopMembers{Except: 2})
		stopped := apierrors.IsNotFound(a.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
		if stopped != exists || errors.Is(err, view.ErrBehind) == exists {
			t.Errorf("%s: stopped %t, error %v", name, stopped, err)
		}
	}
}
