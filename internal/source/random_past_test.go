package source

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// era is one history of a random past. It is a timeline, or it was not archived: then only snapshots show what it had.
type era struct {
	timeline   archive.Timeline // 0 if it was not archived
	start, end int64
	id         uint64
	uid        string
	bases      []string
	links      []string
}

func (e era) had(revision int64) bool { return e.start <= revision && revision <= e.end }

// eras are an archive of two to four histories: after a lost quorum, a restore, or another EtcdCluster with the same name. A timeline may have no
// segment. The clock of the operator may have been ahead for a day and more during one of them.
type eras struct {
	shelf
	*rand.Rand
	all       []era
	timelines archive.Timeline
}

func newEras(t *testing.T, seed uint64) *eras {
	s := &eras{shelf: newShelf(t), Rand: rand.New(rand.NewPCG(seed, 11))}
	e, last := era{id: 1, uid: "uid-1"}, int64(2)
	for number := range 2 + s.IntN(3) {
		recovery := ""
		e.start = 2
		switch {
		case number > 0 && last > 3 && s.IntN(2) == 0: // a lost quorum
			recovery, e.start = fmt.Sprint("recovery-", number), 2+s.Int64N(last-2)
		case number > 0:
			e.id++
			if e.start += s.Int64N(10); s.IntN(2) == 0 {
				e.uid = fmt.Sprint("uid-", e.id)
			}
		}
		last = e.start + 5 + s.Int64N(20)
		e.timeline, e.end, e.bases, e.links = 0, last, nil, nil
		s.live(&e, dawn.Add(time.Duration(number)*24*time.Hour), recovery, number == 0 || s.IntN(3) > 0)
		s.all = append(s.all, e)
	}
	return s
}

// live saves the snapshots of an era, and archives it or not.
func (s *eras) live(e *era, began time.Time, recovery string, archived bool) {
	revisions, ahead := []int64{e.start, e.start + 1 + s.Int64N(4)}, time.Duration(0)
	switch {
	case !archived:
		revisions = append(revisions, e.end)
	case s.IntN(4) == 0:
		e.end, revisions = e.start, revisions[:1]
	}
	if s.IntN(3) == 0 {
		ahead = time.Duration(20+s.IntN(40)) * time.Hour
	}
	damaged, failing := s.IntN(len(revisions)), s.IntN(5)
	for i, revision := range revisions {
		at := began.Add(time.Duration(revision-e.start)*time.Minute + time.Duration(min(revision-e.start, 1))*150*time.Second)
		key := s.savedAt("a", e.id, at.Add(ahead), revision, revision)
		s.rewrite(key, func(m *snapshot.Manifest) {
			m.Recovery, m.Cluster.UID, m.CapturedAt, m.NoQuorum = recovery, e.uid, at.Add(ahead), !archived && s.IntN(3) == 0
		})
		s.stored(key, at)
		switch {
		case archived && i == 0:
			s.timelines++
			e.timeline = s.timelines
			s.timeline(e.timeline, key, e.start, e.end, recovery)
			e.links = s.links(e.timeline)
		case !archived && failing < 3: // for exactly the manifests of this era
			s.withoutManifest(key, failing)
		case !archived && s.IntN(3) == 0:
			s.verdict(key, snapshot.Failed)
		case !archived && i == damaged && s.IntN(3) == 0:
			s.file(snapshot.ManifestKey(key), []byte("{"))
		}
		e.bases = append(e.bases, key)
	}
}

// withoutManifest leaves an object without its manifest: the store has refused it, or a person has deleted it, or it is damaged.
func (s *eras) withoutManifest(key string, how int) {
	switch how {
	case 0:
		s.unwritten(key)
	case 1:
		s.remove(snapshot.ManifestKey(key))
	default:
		s.file(snapshot.ManifestKey(key), []byte("{"))
	}
}

// archived returns a random era that is a timeline.
func (s *eras) archived() era {
	for {
		if e := s.all[s.IntN(len(s.all))]; e.timeline > 0 {
			return e
		}
	}
}

func (e era) begins() string { return archive.StartKey(archive.Root("daily", "ns", "a"), e.timeline) }

// newest returns the newest era that had a revision, and false if none had it.
func (s *eras) newest(revision int64) (newest era, found bool) {
	for _, e := range s.all {
		if e.had(revision) {
			newest, found = e, true
		}
	}
	return newest, found
}

// ask returns a random question of a restore into the present EtcdCluster.
func (s *eras) ask() Choice {
	last, ends := s.all[len(s.all)-1], int64(0)
	for _, e := range s.all {
		ends = max(ends, e.end)
	}
	c := Choice{Revision: 2 + s.Int64N(ends), Of: "ns/a", UID: last.uid}
	if s.IntN(3) > 0 {
		c.Prefer = snapshot.Series{ClusterID: last.id}.ID()
	}
	return c
}

// fault returns objects that are omitted or not returned, and bases that are damaged.
func (s *eras) fault() (f faulty, damaged []string) {
	for range 1 + s.IntN(3) {
		e := s.archived()
		objects := append([]string{e.begins()}, e.links...)
		for _, base := range e.bases {
			objects = append(objects, snapshot.ManifestKey(base))
		}
		switch key := objects[s.IntN(len(objects))]; s.IntN(3) {
		case 0:
			f.omitted = append(f.omitted, key)
		case 1:
			f.sick = append(f.sick, key)
		default:
			damaged = append(damaged, e.bases[s.IntN(len(e.bases))])
		}
	}
	return f, damaged
}

// lost returns a timeline without its bases, the end of which is lost, too. Its cluster ID has no other timeline. So only its start shows that it had
// a revision. It returns false if there is none.
func (s *eras) lost(revision int64) (f faulty, damaged []string, found bool) {
	e, found := s.newest(revision)
	if !found || e.timeline == 0 {
		return f, nil, false
	}
	for _, other := range s.all {
		if other.id == e.id && other.timeline != e.timeline {
			return f, nil, false
		}
	}
	if len(e.links) > 0 {
		f.gone = e.links[s.IntN(len(e.links)):]
	}
	return f, e.bases, true
}

// A revision is restored from the newest history that had it, or refused, whatever the store does not list or return. Else a user gets data that the
// cluster did not have at that revision, without a word.
func TestNoRandomFaultRestoresAnOlderHistory(t *testing.T) {
	lost, unarchived := 0, 0
	for seed := range uint64(60) {
		s := newEras(t, seed)
		for n := range 60 {
			c := s.ask()
			f, damaged := s.fault()
			if n%6 == 0 {
				if gone, bases, found := s.lost(c.Revision); found {
					f, damaged, lost = gone, bases, lost+1
				}
			}
			if n%5 == 0 {
				f, damaged = faulty{}, nil
			}
			want, had := s.newest(c.Revision)
			if had && want.timeline == 0 {
				unarchived++
			}
			if found, err := s.pointOf(c, f, damaged...); err == nil && found.Timeline != want.timeline {
				t.Fatalf("seed %d: %+v is restored from timeline %d, want that of %+v: %s\nomitted %q, sick %q, gone %q, damaged %q", seed, c, found.Timeline, want,
					found.Because(), f.omitted, f.sick, f.gone, damaged)
			}
		}
	}
	if lost < 20 || unarchived < 200 {
		t.Errorf("%d timelines have lost their bases and their end, and %d revisions were not archived: the test has too few", lost, unarchived)
	}
}

// The newest history was archived. No older one, and no clock that was ahead then, refuses a revision of it.
func TestEachRevisionOfTheNewestTimelineIsRestored(t *testing.T) {
	asked := 0
	for seed := range uint64(80) {
		s := newEras(t, seed)
		last := s.all[len(s.all)-1]
		if last.timeline == 0 {
			continue
		}
		for revision := last.start; revision <= last.end; revision += 2 {
			c := Choice{Revision: revision, Of: "ns/a", UID: last.uid, Prefer: snapshot.Series{ClusterID: last.id}.ID()}
			if found, err := s.pointOf(c, faulty{}); err != nil || found.Timeline != last.timeline {
				t.Fatalf("seed %d: revision %d is restored from timeline %d, want %d: %v\n%+v", seed, revision, found.Timeline, last.timeline, err, s.all)
			}
			asked++
		}
	}
	if asked < 200 {
		t.Errorf("%d revisions: the test has too few", asked)
	}
}

// A fault that passes must not end a restore for good, and what a listing omits, but the store returns, must not fail it.
func TestNoPassingFaultOfTheStoreRefusesAPoint(t *testing.T) {
	for seed := range uint64(20) {
		s := newEras(t, seed)
		for range 30 {
			c := s.ask()
			want, err := s.pointOf(c, faulty{})
			if err != nil {
				continue
			}
			f, _ := s.fault()
			if _, err := s.pointOf(c, faulty{sick: f.sick}); archive.IsRefusal(err) {
				t.Fatalf("seed %d: the store does not return %q, and %+v is refused for good: %v", seed, f.sick, c, err)
			}
			e := s.archived()
			omitted := []string{e.begins()}
			if n := len(e.links); n > 0 {
				omitted = append(omitted, e.links[s.IntN(n):]...)
			}
			if got, err := s.pointOf(c, faulty{omitted: omitted}); err != nil || got.Timeline != want.Timeline {
				t.Fatalf("seed %d: a listing omits %q, and %+v is restored from timeline %d instead of %d, %v", seed, omitted, c, got.Timeline, want.Timeline, err)
			}
		}
	}
}

// A restore into an EtcdCluster takes its own data, or those of an earlier one with the same name at a revision before its own ones began. It never
// takes those of a later one, which are in another Kubernetes.
func TestARevisionIsOfTheEtcdClusterOrOfOneBeforeIt(t *testing.T) {
	for seed := range uint64(40) {
		s := newEras(t, seed)
		for range 40 {
			own := s.all[s.IntN(len(s.all))]
			c := s.ask()
			c.UID, c.Prefer = own.uid, snapshot.Series{ClusterID: own.id}.ID()
			first := slices.IndexFunc(s.all, func(e era) bool { return e.uid == own.uid })
			began := s.all[first].start
			for _, e := range s.all {
				if e.uid == own.uid {
					began = min(began, e.start)
				}
			}
			found, err := s.pointOf(c, faulty{})
			if err != nil || found.Manifest.Cluster.UID == own.uid {
				continue
			}
			of := slices.IndexFunc(s.all, func(e era) bool { return e.timeline == found.Timeline })
			if of > first || c.Revision >= began {
				t.Fatalf("seed %d: %+v is restored from era %d of %s, and %s began with era %d at revision %d", seed, c, of,
					found.Manifest.Cluster.UID, own.uid, first, began)
			}
		}
	}
}
