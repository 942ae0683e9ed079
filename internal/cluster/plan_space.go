package cluster

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// noSpace says that etcd refuses writes because its space quota is used up, and what to do. What to delete, or to
// forget of history, is for those to say whose data it is.
func noSpace(s State) Step {
	for _, m := range s.membership() {
		if m.NoSpace {
			return Wait{
				Why: v1beta2.ReasonNoSpace,
				Message: fmt.Sprintf("etcd refuses writes: the space quota is used up (the database of member %s has %s): compact, defragment and disarm the alarm, or raise ETCD_QUOTA_BACKEND_BYTES in spec.pod.etcdEnv; reads and deletions go on",
					m.Name, bytesOf(m.DBSize)),
				Stalled: true,
			}
		}
	}
	return nil
}
