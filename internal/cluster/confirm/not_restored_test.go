package confirm

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// A user creates an EtcdRestore a second before the day of the volume is over. The cache does not have it yet, and the data would be deleted that the user wants back.
func TestAVolumeIsNotDeletedIfTheCacheLacksTheEtcdRestoreThatNamesIt(t *testing.T) {
	restore := func(cluster, claim string, conditions ...string) *v1beta2.EtcdRestore {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "back", UID: "uid-back"}}
		r.Spec.EtcdCluster.Name, r.Spec.Volume = cluster, &v1beta2.RestoreVolume{ClaimName: claim}
		for _, c := range conditions {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: c, Status: metav1.ConditionTrue})
		}
		return r
	}
	elsewhere := restore("other", "old")
	elsewhere.Namespace = "other"
	for name, c := range map[string]struct {
		live client.Object
		kept bool
	}{
		"an EtcdRestore of this EtcdCluster names it":    {restore("example", "old"), true},
		"an EtcdRestore of another EtcdCluster names it": {restore("other", "old"), true},
		"an EtcdRestore that has failed names it":        {restore("other", "old", v1beta2.ConditionFailed), false},
		"an EtcdRestore names another volume":            {restore("other", "older"), false},
		"an EtcdRestore of another namespace names it":   {elsewhere, false},
	} {
		confirmer, v := confirmerBeside(t, c.live)
		v.Now = plantest.Noon
		confirmer.Client = clustertest.WithClock(confirmer.Client, v.Now, nil)
		confirmer.Times = &dryrun.Times{KubeAPI: confirmer.KubeAPI}
		plantest.Aside("old", 48*time.Hour)(&v.State)
		if err := confirmer.ConfirmData(t.Context(), v, steps.DeleteVolume{Name: "old"}); c.kept != errors.Is(err, view.ErrBehind) || !c.kept && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
