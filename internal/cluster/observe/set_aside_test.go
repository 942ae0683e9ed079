package observe

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

func TestACopyOfAVolumeThatWasSetAsideIsLeftAlone(t *testing.T) {
	original := pods.NewVolume(clustertest.State(plantest.Formed), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1})
	original.Labels[v1beta2.LabelReplacedOf], original.Annotations[v1beta2.AnnotationReplacedAt] = "example", "2026-03-01T12:00:00Z"
	replica := original.DeepCopy()
	replica.Name = "copy-of-monday"
	o, v := observerBeside(t, original, replica)
	if err := o.ObserveSetAside(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if len(v.SetAside) != 1 || v.SetAside[0].Name != plantest.NameOf(0) {
		t.Errorf("set aside are %+v", v.SetAside)
	}
}
