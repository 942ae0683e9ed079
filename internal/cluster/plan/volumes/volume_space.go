package volumes

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// besideDatabase is what a volume needs beside the database: etcd keeps five write-ahead logs of 64 MB and five raft
// snapshots (https://etcd.io/docs/v3.6/op-guide/configuration/), and more of them for a member that is behind.
const besideDatabase = int64(1) << 30

// WarnOfFullVolumes warns while there is time: a member whose volume is full cannot start, and all members fill together.
func WarnOfFullVolumes(s state.State) steps.Step {
	for _, m := range s.Membership() {
		if m.Volume == state.VolumePresent && m.VolumeCapacity > 0 && m.DBSize+besideDatabase > m.VolumeCapacity && m.DBSize > m.VolumeCapacity/2 {
			return steps.VolumeMayFill{Name: m.Name, Message: fmt.Sprintf("Volume %s of %s is nearly full: the database has more than half of it, and the logs of etcd need about %s. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage.",
				m.Name, state.BytesOf(m.VolumeCapacity), state.BytesOf(besideDatabase))}
		}
	}
	for _, m := range s.Membership() {
		quota := state.QuotaOf(s, m)
		needs := quota + quota/4 + besideDatabase
		if m.Volume == state.VolumePresent && m.VolumeCapacity > 0 && quota > 0 && m.VolumeCapacity < needs {
			return steps.VolumeMayFill{Name: m.Name, Message: fmt.Sprintf("Volume %s of %s can become full before the database reaches its space quota of %s: that needs about %s. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage, or lower %s.",
				m.Name, state.BytesOf(m.VolumeCapacity), state.BytesOf(quota), state.BytesOf(needs), state.QuotaField(s))}
		}
	}
	return nil
}
