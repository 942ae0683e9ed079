package cluster

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func TestPlanSpace(t *testing.T) {
	planTests{
		"says what to do when the space quota is used up": {
			state(formed, members(3), with(1, func(m *Member) { m.NoSpace, m.DBSize = true, 2*gi })),
			Wait{
				Why:     v1beta2.ReasonNoSpace,
				Message: "etcd refuses writes: the space quota is used up (the database of member " + nameOf(1) + " has 2Gi): compact, defragment and disarm the alarm, or raise ETCD_QUOTA_BACKEND_BYTES in spec.pod.etcdEnv; reads and deletions go on",
				Stalled: true,
			},
		},
		"goes on with all else meanwhile": {
			state(formed, members(3), size(1), with(1, func(m *Member) { m.NoSpace = true })),
			RemoveMember{ID: 3, Name: nameOf(2)},
		},
	}.run(t)
}
