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

// era is one timeline of a random past.
type era struct {
	start, end int64
	id         uint64
	uid        string
	bases      []string
	links      []string
}

func (e era) had(revision int64) bool { return e.start <= revision && revision <= e.end }

// eras are an archive of two to four timelines: after a lost quorum, a restore, or another EtcdCluster with the same name. A timeline may have no
// segment.
type eras struct {
	shelf
	*rand.Rand
	all []era
}

func newEras(t *testing.T, seed uint64) *eras {
	s := &eras{newShelf(t), rand.New(rand.NewPCG(seed, 11)), nil}
	id, uid, last := uint64(1), "uid-1", int64(2)
	for number := range archive.Timeline(2 + s.IntN(3)) {
		recovery, from := "", int64(2)
		switch {
		case number > 0 && last > 3 && s.IntN(2) == 0: // a lost quorum
			recovery, from = fmt.Sprint("recovery-", number), 2+s.Int64N(last-2)
		case number > 0:
			id++
			if from += s.Int64N(10); s.IntN(2) == 0 {
				uid = fmt.Sprint("uid-", id)
			}
		}
		last = from + 5 + s.Int64N(20)
		revisions := []int64{from, from + 1 + s.Int64N(4)}
		if s.IntN(4) == 0 {
			last, revisions = from, revisions[:1]
		}
		e := era{start: from, end: last, id: id, uid: uid}
		at := dawn.Add(time.Duration(number) * 24 * time.Hour)
		for _, revision := range revisions {
			taken := at.Add(time.Duration(revision-from)*time.Minute + time.Duration(min(revision-from, 1))*150*time.Second)
			key := s.rewrite(s.savedAt("a", id, taken, revision, revision), func(m *snapshot.Manifest) { m.Recovery, m.Cluster.UID = recovery, uid })
			if e.bases = append(e.bases, key); revision == from {
				s.timeline(number+1, key, from, last, recovery)
			}
		}
		e.links = s.links(number + 1)
		s.all = append(s.all, e)
	}
	return s
}

func (s *eras) start(i int) string {
	return archive.StartKey(archive.Root("daily", "ns", "a"), archive.Timeline(i+1))
}

// newest returns the number of the newest timeline that had a revision, and 0 if none had it.
func (s *eras) newest(revision int64) (newest archive.Timeline) {
	for i, e := range s.all {
		if e.had(revision) {
			newest = archive.Timeline(i + 1)
		}
	}
	return newest
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
		i := s.IntN(len(s.all))
		e := s.all[i]
		objects := append([]string{s.start(i)}, e.links...)
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
	n := s.newest(revision)
	if n == 0 {
		return f, nil, false
	}
	e := s.all[n-1]
	for i, other := range s.all {
		if other.id == e.id && i != int(n-1) {
			return f, nil, false
		}
	}
	if len(e.links) > 0 {
		f.gone = e.links[s.IntN(len(e.links)):]
	}
	return f, e.bases, true
}

// A revision is restored from the newest timeline that had it, or refused, whatever the store does not list or return.
func TestNoRandomFaultRestoresAnOlderHistory(t *testing.T) {
	lost := 0
	for seed := range uint64(40) {
		s := newEras(t, seed)
		for n := range 60 {
			c := s.ask()
			f, damaged := s.fault()
			if n%6 == 0 {
				if gone, bases, found := s.lost(c.Revision); found {
					f, damaged, lost = gone, bases, lost+1
				}
			}
			if found, err := s.pointOf(c, f, damaged...); err == nil && found.Timeline != s.newest(c.Revision) {
				t.Fatalf("seed %d: %+v is restored from timeline %d, want %d: %s\nomitted %q, sick %q, gone %q, damaged %q", seed, c, found.Timeline, s.newest(c.Revision),
					found.Because(), f.omitted, f.sick, f.gone, damaged)
			}
		}
	}
	if lost < 20 {
		t.Errorf("only %d timelines have lost their bases and their end: the test has too few", lost)
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
			i := s.IntN(len(s.all))
			omitted := []string{s.start(i)}
			if n := len(s.all[i].links); n > 0 {
				omitted = append(omitted, s.all[i].links[s.IntN(n):]...)
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
			if int(found.Timeline)-1 > first || c.Revision >= began {
				t.Fatalf("seed %d: %+v is restored from timeline %d of %s, and %s began with timeline %d at revision %d", seed, c, found.Timeline,
					found.Manifest.Cluster.UID, own.uid, first+1, began)
			}
		}
	}
}
