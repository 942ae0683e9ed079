package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func TestAClusterWhoseNextMemberCouldGetNoVolumeIsNotReady(t *testing.T) {
	for says, spec := range map[string]corev1.PersistentVolumeClaimSpec{
		"volumeMode is Block": {VolumeMode: ptr.To(corev1.PersistentVolumeBlock)},
		"volumeName is pv-1":  {VolumeName: "pv-1"},
	} {
		s := state(formed, members(3), func(s *State) { s.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &spec} })
		wait, waits := Plan(s).(Wait)
		if !waits || wait.Reason != v1beta2.ReasonInvalidSpec || !strings.Contains(wait.Message, says) {
			t.Errorf("the plan is %+v, want a wait that says %q", wait, says)
		}
	}
}
