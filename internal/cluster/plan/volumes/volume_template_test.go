package volumes_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestAClusterWhoseNextMemberCouldGetNoVolumeIsNotReady(t *testing.T) {
	for says, spec := range map[string]corev1.PersistentVolumeClaimSpec{
		"volumeMode is Block": {VolumeMode: ptr.To(corev1.PersistentVolumeBlock)},
		"volumeName is pv-1":  {VolumeName: "pv-1"},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &spec} })
		wait, waits := plan.Plan(s).(steps.Wait)
		if !waits || wait.Reason != v1beta2.ReasonInvalidSpec || !strings.Contains(wait.Message, says) {
			t.Errorf("the plan is %+v, want a wait that says %q", wait, says)
		}
	}
}

// A copy of a member's volume has that member's ID. A second member that starts on it votes twice.
func TestATemplateWithADataSourceIsReported(t *testing.T) {
	snapshot := &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "prod-0"}
	for field, spec := range map[string]corev1.PersistentVolumeClaimSpec{
		"dataSource":    {DataSource: snapshot},
		"dataSourceRef": {DataSourceRef: &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "prod-0"}},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &spec} })
		wait, waits := plan.Plan(s).(steps.Wait)
		if !waits || !wait.Stalled || wait.Reason != v1beta2.ReasonInvalidSpec {
			t.Fatalf("%s: the plan is %+v, want a wait for a person", field, wait)
		}
		for _, says := range []string{"spec.pod.persistentVolumeClaimSpec." + field, "prod-0", "restore a snapshot with an EtcdRestore"} {
			if !strings.Contains(wait.Message, says) {
				t.Errorf("%s: the message does not say %q: %s", field, says, wait.Message)
			}
		}
	}
}
