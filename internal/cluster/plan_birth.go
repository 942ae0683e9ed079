package cluster

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// firstIncarnation is the life that a cluster is bootstrapped with.
const firstIncarnation int32 = 1

// awaitRestore: a cluster that was made together with its restore boots from it and never empty.
func awaitRestore(s State) Step {
	begun := slices.ContainsFunc(s.Members, func(m Member) bool { return m.InitialSize > 0 })
	if s.Formed() || s.RestorePending == "" || begun {
		return nil
	}
	return Wait{
		Why:     v1beta2.ReasonWaitingForRestore,
		Message: "starts from EtcdRestore " + s.RestorePending + ", and not empty; delete that EtcdRestore to start empty",
	}
}

// bootstrap forms a cluster that never was: all members at once, then its ID is kept for good.
func bootstrap(s State) Step {
	if s.Formed() {
		return nil
	}
	size := s.Spec.Size
	for _, m := range s.Members {
		switch {
		case s.Restore != nil && m.Incarnation == s.Restore.Incarnation:
			continue
		case m.InitialSize == 0:
			return unexplained(m)
		case m.Serving:
			return RecordFormed{ClusterID: m.ClusterID.String(), Incarnation: firstIncarnation}
		}
		size = m.InitialSize
	}
	if !s.complete(firstIncarnation, size) {
		if s.NoStorageClass {
			return noStorageClass()
		}
		return CreateMembers{Incarnation: firstIncarnation, Size: size}
	}
	if wait := blocked(s.Members); wait != nil {
		return wait
	}
	return Wait{Why: v1beta2.ReasonCreating, Message: "the members are starting: " + unanswered(s.Members)}
}

// unexplained: only a formed cluster, or a restore that status tells of, has members that it was not bootstrapped
// with. Both were asked for before, so the status and the client Service were lost.
func unexplained(m Member) Step {
	return Wait{
		Why:     v1beta2.ReasonMemberDown,
		Message: "member " + m.Name + " is of a cluster that has formed, and its ID was lost with the status and the client Service: apply an EtcdRestore, or delete the Pods and PersistentVolumeClaims to start empty",
		Stalled: true,
	}
}

// complete says whether every initial member has its Pod and volume.
func (s State) complete(incarnation int32, size int) bool {
	have := make(map[string]Member, len(s.Members))
	for _, m := range s.incarnation(incarnation) {
		have[m.Name] = m
	}
	for _, name := range s.InitialNames(incarnation, size) {
		m, ok := have[name]
		if !ok || m.Pod == PodNone || (s.Durable() && m.Volume == VolumeNone) {
			return false
		}
	}
	return true
}

func noStorageClass() Step {
	return Wait{
		Why:     v1beta2.ReasonNoStorageClass,
		Message: "there is no default StorageClass: mark one as default, or name one in spec.pod.persistentVolumeClaimSpec.storageClassName, or accept that data is lost with its Pod by spec.pod.emptyDir: {}",
		Stalled: true,
	}
}
