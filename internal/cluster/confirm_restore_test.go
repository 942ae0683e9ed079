package cluster

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// The cache of a new leader did not have the EtcdRestore yet. The operator took it for deleted, ended the restore and removed the seed. A
// user who needed the restored data had to begin again.
func TestARestoreIsNotCancelledOnAnOldCache(t *testing.T) {
	restore := func(uid types.UID, deleting bool) client.Object {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: uid}}
		if deleting {
			r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: noon}, []string{"example.com/held"}
		}
		return r
	}
	for name, test := range map[string]struct {
		live   []client.Object
		behind bool
	}{
		"it exists":                  {[]client.Object{restore("uid-back", false)}, true},
		"it is being deleted":        {[]client.Object{restore("uid-back", true)}, false},
		"another one has its name":   {[]client.Object{restore("uid-other", false)}, false},
		"it does not exist any more": {nil, false},
	} {
		for _, step := range []plan.Step{plan.FailRestore{}, plan.ReturnToSeeding{}} {
			r, v := beside(t, test.live...)
			v.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSwitching, Incarnation: 2}
			if err := r.confirmCancelled(t.Context(), v); errors.Is(err, errBehind) != test.behind || !test.behind && err != nil {
				t.Errorf("%s: %T: %v", name, step, err)
			}
			if err := r.act(t.Context(), v, step); test.behind && !errors.Is(err, errBehind) {
				t.Errorf("%s: %T is taken", name, step)
			}
		}
	}
}
