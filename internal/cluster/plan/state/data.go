package state

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// AccusedIn reads which members the CORRUPT alarms named. What is no ID names none.
func AccusedIn(status v1beta2.EtcdClusterStatus) []etcd.ID {
	var ids []etcd.ID
	for _, text := range status.AccusedMembers {
		if id, err := etcd.ParseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Places of data. Whoever stops the Pod of a member with InPodOnly deletes that data.
const (
	// NoData: the member has never had data, or nothing of it is left.
	NoData Data = ""
	// OnVolume: its next Pod has the data.
	OnVolume Data = "OnVolume"
	// InPodOnly: the data exists as long as its Pod does.
	InPodOnly Data = "InPodOnly"
)

// Same reports whether two claims have the same data behind them. A claim that was created again for the same PersistentVolume has, and
// one that has the UID of the other is the same claim: its PersistentVolume was bound later. What is not known does not differ.
func (id VolumeID) Same(other VolumeID) bool {
	if id.Volume != "" && other.Volume != "" {
		return id.Volume == other.Volume
	}
	return id.Claim == "" || other.Claim == "" || id.Claim == other.Claim
}

// Durable says whether members keep their data apart from their Pods.
func (s State) Durable() bool { return s.Spec.Pod == nil || s.Spec.Pod.EmptyDir == nil }

// InPod says whether the data of a member is in its Pod. The spec decides only about Pods that are yet to be created.
func InPod(s State, m Member) bool { return m.DataInPod || !s.Durable() }

// ServedOn returns the volume that a member was last seen to serve on. It is not known for a member of an earlier release that has not
// served since, nor if the status was lost. A record of an earlier member of the same name does not count.
func ServedOn(s State, m Member) (VolumeID, bool) {
	id, known := s.KnownVolumes[m.Name]
	if was := s.KnownIDs[m.Name]; m.ID != 0 && was != 0 && was != m.ID {
		return VolumeID{}, false
	}
	return id, known
}

// CanCompareData says whether a member can be asked for its hash.
func (m Member) CanCompareData(incarnation int32) bool {
	return m.Incarnation == incarnation && m.InMembership && !m.Learner && m.Answers
}

// CommonRevision is the one that all voters that answer have reached.
func CommonRevision(s State) (revision int64, ok bool) {
	for _, m := range s.Members {
		if m.CanCompareData(s.Incarnation) && (!ok || m.Revision < revision) {
			revision, ok = m.Revision, true
		}
	}
	return revision, ok
}

var defaultStorage = resource.MustParse(v1beta2.DefaultMemberStorage)

// StorageRequest is how large a member's volume is to be.
func StorageRequest(s State) resource.Quantity {
	if given := s.PodPolicy().PersistentVolumeClaimSpec; given != nil {
		if size, ok := given.Resources.Requests[corev1.ResourceStorage]; ok {
			return size
		}
	}
	return defaultStorage
}

// BytesOf writes a number of bytes as a quantity of Kubernetes.
func BytesOf(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
