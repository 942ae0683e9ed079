package cluster

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// firstIncarnation is the life that a cluster is bootstrapped with.
const firstIncarnation int32 = 1

// awaitRestore: a cluster that was made together with its restore boots from it and never empty.
func awaitRestore(s State) Step {
	if s.Formed() || s.RestorePending == "" || len(s.Members) > 0 {
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
	for _, m := range s.incarnation(firstIncarnation) {
		if m.InitialSize > 0 {
			size = m.InitialSize
		}
		if m.Serving {
			return RecordFormed{ClusterID: m.ClusterID.String(), Incarnation: firstIncarnation}
		}
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
	for _, name := range s.initialNames(incarnation, size) {
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
