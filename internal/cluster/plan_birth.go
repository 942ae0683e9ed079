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

// strangers: only a formed cluster, or a restore that the status tells of, has members that it was not bootstrapped
// with. So they are those of another operator, or the status and the client Service were lost. Nothing of them is
// touched, the Service that their clients use included; a restore may take their place.
func strangers(s State) Step {
	if s.Formed() || s.Request != nil || s.restoring() {
		return nil
	}
	for _, m := range s.Members {
		failedSeed := s.Restore != nil && m.Incarnation == s.Restore.Incarnation
		if m.InitialSize == 0 && !failedSeed {
			return Wait{
				Why:     v1beta2.ReasonNotOurs,
				Message: "member " + m.Name + " was not made by this operator, or the cluster's ID was lost with its status: nothing is touched; save it with an EtcdBackup by etcdEndpoints, and apply an EtcdRestore of that snapshot",
				Stalled: true,
			}
		}
	}
	return nil
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
