// Package observe is what the operator sees of a simulated world. From is its inverse: a world that looks like a State.
package observe

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Observe is the State that the operator would see.
func Observe(w *world.World) state.State {
	s := state.NewState(&w.Cluster)
	s.Now = w.At(w.Now)
	s.Waiting = w.Waiting
	s.Services = w.Services
	s.Budget, s.NetworkPolicy = w.Budget, w.NetworkPolicy
	state.RecogniseFormed(&s)
	s.NoStorageClass = w.NoStorageClass && w.Durable()
	s.SecretProblem = w.SecretProblem
	if w.TLS != nil {
		s.Certificates = certificatesOf(w)
	}
	observeRestores(w, &s)
	observeMembers(w, &s)
	services.CorrectIncarnation(&s)
	if l := Asked(w, &s); l != nil {
		services.CorrectClusterID(&s, l.ID)
		state.Enroll(&s, world.MembershipOf(l))
	}
	observeFailing(w, &s)
	recovery.HearWitness(&s)
	observeSilence(w, &s)
	modes.LookBehindFences(&s)
	s.Budget.Current = s.Budget.Current && w.BudgetKeeps == modes.KeepsUnready(s)
	slices.SortFunc(s.Members, func(a, b state.Member) int { return cmp.Compare(a.Name, b.Name) })
	observeClock(w, &s)
	return s
}

// observeFailing is what the operator remembers of members that fail, if it has looked all the time.
func observeFailing(w *world.World, s *state.State) {
	if w.TLS != nil {
		return // observeSilence
	}
	for i := range s.Members {
		m := &s.Members[i]
		if p := w.Pod(m.Name); p != nil && !m.Serving && state.Expected(*s, *m) {
			m.FailingSince = w.At(p.FailingSince())
			if w.Clocks { // the operator's own observation is as long ago as it is, whatever its clock says
				m.FailingSince = m.FailingSince.Add(w.Wrong)
			}
		}
	}
}

// observeClock gives a State the operator's time, and corrects stored times as the operator does.
func observeClock(w *world.World, s *state.State) {
	if !w.Clocks && (w.TLS == nil || w.Stepwise) { // clocks of nodes are wrong, too
		return
	}
	s.Now = w.At(w.Now).Add(w.Wrong)
	certificates.NoteClock(s, -w.Wrong)
	certificates.CorrectTimes(s, w.SeenClocks)
}

func observeRestores(w *world.World, s *state.State) {
	for _, r := range w.Restores {
		if r.Deleted {
			continue
		}
		s.Restores = append(s.Restores, r.UID)
		if r.Complete {
			continue
		}
		if s.RestorePending == "" {
			s.RestorePending = string(r.UID)
		}
		underWay := s.Restore != nil && s.Restore.UID == r.UID
		if r.Follow && !underWay && s.ClusterID != "" {
			continue // RefuseRestore
		}
		if r.Verified && !r.Failed && (s.Request == nil || underWay) {
			s.Request = &state.RestoreRequest{Name: string(r.UID), UID: r.UID, Revision: r.Revision, RevisionBump: world.RevisionBump}
			if r.Follow {
				s.Request.Source.Secret, s.Request.Follow = "store", &state.FollowRequest{Cluster: "ns/source"}
			}
			if r.Promote {
				s.Request.Follow.Promote = v1beta2.FollowPromoteNow
			}
			if r.Exact {
				s.Request.Safety, s.Request.Saved = v1beta2.SafetySnapshotExact, r.SafetyStatus()
				s.Request.SavedFor = r.SavedFor
			}
		}
	}
}

func observeMembers(w *world.World, s *state.State) {
	s.Members = make([]state.Member, 0, len(w.Volumes)+1)
	for _, v := range w.Volumes {
		if v.Aside {
			s.SetAside = append(s.SetAside, state.SetAside{Name: v.Name, Since: w.At(v.Since), Deleting: v.Deleting, Kept: v.Kept})
			continue
		}
		m := state.Member{Name: v.Name, Incarnation: v.Incarnation, InitialSize: v.InitialSize, Volume: state.VolumePresent, VolumeKept: v.Kept, Recovered: v.Recovered, RecoveredAt: v.RecoveredAt, VolumeUnused: v.Unused, VolumeSize: v.Size, VolumeCapacity: v.Size, VolumeID: world.VolumeID(&v), VolumeCreated: w.At(v.Created)}
		if v.Deleting {
			m.Volume = state.VolumeDeleting
		} else if v.Lost {
			m.Volume = state.VolumeLost
		}
		s.Members = append(s.Members, m)
	}
	for i := range w.Pods {
		p := &w.Pods[i]
		at := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == p.Name })
		if at < 0 {
			at = len(s.Members)
			s.Members = append(s.Members, state.Member{Name: p.Name, Incarnation: p.Incarnation})
		}
		observePod(w, p, &s.Members[at])
	}
}
