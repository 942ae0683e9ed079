package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// besideDatabase is what a volume needs beside the database: etcd keeps five write-ahead logs of 64 MB and five raft
// snapshots (https://etcd.io/docs/v3.6/op-guide/configuration/), and more of them for a member that is behind.
const besideDatabase = int64(1) << 30

// VolumeMayFill says that the cluster is as its spec asks, and that a volume is too small for what etcd may write.
type VolumeMayFill struct{ Name, Message string }

func (step VolumeMayFill) describe(State) planning.Description {
	d := warned(planning.Description{Reason: v1beta2.ReasonVolumeMayFill, Message: step.Message, Requeue: requeueSettled}, v1beta2.ReasonVolumeMayFill, "Check")
	d.Events[0].About = planning.Volume(step.Name)
	return d
}

// warnOfFullVolumes warns while there is time: a member whose volume is full cannot start, and all members fill together.
func warnOfFullVolumes(s State) Step {
	for _, m := range s.membership() {
		if m.Volume == VolumePresent && m.VolumeCapacity > 0 && m.DBSize+besideDatabase > m.VolumeCapacity && m.DBSize > m.VolumeCapacity/2 {
			return VolumeMayFill{Name: m.Name, Message: fmt.Sprintf("Volume %s of %s is nearly full: the database has more than half of it, and the logs of etcd need about %s. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage.",
				m.Name, bytesOf(m.VolumeCapacity), bytesOf(besideDatabase))}
		}
	}
	for _, m := range s.membership() {
		quota := s.quotaOf(m)
		needs := quota + quota/4 + besideDatabase
		if m.Volume == VolumePresent && m.VolumeCapacity > 0 && quota > 0 && m.VolumeCapacity < needs {
			return VolumeMayFill{Name: m.Name, Message: fmt.Sprintf("Volume %s of %s can become full before the database reaches its space quota of %s: that needs about %s. A member whose volume is full cannot start. Raise spec.pod.persistentVolumeClaimSpec.resources.requests.storage, or lower %s.",
				m.Name, bytesOf(m.VolumeCapacity), bytesOf(quota), bytesOf(needs), s.quotaField())}
		}
	}
	return nil
}
