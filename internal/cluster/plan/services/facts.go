package services

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// What members, volumes and Services show outranks the status, because anyone with the right to do so can edit it, and
// a backup tool can put back an old one.

// CorrectClusterID takes the cluster ID that a quorum answered with. 0 means that no quorum answered.
func CorrectClusterID(s *state.State, proven etcd.ID) {
	if !s.Formed() || proven == 0 {
		return
	}
	s.ClusterIDProven = true
	if s.ClusterID != proven.String() {
		s.Corrected = append(s.Corrected, fmt.Sprintf("The status had the wrong cluster ID %s. A quorum of the members has %s, and the operator has corrected the status.", s.ClusterID, proven))
		s.ClusterID = proven.String()
	}
	if selectsAhead(*s) && provenOnService(*s) {
		s.Corrected = append(s.Corrected, fmt.Sprintf("Service %s selects the wrong incarnation %d. A quorum of incarnation %d answers with the cluster ID on the Service, and the operator corrects the Service.",
			s.ClientService(), s.Services.ClientIncarnation, s.Incarnation))
	}
}

// selectsAhead reports whether the client Service selects a later incarnation than that of the members.
func selectsAhead(s state.State) bool {
	return s.Formed() && s.Services.ClientIncarnation > s.Incarnation
}

// provenOnService reports whether a quorum of the members answers with the cluster ID that is written on the client Service.
// Each incarnation has an ID of its own, so the Service was made for these members, and its selector is wrong.
func provenOnService(s state.State) bool {
	return s.ClusterIDProven && s.Services.ClientClusterID == s.ClusterID
}

// CorrectIncarnation takes the incarnation that the client Service selects, or else the only one that there are members
// of, if the status has one without members. It is never lower than that of the Service, if that has members.
func CorrectIncarnation(s *state.State) {
	if !s.Formed() {
		return
	}
	is := incarnationShown(*s)
	if is == s.Incarnation {
		return
	}
	s.Corrected = append(s.Corrected, fmt.Sprintf("The status had the wrong incarnation %d. The members and the client Service have incarnation %d, and the operator has corrected the status.", s.Incarnation, is))
	s.Incarnation, s.KnownVoters, s.KnownIDs, s.KnownVolumes, s.Recovery, s.IncarnationCorrected = is, nil, nil, nil, nil, true
	correctSwitch(s)
	if is != s.Services.ClientIncarnation {
		return
	}
	s.ClusterID = cmp.Or(s.Services.ClientClusterID, s.ClusterID)
	if s.Restore == nil || (s.Restore.Incarnation <= is && s.Restore.UID != s.Services.ClientRestoreUID) {
		state.RecogniseRestore(s)
	}
}

// incarnationShown returns the incarnation that the client Service and the members show.
func incarnationShown(s state.State) int32 {
	there := incarnationsThere(s)
	selected, is := s.Services.ClientIncarnation, s.Incarnation
	justRestored := s.Restore != nil && s.Restore.Incarnation == is && (state.RestoreStep(s) == v1beta2.RestoreGrowing || state.RestoreStep(s) == v1beta2.RestoreComplete)
	switch {
	case selected > is && slices.Contains(there, selected):
		return selected
	case selected == is || slices.Contains(there, is) || justRestored:
		return is
	case slices.Contains(there, selected) || (len(there) == 0 && selected != 0):
		return selected
	case len(there) == 1:
		return there[0]
	}
	return is
}

// correctSwitch records that a switch was done if the corrected incarnation is that of the seed. Another seed must not start
// beside its members.
func correctSwitch(s *state.State) {
	if s.Restore != nil && s.Restore.Incarnation == s.Incarnation && (state.RestoreStep(*s) == v1beta2.RestoreSeeding || s.Switching()) {
		s.Restore = s.Restore.DeepCopy()
		s.Restore.Step = v1beta2.RestoreGrowing
	}
}

// incarnationsThere are those of which there are Pods or volumes, but for the seed of a restore that has not switched.
func incarnationsThere(s state.State) []int32 {
	var there []int32
	for _, m := range s.Members {
		isSeed := s.Restore != nil && m.Incarnation == s.Restore.Incarnation && m.Incarnation > s.Services.ClientIncarnation && m.Incarnation != s.Incarnation
		if !isSeed && (m.Pod != state.PodNone || m.Volume != state.VolumeNone) && !slices.Contains(there, m.Incarnation) {
			there = append(there, m.Incarnation)
		}
	}
	return there
}

// ContradictedService stops before the client Service goes back to an earlier incarnation: which of the two holds the
// newest data cannot be seen, unless the members prove it.
func ContradictedService(s state.State) steps.Step {
	if !selectsAhead(s) || provenOnService(s) {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonContradiction,
		Message: fmt.Sprintf("Service %s selects incarnation %d, but the members have incarnation %d, so clients reach no member. The operator changes nothing. "+
			"If the members hold the newest data, delete the Service: the operator creates it again.", s.ClientService(), s.Services.ClientIncarnation, s.Incarnation),
		Stalled: true, Requeue: state.RequeueForeign,
	}
}

// Corrections are the events on what was wrong with the status.
func Corrections(s state.State) []planning.Event {
	var events []planning.Event
	for _, note := range s.Corrected {
		events = append(events, planning.Event{Type: corev1.EventTypeWarning, Reason: v1beta2.ReasonContradiction, Action: "CorrectStatus", Note: note})
	}
	return events
}
