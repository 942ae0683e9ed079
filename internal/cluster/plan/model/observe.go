package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Observe is the State that the operator would see.
func (w *World) Observe() state.State {
	s := state.NewState(&w.Cluster)
	s.Now = w.at(w.now)
	s.Waiting = w.waiting
	s.Services = w.Services
	s.Budget, s.NetworkPolicy = w.Budget, w.NetworkPolicy
	state.RecogniseFormed(&s)
	s.NoStorageClass = w.NoStorageClass && w.durable()
	s.SecretProblem = w.SecretProblem
	if w.TLS != nil {
		s.Certificates = w.certificates()
	}
	w.observeRestores(&s)
	w.observeMembers(&s)
	services.CorrectIncarnation(&s)
	if l := w.asked(&s); l != nil {
		services.CorrectClusterID(&s, l.id)
		state.Enroll(&s, membershipOf(l))
	}
	w.observeFailing(&s)
	recovery.HearWitness(&s)
	w.observeSilence(&s)
	modes.LookBehindFences(&s)
	s.Budget.Current = s.Budget.Current && w.budgetKeeps == modes.KeepsUnready(s)
	slices.SortFunc(s.Members, func(a, b state.Member) int { return cmp.Compare(a.Name, b.Name) })
	w.observeClock(&s)
	return s
}

// observeFailing is what the operator remembers of members that fail, if it has looked all the time.
func (w *World) observeFailing(s *state.State) {
	if w.TLS != nil {
		return // observeSilence
	}
	for i := range s.Members {
		m := &s.Members[i]
		if p := w.pod(m.Name); p != nil && !m.Serving && state.Expected(*s, *m) {
			m.FailingSince = w.at(p.failingSince())
			if w.Clocks { // the operator's own observation is as long ago as it is, whatever its clock says
				m.FailingSince = m.FailingSince.Add(w.wrong)
			}
		}
	}
}

func (w *World) at(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }

func (w *World) observeRestores(s *state.State) {
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
		if r.Verified && !r.Failed && (s.Request == nil || underWay) {
			s.Request = &state.RestoreRequest{Name: string(r.UID), UID: r.UID, Revision: r.Revision, RevisionBump: revisionBump}
			if r.Exact {
				s.Request.Safety, s.Request.Saved = v1beta2.SafetySnapshotExact, r.safetyStatus()
				s.Request.SavedFor = r.SavedFor
			}
		}
	}
}

func (w *World) observeMembers(s *state.State) {
	s.Members = make([]state.Member, 0, len(w.volumes)+1)
	for _, v := range w.volumes {
		if v.aside {
			s.SetAside = append(s.SetAside, state.SetAside{Name: v.name, Since: w.at(v.since), Deleting: v.deleting, Kept: v.kept})
			continue
		}
		m := state.Member{Name: v.name, Incarnation: v.incarnation, InitialSize: v.initialSize, Volume: state.VolumePresent, VolumeKept: v.kept, Recovered: v.recovered, RecoveredAt: v.recoveredAt, VolumeUnused: v.unused, VolumeSize: v.size, VolumeCapacity: v.size, VolumeID: volumeID(&v), VolumeCreated: w.at(v.created)}
		if v.deleting {
			m.Volume = state.VolumeDeleting
		} else if v.lost {
			m.Volume = state.VolumeLost
		}
		s.Members = append(s.Members, m)
	}
	for i := range w.pods {
		p := &w.pods[i]
		at := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == p.name })
		if at < 0 {
			at = len(s.Members)
			s.Members = append(s.Members, state.Member{Name: p.name, Incarnation: p.incarnation})
		}
		w.observePod(p, &s.Members[at])
	}
}

func (w *World) observePod(p *pod, m *state.Member) {
	m.InitialSize = max(m.InitialSize, p.initialSize)
	m.Pod, m.PodReason, m.PodMessage = p.state, p.reason, p.wrong
	m.Empty = p.state == state.PodBlocked && p.wrong == withoutData
	m.DataInPod, m.PodCreated = p.inPod, w.at(p.created)
	m.ProbesAlarm = p.probesAlarm
	m.PodReady, m.InService, m.Start, m.Waits = p.ready, p.exposed, p.start, p.waits
	m.MayStartEmpty = w.Volatile && mayStartEmpty(p)
	if p.addressSince > 0 {
		m.AddressSince = w.at(p.addressSince)
	}
	m.Outdated, m.Relabel = p.template != w.template, p.labels != w.labels
	w.observeResize(p, m)
	m.PodImage, m.Peers = image(p.version), strings.Join(p.peers, ",")
	m.PodQuota = ptr.To(int64(p.quota) * mib)
	if !p.ready {
		m.UnreadySince = w.at(p.unreadySince)
	}
	if p.state == state.PodDeleting {
		m.GoneBy, m.Stopped = w.at(p.goneBy), p.ended
	}
	w.observeTLS(p, m)
	m.Terminated = p.state == state.PodEnded
	m.NodeSilent = p.stuck
	m.Zone = fmt.Sprintf("zone-%d", p.zone)
	if p.start == state.StartSeed {
		m.Seed = &state.Seed{Failures: p.failures, Hopeless: p.hopeless, Message: "what the init container said"}
	}
	if d := w.running(p); d != nil {
		m.Corrupt = d.corrupt && p.state == state.PodBlocked && p.placed
	}
	if w.present != nil {
		w.hearPresent(p, m)
		return
	}
	w.hear(p, m)
}

// hearPresent asks at the address of a cached Pod.
func (w *World) hearPresent(p *pod, m *state.Member) {
	if live := w.present.pod(p.name); live != nil && live.uid == p.uid && p.state == state.PodRunning {
		w.present.hear(live, m)
	}
}

// hear is what the member says of itself.
func (w *World) hear(p *pod, m *state.Member) {
	if p.state != state.PodRunning {
		return
	}
	if w.refusesTLS(p, m) || w.refuses(p, m) {
		return
	}
	if p.hung || p.deaf {
		m.Unanswered = "deadline exceeded"
		return
	}
	d := w.running(p)
	if d == nil {
		return
	}
	l := w.life(d.cluster)
	e := l.byID(d.member)
	if e == nil {
		return
	}
	led := l.leader != 0 && w.up(l, e)
	if p.mute && !led {
		m.RaftIndex, m.Unanswered = uint64(d.index)+1, "deadline exceeded"
		return
	}
	p.mute = false
	m.Answers = true
	m.ID, m.ClusterID, m.Learner = e.id, l.id, e.learner
	m.Leader = l.leader == e.id
	m.Version = p.version
	m.AppliedIndex = int64(d.index) + 1
	if minorOf(p.version) >= downgrades {
		m.StorageVersion = storage(d.storage)
		if l.downgrade != 0 {
			m.Downgrade = storage(l.downgrade)
		}
	}
	m.Revision = l.revision + int64(d.index)
	m.RaftIndex, m.RaftTerm = uint64(d.index)+1, 1
	hearSpace(l, p, d, m)
	for _, id := range l.fences {
		m.Alarms = append(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: id})
	}
	w.hearCorrupt(l, d, m)
	m.Serving = !e.learner && led
	if !m.Serving {
		m.Unanswered = "no leader"
	}
	if !led && !e.learner {
		m.Knows = l.appliedBy(d)
	}
}

// asked is the life that a serving member of the current incarnation tells the membership of.
func (w *World) asked(s *state.State) *life {
	incarnation := max(s.Incarnation, 1)
	for _, m := range s.Members {
		if m.Incarnation == incarnation && m.Serving {
			return w.life(m.ClusterID)
		}
	}
	return nil
}

func membershipOf(l *life) []etcd.Member {
	entries := make([]etcd.Member, 0, len(l.entries))
	for _, e := range l.entries {
		m := etcd.Member{ID: e.id, Learner: e.learner, Name: e.name}
		if e.started {
			m.ClientURLs = published
		}
		entries = append(entries, m)
	}
	return entries
}

var published = []string{"http://member:2379"}

// image of a version. The model's clusters use the default repository.
func image(version string) string { return v1beta2.DefaultRepository + ":v" + version }

func versionOf(image string) string { return strings.TrimPrefix(image, v1beta2.DefaultRepository+":v") }
