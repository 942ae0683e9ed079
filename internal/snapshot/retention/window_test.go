package retention

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// hourly returns a listing with a snapshot each hour, the newest one last, and their index with the times of the store.
func hourly(n int, verdict func(hour int) snapshot.Result) (catalog.Listing, catalog.Index, catalog.Known) {
	var l catalog.Listing
	known := catalog.Known{}
	for hour := range n {
		e := snapshottest.Entry(snapshottest.Ours, 60*hour, int64(hour+1))
		e.Verdict = verdict(hour)
		l.Snapshots = append(l.Snapshots, e)
		known[e.Key] = catalog.Reading{Manifest: e.Manifest}
	}
	index := indexOf(l)
	for i := range index.Items {
		index.Items[i].Stored = index.Items[i].Time
	}
	return l, index, known
}

func untestedAll(int) snapshot.Result { return "" }

func TestAnArchiveKeepsTheSnapshotsOfItsWindowAndTheGoodOneBefore(t *testing.T) {
	failed := func(hours ...int) func(int) snapshot.Result {
		return func(hour int) snapshot.Result {
			if slices.Contains(hours, hour) {
				return snapshot.Failed
			}
			return ""
		}
	}
	for name, test := range map[string]struct {
		verdicts func(int) snapshot.Result
		policy   Policy
		oldest   int // the oldest hour that is kept, of 10
		base     bool
	}{
		"no archive":                                                {untestedAll, Policy{MaxBackups: 2}, 8, false},
		"a window of three hours":                                   {untestedAll, Policy{MaxBackups: 2, Window: 3 * time.Hour}, 6, true},
		"a rule that keeps more":                                    {untestedAll, Policy{MaxBackups: 5, Window: 3 * time.Hour}, 5, true},
		"a failed snapshot is no base":                              {failed(6, 5), Policy{MaxBackups: 2, Window: 3 * time.Hour}, 4, true},
		"no snapshot is older than the window":                      {untestedAll, Policy{MaxBackups: 2, Window: 24 * time.Hour}, 0, false},
		"no snapshot has passed a test":                             {untestedAll, Policy{MaxBackups: 2, Window: 3 * time.Hour, Tests: true}, 0, false},
		"only a tested snapshot is a base":                          {func(h int) snapshot.Result { return map[int]snapshot.Result{2: snapshot.Passed, 9: snapshot.Passed}[h] }, Policy{MaxBackups: 2, Window: 3 * time.Hour, Tests: true}, 2, true},
		"deletes nothing while the newest snapshot failed its test": {func(h int) snapshot.Result { return map[int]snapshot.Result{2: snapshot.Passed, 9: snapshot.Failed}[h] }, Policy{MaxBackups: 2, Window: 3 * time.Hour, Tests: true}, 0, false},
		"all snapshots are tested":                                  {func(int) snapshot.Result { return snapshot.Passed }, Policy{MaxBackups: 2, Window: 3 * time.Hour, Verify: true}, 6, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, index, known := hourly(10, test.verdicts)
			test.policy.Now = snapshottest.Noon.Add(24 * time.Hour)
			d := Decide(snapshottest.Ours, index, known, test.policy)
			if len(d.Need) > 0 {
				t.Fatalf("needs %v", d.Need)
			}
			for hour, e := range l.Snapshots {
				if deleted := slices.Contains(d.Delete, e.Key); deleted != (hour < test.oldest) {
					t.Errorf("the snapshot of hour %d is deleted: %t, want those before hour %d", hour, deleted, test.oldest)
				}
			}
			item, found := test.policy.Base(snapshottest.Ours, index, known)
			if found != test.base || found && slices.Contains(d.Delete, item.Key) {
				t.Errorf("the archive may be deleted before %q: %t, want %t", item.Key, found, test.base)
			}
		})
	}
}

// TestRetentionNeverDeletesTheBaseOfALaterDecision takes snapshots and deletes what each decision permits. The base of each
// decision must still exist then, and bases never go back.
func TestRetentionNeverDeletesTheBaseOfALaterDecision(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		policy := Policy{MaxBackups: 1 + r.IntN(4), Window: time.Duration(1+r.IntN(10)) * time.Hour, Tests: r.IntN(2) == 0, Now: snapshottest.Noon.Add(1000 * time.Hour)}
		var l catalog.Listing
		last := ""
		for hour := range 40 {
			e := snapshottest.Entry(snapshottest.Ours, 60*hour, int64(hour+1))
			if policy.Tests && r.IntN(3) == 0 {
				e.Verdict = []snapshot.Result{snapshot.Passed, snapshot.Passed, snapshot.Failed}[r.IntN(3)]
			}
			l.Snapshots = append(l.Snapshots, e)
			index, known := indexOf(l), catalog.Known{}
			for i := range index.Items {
				index.Items[i].Stored = index.Items[i].Time
			}
			for _, e := range l.Snapshots {
				known[e.Key] = catalog.Reading{Manifest: e.Manifest}
			}
			d := Decide(snapshottest.Ours, index, known, policy)
			l.Snapshots = slices.DeleteFunc(l.Snapshots, func(e catalog.Entry) bool { return slices.Contains(d.Delete, e.Key) })
			item, found := policy.Base(snapshottest.Ours, index, known)
			if !found {
				continue
			}
			if item.Key < last {
				t.Fatalf("seed %d: the base went back from %s to %s", seed, last, item.Key)
			}
			last = item.Key
			if !slices.ContainsFunc(l.Snapshots, func(e catalog.Entry) bool { return e.Key == item.Key }) {
				t.Fatalf("seed %d: the base %s is deleted in the same hour", seed, item.Key)
			}
		}
	}
}

// A snapshot without quorum is no base of a restore. If it took the place of the good one before it, no point between the two could be restored.
func TestASnapshotWithoutQuorumIsNotTheGoodOneBeforeTheWindow(t *testing.T) {
	l, index, known := hourly(10, untestedAll)
	l.Snapshots[6].Manifest.NoQuorum = true
	known[l.Snapshots[6].Key] = catalog.Reading{Manifest: l.Snapshots[6].Manifest}
	p := Policy{MaxBackups: 2, Window: 3 * time.Hour, Now: snapshottest.Noon.Add(24 * time.Hour)}
	unread := catalog.Known{}
	for d := Decide(snapshottest.Ours, index, unread, p); len(d.Need) > 0; d = Decide(snapshottest.Ours, index, unread, p) {
		for _, item := range d.Need {
			unread[item.Key] = known[item.Key]
		}
	}
	for name, known := range map[string]catalog.Known{"all manifests are known": known, "manifests are read when they are needed": unread} {
		d := Decide(snapshottest.Ours, index, known, p)
		if slices.Contains(d.Delete, l.Snapshots[5].Key) || slices.Contains(d.Delete, l.Snapshots[6].Key) || !slices.Contains(d.Delete, l.Snapshots[4].Key) {
			t.Errorf("%s: deleted are %q", name, d.Delete)
		}
	}
	if item, found := p.Base(snapshottest.Ours, index, known); !found || item.Key != l.Snapshots[5].Key {
		t.Errorf("the archive is kept from %s, found %v", item.Key, found)
	}
}

// One snapshot by a clock that was ahead must not make the retention delete snapshots of the window.
func TestASnapshotByAClockThatWasAheadDoesNotShortenTheWindow(t *testing.T) {
	var l catalog.Listing
	known := catalog.Known{}
	stored := map[string]time.Time{}
	for hour := range 40 {
		e := snapshottest.Entry(snapshottest.Ours, 60*hour, int64(hour+1))
		if hour == 10 {
			e = snapshottest.Entry(snapshottest.Ours, 60*(hour+3)+1, int64(hour+1))
		}
		stored[e.Key] = snapshottest.Noon.Add(time.Duration(hour) * time.Hour)
		l.Snapshots = append(l.Snapshots, e)
		known[e.Key] = catalog.Reading{Manifest: e.Manifest}
	}
	for now := 30; now < 40; now++ {
		part := catalog.Listing{Snapshots: l.Snapshots[:now+1]}
		index := indexOf(part)
		for i := range index.Items {
			index.Items[i].Stored = stored[index.Items[i].Key]
		}
		d := Decide(snapshottest.Ours, index, known, Policy{MaxBackups: 2, Window: 24 * time.Hour, Now: snapshottest.Noon.Add(time.Duration(now) * time.Hour)})
		reached := false
		for hour, e := range part.Snapshots {
			deleted := slices.Contains(d.Delete, e.Key)
			if now-hour <= 24 && deleted {
				t.Errorf("in hour %d the snapshot of hour %d is deleted", now, hour)
			}
			reached = reached || !deleted && hour <= now-24 && hour != 10
		}
		if !reached {
			t.Errorf("in hour %d no snapshot is left from which the begin of the window can be reached", now)
		}
		if now == 39 && len(d.Delete) == 0 {
			t.Error("nothing is deleted")
		}
	}
}

// The clock of the store, or of one of its nodes, was 30 days ahead while it received one snapshot. If that time counted as the present, the
// retention would delete the snapshots of the window, and with them the archive, so the user could restore no point of the last day.
func TestOneSnapshotByAStoreWhoseClockWasAheadDoesNotShortenTheWindow(t *testing.T) {
	for name, test := range map[string]struct{ ahead, last int }{
		"it is the newest snapshot": {35, 35}, "newer ones were taken since": {35, 39}, "the clocks agree": {-1, 39}, "the store is behind": {-2, 39},
	} {
		t.Run(name, func(t *testing.T) {
			l, index, known := hourly(test.last+1, untestedAll)
			for i := range index.Items {
				switch hour := int(index.Items[i].Time.Sub(snapshottest.Noon) / time.Hour); {
				case hour == test.ahead:
					index.Items[i].Stored = index.Items[i].Stored.Add(30 * 24 * time.Hour)
				case test.ahead == -2:
					index.Items[i].Stored = index.Items[i].Stored.Add(-time.Hour)
				}
			}
			p := Policy{MaxBackups: 2, Window: 24 * time.Hour, Now: snapshottest.Noon.Add(time.Duration(test.last) * time.Hour)}
			d := Decide(snapshottest.Ours, index, known, p)
			for hour, e := range l.Snapshots {
				if test.last-hour <= 24 && slices.Contains(d.Delete, e.Key) {
					t.Errorf("the snapshot of hour %d is deleted in hour %d", hour, test.last)
				}
			}
			if base, found := p.Base(snapshottest.Ours, index, known); !found || p.Now.Sub(base.Time) < 24*time.Hour || len(d.Delete) == 0 {
				t.Errorf("the archive is deleted before %q (%t), and of the snapshots: %q", base.Key, found, d.Delete)
			}
			if told := strings.Contains(strings.Join(d.Notices, " "), "after the present time of the operator"); told != (test.ahead > 0) {
				t.Errorf("the notices are %q", d.Notices)
			}
		})
	}
}

// The newest good snapshot before the window is in an archive class, so that no replay can begin with it.
func TestTheWindowBeginsWithASnapshotThatCanBeReadAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		cold   func(hour int) bool
		oldest int // the oldest hour that is kept, of 40
	}{
		"all can be read":                               {func(int) bool { return false }, 29},
		"the newest one before it is cold":              {func(h int) bool { return h == 29 }, 28},
		"some before it are cold":                       {func(h int) bool { return h <= 29 && h > 20 }, 20},
		"all before it are cold":                        {func(h int) bool { return h <= 29 }, 29},
		"all are cold but one older than three windows": {func(h int) bool { return h <= 29 && h != 3 }, 29},
		"one of the window is cold":                     {func(h int) bool { return h == 35 }, 29},
	} {
		l, index, known := hourly(40, untestedAll)
		for i := range index.Items {
			index.Items[i].Cold = test.cold(int(index.Items[i].Time.Sub(snapshottest.Noon) / time.Hour))
		}
		p := Policy{MaxBackups: 2, Window: 10 * time.Hour, Now: snapshottest.Noon.Add(40 * time.Hour)}
		d := Decide(snapshottest.Ours, index, known, p)
		for hour, e := range l.Snapshots {
			if deleted := slices.Contains(d.Delete, e.Key); deleted != (hour < test.oldest) {
				t.Errorf("%s: the snapshot of hour %d is deleted: %t, want those before hour %d", name, hour, deleted, test.oldest)
			}
		}
		if base, found := p.Base(snapshottest.Ours, index, known); !found || base.Key != l.Snapshots[test.oldest].Key {
			t.Errorf("%s: the archive is kept from %s, want hour %d", name, base.Key, test.oldest)
		}
	}
}
