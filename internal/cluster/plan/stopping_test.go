package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// hasStopped: the kubelet has confirmed that nothing of its Pod runs any more, and the object is still there.
func hasStopped(m *Member) {
	pod(PodDeleting)(m)
	m.Stopped = true
}

// The kubelet deletes the object only after it has unmounted the volumes, and the next Pod has the same name.
func TestAMemberThatHasStoppedIsStartedWithoutWaitingForItsKubelet(t *testing.T) {
	waits := Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " is stopping."}
	deletes := ForceDeletePod{Name: nameOf(1), Stopped: true}
	planTests{
		"deletes the object of a Pod that has stopped":                        {state(formed, members(3), with(1, hasStopped)), deletes},
		"deletes the object of a Pod that has stopped, even without a quorum": {state(formed, members(3), noQuorum, with(1, hasStopped)), deletes},
		"waits while the containers of the Pod may run":                       {state(formed, members(3), with(1, pod(PodDeleting))), waits},
		"waits if a finalizer keeps the object":                               {state(formed, members(3), with(1, hasStopped, func(m *Member) { m.Held = true })), waits},
		"keeps the object while the volume is deleted with the Pod":           {state(formed, members(3), with(1, hasStopped, volume(VolumeDeleting))), waits},
	}.run(t)
}
