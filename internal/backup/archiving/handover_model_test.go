package archiving

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// A model of a switchover: two processes of backup-operator, of which one is an old leader, two standbys, a person, clients, a fake etcd and a store. Each request may
// fail, be lost after its effect, or have its effect long after its process was killed. Between any two requests, any other party may act.

const modelCluster = etcd.ID(0xabc)

// killed ends an actor within a step.
type killed struct{}

// planted are faults that the model must catch.
type planted struct {
	fenceAfterEnd, endBeforeUpload, promotedTwice, unfenceAfterPromotion, oneFence, othersForgotten, usersForgotten bool
}

type model struct {
	t       *testing.T
	rng     *rand.Rand
	bug     planted
	calm    bool // no faults any more
	depth   int
	pending []func() // effects of requests that arrive late
	log     []string
	wrong   string

	now      time.Time
	cluster  etcd.ID
	revision int64              // the last one that etcd has acknowledged
	users    uint64             // of etcd, which it changes although it is fenced
	fencedBy map[etcd.ID]uint64 // the users when a fence was set
	archived uint64             // of the newest base
	alarms   map[etcd.ID]bool
	stored   int64 // in the archive
	store    *objstoretest.Memory
	job      state.JobSpec

	asked     bool
	status    switchover.ID
	fenceIDs  map[etcd.ID]switchover.ID
	leader    int
	operators [2]*modelOperator
	standbys  [2]*modelStandby
	served    string
}

type modelOperator struct {
	spec    Spec
	process *handover
	busy    bool
}

type modelStandby struct {
	name    string
	has     int64
	users   uint64
	planned bool
	serves  bool
	busy    bool
}

func newModel(t *testing.T, seed uint64, bug planted) *model {
	m := &model{
		t: t, bug: bug, rng: rand.New(rand.NewPCG(seed, 36)), now: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), alarms: map[etcd.ID]bool{}, cluster: modelCluster, revision: 5, stored: 5, store: objstoretest.NewMemory(),
		job: state.JobSpecOf(statetest.ArchivingState(t)), fenceIDs: map[etcd.ID]switchover.ID{}, fencedBy: map[etcd.ID]uint64{}, users: 1, archived: 1,
	}
	start := archive.NewStart(1, uint64(modelCluster), archive.Base{Key: "base", ClusterID: modelCluster.String(), Point: archive.Point{Revision: 5, At: m.now}}, "test")
	m.store.Place(archive.StartKey(m.job.ArchiveRoot(), 1), start.Encode())
	for i := range m.operators {
		m.operators[i] = &modelOperator{}
		m.restart(m.operators[i])
	}
	for i := range m.standbys {
		m.standbys[i] = &modelStandby{name: "ns/standby-" + strconv.Itoa(i), has: 5, users: 1}
	}
	return m
}

func (m *model) note(format string, args ...any) {
	m.log = append(m.log, strings.Repeat("  ", m.depth)+fmt.Sprintf(format, args...))
}

func (m *model) violate(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
		m.note("WRONG: %s", m.wrong)
	}
}

func (m *model) chance(percent int) bool { return m.rng.IntN(100) < percent }

// restart begins another process of backup-operator.
func (m *model) restart(o *modelOperator) {
	o.process = &handover{
		users:    m.askUsers,
		permits:  func(context.Context, state.JobSpec, locked, string) error { return nil },
		Archiver: &Archiver{notify: func() {}}, store: modelStore{m, m.store}, running: modelArchiver{m}, now: func() time.Time { return m.now },
		member: func(ctx context.Context, _ state.JobSpec, do func(locked, etcd.Status) error) error {
			if err := m.request("probe", func() {}); err != nil {
				return err
			}
			return do(locked{modelEtcd{m}}, m.etcdStatus())
		},
	}
}

// between lets other parties act.
func (m *model) between() {
	if m.depth > 2 || m.calm {
		return
	}
	m.depth++
	defer func() { m.depth-- }()
	for m.chance(25) {
		m.event()
	}
}

// request makes a request of an actor, which may fail, be lost, arrive late or be the last one of its process.
func (m *model) request(what string, effect func()) error {
	m.between()
	if m.calm {
		effect()
		return nil
	}
	switch n := m.rng.IntN(100); {
	case n < 4:
		m.note("%s fails", what)
		return errors.New("refused")
	case n < 9:
		m.note("%s arrives late", what)
		m.pending = append(m.pending, func() { m.note("late: %s", what); effect() })
		if m.chance(50) {
			panic(killed{})
		}
		return context.DeadlineExceeded
	}
	m.note("%s", what)
	effect()
	m.between()
	switch n := m.rng.IntN(100); {
	case n < 4:
		m.note("the answer to %s is lost", what)
		return context.DeadlineExceeded
	case n < 7:
		m.note("killed after %s", what)
		panic(killed{})
	}
	return nil
}

// event is what one party does.
func (m *model) event() {
	m.now = m.now.Add(time.Second)
	switch m.rng.IntN(20) {
	case 0, 1, 2:
		m.write()
	case 3, 4, 5:
		m.stored += m.rng.Int64N(m.revision - m.stored + 1)
	case 6:
		m.asked = !m.asked
		m.note("switchover: %t", m.asked)
	case 7:
		if len(m.pending) > 0 {
			i := m.rng.IntN(len(m.pending))
			late := m.pending[i]
			m.pending = slices.Delete(m.pending, i, i+1)
			late()
		}
	case 8:
		if m.chance(10) && m.status != "" {
			m.note("the status is lost")
			m.status = ""
		}
	case 9:
		if m.chance(20) {
			m.leader = 1 - m.leader
			m.note("operator %d is the leader", m.leader)
		}
	case 10:
		if m.chance(30) {
			m.users++
			m.note("users: %d", m.users)
		}
		if m.chance(50) {
			m.archived = m.users
		}
		m.standbys[m.rng.IntN(2)].planned = true
	case 11, 12, 13:
		m.stand(m.standbys[m.rng.IntN(2)])
	case 14:
		m.operate(1 - m.leader)
	default:
		m.operate(m.leader)
	}
}

// write is that of a client.
func (m *model) write() {
	if len(m.alarms) > 0 {
		return
	}
	m.revision++
	if m.served != "" {
		m.violate("the source takes a write after %s became the cluster", m.served)
	}
}

// operate lets a process of backup-operator make its next step.
func (m *model) operate(i int) {
	o := m.operators[i]
	if o.busy {
		return
	}
	o.busy = true
	defer func() { o.busy = false }()
	m.reconcile(i)
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(killed); !is {
				panic(r)
			}
			m.restart(o)
		}
	}()
	if m.bug.unfenceAfterPromotion && m.served != "" {
		_ = unfence(m.t.Context(), modelEtcd{m}, m.etcdStatus(), o.spec)
	}
	m.note("operator %d with switchover %q, asked %t", i, o.spec.switchover, o.spec.handsOver)
	if o.spec.switchover == "" {
		_ = o.process.sweep(m.t.Context(), o.spec)
		return
	}
	v, err := o.process.step(m.t.Context(), o.spec)
	m.note("operator %d: %+v %v", i, v, err)
	if i == m.leader && err == nil && v.ID == string(m.status) && v.Off {
		m.status = ""
	}
}

// reconcile is what the controller of a process does before: it writes the ID into the status. An old leader may have an old status.
func (m *model) reconcile(i int) {
	o := m.operators[i]
	if i != m.leader && m.chance(70) && !m.calm {
		return
	}
	if i == m.leader && m.status == "" && m.asked {
		for m.status == "" {
			m.now = m.now.Add(time.Second)
			id := switchover.NewID(m.now, "uid", m.job.ArchiveName())
			fence := etcd.SwitchoverID(modelCluster, m.job.ArchiveName(), string(id))
			if _, same := m.fenceIDs[fence]; !same { // one of 4,096 has the fence of an earlier one
				m.status, m.fenceIDs[fence] = id, id
			}
		}
	}
	o.spec = Spec{job: m.job, switchover: m.status, handsOver: m.asked && m.status != ""}
}

// stand lets a standby follow, and claim the end of its source.
func (m *model) stand(s *modelStandby) {
	if s.busy || s.serves {
		return
	}
	s.busy = true
	defer func() {
		s.busy = false
		if r := recover(); r != nil {
			if _, is := r.(killed); !is {
				panic(r)
			}
		}
	}()
	s.has += m.rng.Int64N(m.stored - s.has + 1)
	if m.calm {
		s.has = m.stored
	}
	if m.calm || m.chance(50) {
		s.users = m.archived
	}
	if !s.planned {
		return
	}
	users := auth.State{Revision: s.users, Enabled: auth.On}
	d, ok, err := switchover.Claim(m.t.Context(), modelStore{m, m.store}, m.job.ArchiveRoot(), switchover.Standby{Name: s.name, Holder: s.name, Timeline: 1, Revision: s.has, Auth: users}, m.now)
	m.note("%s with %d: claimed %t %v", s.name, s.has, ok, err)
	if !ok || err != nil {
		return
	}
	s.serves = true
	if m.served != "" {
		m.violate("%s and %s became the cluster", m.served, s.name)
	}
	m.served = s.name
	if fenced := m.fencedBy[etcd.SwitchoverID(m.cluster, m.job.ArchiveName(), string(d.ID))]; s.users < fenced {
		m.violate("%s became the cluster with the users %d, and the source had %d when its writes were stopped", s.name, s.users, fenced)
	}
	if m.revision != s.has {
		m.violate("%s became the cluster with revision %d, and the source has acknowledged %d", s.name, s.has, m.revision)
	}
}

// settles ends all faults. Then either a standby is the cluster and the source is fenced, or the source takes writes.
func (m *model) settles() {
	m.calm, m.asked = true, false
	for range 30 {
		for _, late := range m.pending {
			late()
		}
		m.pending = nil
		m.stored, m.archived = m.revision, m.users
		m.operate(m.leader)
		for _, s := range m.standbys {
			s.planned = true
			m.stand(s)
		}
		m.write()
	}
	switch {
	case m.served != "" && len(m.alarms) == 0:
		m.violate("%s became the cluster, and the source is not fenced", m.served)
	case m.served == "" && len(m.alarms) > 0:
		m.violate("neither cluster takes writes: the fences %v are on, and the status is %q", slices.Collect(maps.Keys(m.alarms)), m.status)
	}
}

// etcdStatus is what a member answers.
func (m *model) etcdStatus() etcd.Status {
	s := etcd.Status{ClusterID: m.cluster, Version: "3.6.16", Revision: m.revision}
	for _, id := range slices.Sorted(maps.Keys(m.alarms)) {
		s.Errors = append(s.Errors, fmt.Sprintf("memberID:%d alarm:CORRUPT ", uint64(id)))
	}
	return s
}

type modelArchiver struct{ m *model }

func (a modelArchiver) Status() archiver.Status {
	p := archive.Point{Revision: a.m.stored, At: a.m.now}
	if a.m.bug.endBeforeUpload {
		p.Revision = a.m.revision
	}
	return archiver.Status{Timeline: 1, Stored: p, Received: p, Auth: auth.State{Revision: a.m.archived, Enabled: auth.On}}
}

type modelEtcd struct{ m *model }

func (e modelEtcd) Fence(_ context.Context, id etcd.ID) (revision int64, err error) {
	if e.m.bug.oneFence {
		id &^= 1<<12 - 1
	}
	return revision, e.m.request("fence "+id.String(), func() {
		revision = e.m.revision
		on := func() {
			if !e.m.alarms[id] {
				e.m.alarms[id], e.m.fencedBy[id] = true, e.m.users
			}
		}
		if e.m.bug.fenceAfterEnd && !e.m.alarms[id] {
			e.m.pending = append(e.m.pending, on)
			return
		}
		on()
	})
}

func (e modelEtcd) Unfence(_ context.Context, id etcd.ID) error {
	if e.m.bug.oneFence {
		id &^= 1<<12 - 1
	}
	return e.m.request("unfence "+id.String(), func() { delete(e.m.alarms, id) })
}

func (e modelEtcd) Status(context.Context) (s etcd.Status, err error) {
	return e.m.etcdStatus(), nil
}

func (e modelEtcd) MembersKnown(context.Context) ([]etcd.Member, error) {
	return []etcd.Member{{PeerURLs: []string{"http://m0:2380"}}}, nil
}

// askUsers returns the state of authentication.
func (m *model) askUsers(context.Context, uint64) (now auth.State, err error) {
	err = m.request("ask for the users", func() { now = auth.State{Revision: m.users, Enabled: auth.On} })
	if m.bug.usersForgotten {
		now = auth.State{Revision: m.archived, Enabled: auth.On}
	}
	return now, err
}

// modelStore is the store with the faults of the model.
type modelStore struct {
	m *model
	*objstoretest.Memory
}

func (s modelStore) Put(ctx context.Context, key string, body io.Reader) (err error) {
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var result error
	err = s.m.request("put "+key, func() {
		if s.m.bug.promotedTwice && strings.HasSuffix(key, ".decision") {
			s.Place(key, content)
			return
		}
		result = s.Memory.Put(ctx, key, objstore.NewMetadata(content))
		if end := (switchover.End{}); strings.HasSuffix(key, ".end") && json.Unmarshal(content, &end) == nil && s.m.stored < end.Revision {
			s.m.violate("the archive ends with revision %d, and has only %d", end.Revision, s.m.stored)
		}
	})
	return errors.Join(err, result)
}

func (s modelStore) Get(ctx context.Context, key string) (body io.ReadCloser, err error) {
	var result error
	err = s.m.request("get "+key, func() {
		var content []byte
		var from io.ReadCloser
		if from, result = s.Memory.Get(ctx, key); result == nil {
			content, result = io.ReadAll(from)
			body = io.NopCloser(bytes.NewReader(content))
		}
	})
	return body, errors.Join(err, result)
}

func (s modelStore) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		var all []objstore.Object
		err := s.m.request("list "+prefix, func() {
			for object, err := range s.Memory.List(ctx, prefix) {
				if hidden := s.m.bug.othersForgotten && strings.HasSuffix(object.Key, ".begin"); err == nil && !hidden {
					all = append(all, object)
				}
			}
		})
		for _, object := range all {
			if !yield(object, nil) {
				return
			}
		}
		if err != nil {
			yield(objstore.Object{}, err)
		}
	}
}

// run plays one random sequence.
func (m *model) run() string {
	for range 250 {
		if m.wrong == "" {
			m.event()
		}
	}
	if m.wrong == "" {
		m.settles()
	}
	return m.wrong
}

func modelSeed(t *testing.T) (seed uint64, runs int) {
	seed, runs = uint64(time.Now().UnixNano()), 300
	if testing.Short() {
		runs = 100
	}
	if text := os.Getenv("SWITCHOVER_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
		runs = 1
	}
	return seed, runs
}

// What a user would lose: a write that was acknowledged, or one of two histories after the same revision, or all writes if neither cluster takes them.
func TestASwitchoverKeepsItsPromiseInAnyOrderOfEvents(t *testing.T) {
	seed, runs := modelSeed(t)
	promoted := 0
	for i := range uint64(runs) {
		m := newModel(t, seed+i, planted{})
		if wrong := m.run(); wrong != "" {
			t.Fatalf("SWITCHOVER_SEED=%d: %s\n%s", seed+i, wrong, strings.Join(m.log[max(0, len(m.log)-150):], "\n"))
		}
		if m.served != "" {
			promoted++
		}
	}
	t.Logf("seed %d: a standby was promoted in %d of %d runs", seed, promoted, runs)
	if runs > 1 && (promoted < runs/10 || promoted > runs*95/100) {
		t.Errorf("a standby was promoted in %d of %d runs, so the model says little", promoted, runs)
	}
}

func TestTheModelOfASwitchoverCatchesPlantedBugs(t *testing.T) {
	seed, _ := modelSeed(t)
	for name, bug := range map[string]planted{
		"the fence comes after the end":                     {fenceAfterEnd: true},
		"the end comes before the last upload":              {endBeforeUpload: true},
		"two standbys are promoted":                         {promotedTwice: true},
		"the fence is taken back after a promotion":         {unfenceAfterPromotion: true},
		"all switchovers have one fence":                    {oneFence: true},
		"a switchover whose status was lost is not settled": {othersForgotten: true},
		"users that were changed just before are forgotten": {usersForgotten: true},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range uint64(2000) {
				if wrong := newModel(t, seed+i, bug).run(); wrong != "" {
					t.Logf("run %d: %s", i, wrong)
					return
				}
			}
			t.Errorf("not caught from seed %d on", seed)
		})
	}
}
