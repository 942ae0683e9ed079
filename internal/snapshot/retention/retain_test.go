package retention

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// indexOf returns the names of a listing.
func indexOf(l catalog.Listing) catalog.Index {
	objects, names := map[string]objstore.Object{}, map[string]int64{}
	for _, e := range l.Snapshots {
		names[e.Key], names[snapshot.ManifestKey(e.Key)] = e.Manifest.Size, 1
		if e.Verdict != "" {
			names[snapshot.VerdictKey(e.Key, e.Verdict)] = 1
		}
	}
	for _, e := range l.Headless {
		names[snapshot.ManifestKey(e.Key)] = 1
	}
	for name, size := range names {
		objects[name] = objstore.Object{Key: name, Size: size}
	}
	return catalog.NewIndex(objects)
}

// decided returns the decision about a listing, and which manifests were read for it.
func decided(t testing.TB, series snapshot.Series, l catalog.Listing, p Policy) (Decision, catalog.Known) {
	t.Helper()
	index, known, all := indexOf(l), catalog.Known{}, catalog.Known{}
	for _, e := range slices.Concat(l.Snapshots, l.Headless) {
		all[e.Key] = catalog.Reading{Manifest: e.Manifest, Err: l.Unreadable[snapshot.ManifestKey(e.Key)], Gone: slices.ContainsFunc(l.Headless, func(h catalog.Entry) bool { return h.Key == e.Key })}
	}
	for range 100 {
		d := Decide(series, index, known, p)
		if len(d.Need) == 0 {
			return d, known
		}
		for _, item := range d.Need {
			if _, again := known[item.Key]; again {
				t.Fatalf("%s is needed twice", item.Key)
			}
			known[item.Key] = all[item.Key]
		}
	}
	t.Fatal("100 rounds are not enough")
	return Decision{}, nil
}

// retained returns the keys that retention deletes.
func retained(t testing.TB, series snapshot.Series, l catalog.Listing, p Policy) []string {
	t.Helper()
	if p.Now.IsZero() {
		p.Now = snapshottest.Noon.Add(24 * time.Hour)
	}
	d, _ := decided(t, series, l, p)
	return d.Delete
}

func TestRetainDeletesTheOldestSnapshotsOfItsSeries(t *testing.T) {
	reborn := snapshottest.Ours
	reborn.ClusterID = 2
	foreignID := snapshottest.Entry(snapshottest.Ours, 0, 1)
	foreignID.Manifest.Cluster.ID = "00000000000000ff"
	oneShot := snapshottest.Entry(snapshottest.Ours, 0, 1)
	oneShot.Key = "f/ns/example/0000000000000001/before-upgrade.db"
	for name, test := range map[string]struct {
		snapshots []catalog.Entry
		headless  []catalog.Entry
		keep      int
		want      []catalog.Entry // both keys of each, in order
		manifests []catalog.Entry // only the manifest, before those
	}{
		"keeps all by default": {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1), snapshottest.Entry(snapshottest.Ours, 2, 2)}},
		"keeps the newest":     {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 3, 3), snapshottest.Entry(snapshottest.Ours, 1, 1), snapshottest.Entry(snapshottest.Ours, 2, 2)}, keep: 2, want: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}},
		"keeps the newest although its revision gains a digit":       {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 9), snapshottest.Entry(snapshottest.Ours, 2, 10)}, keep: 1, want: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 9)}},
		"keeps the newest although the revision went back":           {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 900), snapshottest.Entry(snapshottest.Ours, 2, 5)}, keep: 1, want: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 900)}},
		"keeps all below the limit":                                  {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 5},
		"never deletes the last snapshot":                            {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 1},
		"ignores a negative limit":                                   {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1), snapshottest.Entry(snapshottest.Ours, 2, 2)}, keep: -1},
		"keeps snapshots of an earlier incarnation":                  {snapshots: []catalog.Entry{snapshottest.Entry(reborn, 0, 9), snapshottest.Entry(reborn, 1, 10), snapshottest.Entry(snapshottest.Ours, 2, 1)}, keep: 1},
		"does not count snapshots of an earlier incarnation":         {snapshots: []catalog.Entry{snapshottest.Entry(reborn, 5, 9), snapshottest.Entry(snapshottest.Ours, 1, 1), snapshottest.Entry(snapshottest.Ours, 2, 2)}, keep: 1, want: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}},
		"keeps snapshots of a cluster with a longer name":            {snapshots: []catalog.Entry{snapshottest.Entry(snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "example-2", ClusterID: 1}, 0, 1), snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 1},
		"keeps snapshots in another folder":                          {snapshots: []catalog.Entry{snapshottest.Entry(snapshot.Series{Folder: "g", Namespace: "ns", Cluster: "example", ClusterID: 1}, 0, 1), snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 1},
		"keeps snapshots of another namespace":                       {snapshots: []catalog.Entry{snapshottest.Entry(snapshot.Series{Folder: "f", Namespace: "prod", Cluster: "example", ClusterID: 1}, 0, 1), snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 1},
		"keeps objects with foreign names":                           {snapshots: []catalog.Entry{oneShot, snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 1},
		"keeps snapshots whose manifest names another cluster":       {snapshots: []catalog.Entry{foreignID, snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 1},
		"completes a partial deletion":                               {snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 2, 2)}, headless: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}, keep: 5, manifests: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}},
		"completes a partial deletion even if all are kept":          {headless: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}, manifests: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 1, 1)}},
		"does not complete a partial deletion of another EtcdBackup": {headless: []catalog.Entry{snapshottest.Entry(reborn, 1, 1), oneShot}, keep: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, e := range test.manifests {
				want = append(want, snapshot.ManifestKey(e.Key))
			}
			for _, e := range test.want {
				want = append(want, e.Key, snapshot.ManifestKey(e.Key))
			}
			got := retained(t, snapshottest.Ours, catalog.Listing{Snapshots: test.snapshots, Headless: test.headless}, Policy{MaxBackups: test.keep})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("deletes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetainKeepsTheNewestSnapshotsForAnyLimit(t *testing.T) {
	var listing catalog.Listing
	for i := range 20 {
		listing.Snapshots = append(listing.Snapshots, snapshottest.Entry(snapshottest.Ours, i, int64(i)))
	}
	for keep := 1; keep <= 25; keep++ {
		deleted := strings.Join(retained(t, snapshottest.Ours, listing, Policy{MaxBackups: keep}), "\n")
		for i, e := range listing.Snapshots {
			if gone, want := strings.Contains(deleted, e.Key), i < len(listing.Snapshots)-keep; gone != want {
				t.Errorf("keeping %d of 20: number %d deleted %v, want %v", keep, i, gone, want)
			}
		}
	}
}

// onDay returns a snapshot of a series at a time.
func onDay(text string) catalog.Entry {
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	e := snapshottest.Entry(snapshottest.Ours, 0, 1)
	e.Key = snapshottest.Ours.Key(at, 1)
	return e
}

func TestRetainKeepsSnapshotsByAgeAndPeriod(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for name, test := range map[string]struct {
		policy Policy
		have   []string
		keeps  []string
	}{
		"keeps snapshots by age": {Policy{Within: 48 * time.Hour}, []string{"2026-11-21 10:00", "2026-11-20 10:00", "2026-11-19 10:00", "2026-11-01 10:00"},
			[]string{"2026-11-21 10:00", "2026-11-20 10:00"}},
		"keeps the newest however old it is": {Policy{Within: time.Hour}, []string{"2026-01-02 10:00", "2026-01-01 10:00"}, []string{"2026-01-02 10:00"}},
		"keeps the newest of each hour":      {Policy{Hourly: 2}, []string{"2026-11-21 10:50", "2026-11-21 10:10", "2026-11-21 09:59", "2026-11-21 08:00"}, []string{"2026-11-21 10:50", "2026-11-21 09:59"}},
		"keeps the newest of each day":       {Policy{Daily: 2}, []string{"2026-11-21 23:00", "2026-11-21 01:00", "2026-11-20 23:00", "2026-11-20 22:00", "2026-11-19 23:00"}, []string{"2026-11-21 23:00", "2026-11-20 23:00"}},
		"days without a snapshot do not count": {Policy{Daily: 3}, []string{"2026-11-21 10:00", "2026-11-10 10:00", "2026-01-01 10:00", "2025-01-01 10:00"},
			[]string{"2026-11-21 10:00", "2026-11-10 10:00", "2026-01-01 10:00"}},
		"days begin at midnight of the zone":      {Policy{Daily: 2, Zone: berlin}, []string{"2026-11-21 10:00", "2026-11-20 23:30", "2026-11-20 22:30"}, []string{"2026-11-21 10:00", "2026-11-20 22:30"}},
		"weeks begin on Monday":                   {Policy{Weekly: 2}, []string{"2026-11-16 10:00", "2026-11-15 10:00", "2026-11-09 10:00", "2026-11-08 10:00"}, []string{"2026-11-16 10:00", "2026-11-15 10:00"}},
		"months are calendar months":              {Policy{Monthly: 2}, []string{"2026-03-01 00:00", "2026-02-28 23:00", "2026-02-01 00:00", "2026-01-31 00:00"}, []string{"2026-03-01 00:00", "2026-02-28 23:00"}},
		"a snapshot is kept if any rule keeps it": {Policy{MaxBackups: 1, Daily: 2}, []string{"2026-11-21 10:00", "2026-11-21 09:00", "2026-11-20 09:00", "2026-11-19 09:00"}, []string{"2026-11-21 10:00", "2026-11-20 09:00"}},
		"maxBackups is a rule of its own":         {Policy{MaxBackups: 2, Monthly: 1}, []string{"2026-11-21 10:00", "2026-11-20 10:00", "2026-11-19 09:00"}, []string{"2026-11-21 10:00", "2026-11-20 10:00"}},
		"keeps all without a rule":                {Policy{}, []string{"2026-11-21 10:00", "2016-11-20 10:00"}, []string{"2026-11-21 10:00", "2016-11-20 10:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.policy.Now = time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)
			var listing catalog.Listing
			for _, at := range test.have {
				listing.Snapshots = append(listing.Snapshots, onDay(at))
			}
			deleted := retained(t, snapshottest.Ours, listing, test.policy)
			var keeps []string
			for i, e := range listing.Snapshots {
				if !slices.Contains(deleted, e.Key) {
					keeps = append(keeps, test.have[i])
				}
			}
			if diff := cmp.Diff(test.keeps, keeps); diff != "" {
				t.Errorf("keeps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetainKeepsTheNewestGoodSnapshot(t *testing.T) {
	good, marked, suspect := snapshottest.Entry(snapshottest.Ours, 1, 1), snapshottest.Entry(snapshottest.Ours, 2, 2), snapshottest.Entry(snapshottest.Ours, 3, 3)
	marked.Manifest.NoQuorum = true
	t.Run("keeps the newest snapshot of a member with quorum", func(t *testing.T) {
		newest := snapshottest.Entry(snapshottest.Ours, 3, 3)
		newest.Manifest.NoQuorum = true
		got := retained(t, snapshottest.Ours, catalog.Listing{Snapshots: []catalog.Entry{newest, marked, good, snapshottest.Entry(snapshottest.Ours, 0, 1)}}, Policy{MaxBackups: 1})
		want := []string{snapshottest.Entry(snapshottest.Ours, 0, 1).Key, snapshot.ManifestKey(snapshottest.Entry(snapshottest.Ours, 0, 1).Key), marked.Key, snapshot.ManifestKey(marked.Key)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("deletes (-want +got):\n%s", diff)
		}
	})
	t.Run("keeps the newest snapshot that did not fail its restore test", func(t *testing.T) {
		suspect.Verdict = snapshot.Failed
		got := retained(t, snapshottest.Ours, catalog.Listing{Snapshots: []catalog.Entry{suspect, good}}, Policy{MaxBackups: 1})
		if len(got) > 0 {
			t.Errorf("deletes %q", got)
		}
	})
}

func TestRetainKeepsSnapshotsOfAnotherEtcdBackupInTheFolder(t *testing.T) {
	of := func(backup string, minutes int) catalog.Entry {
		e := snapshottest.Entry(snapshottest.Ours, minutes, 1)
		e.Manifest.Backup = backup
		return e
	}
	listing := catalog.Listing{Snapshots: []catalog.Entry{of("hourly", 5), of("hourly", 4), of("daily", 3), of("", 2), of("daily", 1)}}
	got := retained(t, snapshottest.Ours, listing, Policy{MaxBackups: 1, Owner: snapshot.Owner{Backup: "hourly"}})
	want := []string{of("", 2).Key, snapshot.ManifestKey(of("", 2).Key), of("hourly", 4).Key, snapshot.ManifestKey(of("hourly", 4).Key)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deletes (-want +got):\n%s", diff)
	}
}

// FuzzRetain checks for any listing and policy: the newest snapshot is kept, foreign snapshots are kept, and a second run
// deletes nothing more.
func FuzzRetain(f *testing.F) {
	f.Add(int64(1), uint8(3), uint8(0), uint8(2), uint8(1), uint8(1), int64(3600))
	f.Add(int64(99), uint8(0), uint8(2), uint8(7), uint8(4), uint8(12), int64(0))
	f.Add(int64(-7), uint8(1), uint8(0), uint8(0), uint8(0), uint8(0), int64(86400*400))
	f.Fuzz(func(t *testing.T, seed int64, most, hourly, daily, weekly, monthly uint8, within int64) {
		policy := Policy{
			MaxBackups: int(most), Hourly: int(hourly), Daily: int(daily), Weekly: int(weekly), Monthly: int(monthly),
			Within: time.Duration(within%(1<<30)) * time.Second, Now: snapshottest.Noon, Owner: snapshot.Owner{Backup: "mine"}, Zone: time.FixedZone("", int(seed%50400)),
		}
		listing := randomListing(seed)
		deleted := retained(t, snapshottest.Ours, listing, policy)
		var left catalog.Listing
		for _, e := range listing.Snapshots {
			if !slices.Contains(deleted, e.Key) {
				left.Snapshots = append(left.Snapshots, e)
				continue
			}
			if key, _ := snapshot.ParseKey(e.Key); key.Series != snapshottest.Ours || e.Manifest.Backup == "other" {
				t.Fatalf("deletes %s of somebody else", e.Key)
			}
		}
		mine, stay := policy.candidates(listing), policy.candidates(left)
		if len(mine) > 0 && (len(stay) == 0 || stay[0].Key != mine[0].Key) {
			t.Fatalf("the newest of %d is gone", len(mine))
		}
		good := func(e catalog.Entry) bool { return !e.Manifest.NoQuorum && e.Verdict != snapshot.Failed }
		if slices.ContainsFunc(mine, good) && !slices.ContainsFunc(stay, good) {
			t.Fatal("the last good one is gone")
		}
		if want := min(len(mine), int(most)); len(stay) < want {
			t.Fatalf("%d are left, and maxBackups is %d", len(stay), most)
		}
		if again := retained(t, snapshottest.Ours, left, policy); len(again) > 0 {
			t.Fatalf("what was kept is deleted next: %q", again)
		}
	})
}

// randomListing has snapshots of two incarnations and two EtcdBackups from the years before noon.
func randomListing(seed int64) catalog.Listing {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	var listing catalog.Listing
	seen := map[string]bool{}
	for range random.IntN(60) {
		series := snapshottest.Ours
		if random.IntN(4) == 0 {
			series.ClusterID = 2
		}
		at := snapshottest.Noon.Add(-time.Duration(random.Int64N(int64(1000*24*time.Hour) >> random.IntN(12))))
		e := snapshottest.Entry(series, 0, 1)
		e.Key = series.Key(at, 1)
		e.Manifest.NoQuorum = random.IntN(5) == 0
		e.Manifest.Backup = []string{"mine", "other", ""}[random.IntN(3)]
		if !seen[e.Key] {
			seen[e.Key] = true
			listing.Snapshots = append(listing.Snapshots, e)
		}
	}
	return listing
}

// candidates returns the snapshots that the policy applies to, newest first.
func (p Policy) candidates(l catalog.Listing) (mine []catalog.Entry) {
	for _, e := range l.Snapshots {
		if key, _ := snapshot.ParseKey(e.Key); key.Series == snapshottest.Ours && p.Owner.Compare(e.Key, e.Manifest) == snapshot.Own {
			mine = append(mine, e)
		}
	}
	slices.SortFunc(mine, func(a, b catalog.Entry) int { return strings.Compare(b.Key, a.Key) })
	return mine
}

// The node's clock is ten days ahead during one run. Without this, keepWithin alone deletes every earlier snapshot.
func TestAClockThatRunsAheadDeletesNoHistory(t *testing.T) {
	var l catalog.Listing
	for hour := range 48 {
		l.Snapshots = append(l.Snapshots, snapshottest.Entry(snapshottest.Ours, hour*60, int64(hour)))
	}
	wrong := snapshottest.Entry(snapshottest.Ours, (48+240)*60, 48)
	l.Snapshots = append(l.Snapshots, wrong)
	deleted := retained(t, snapshottest.Ours, l, Policy{Within: 7 * 24 * time.Hour, Now: wrong.Manifest.CreatedAt, Ahead: 240 * time.Hour, Saved: wrong.Key})
	if diff := cmp.Diff(0, len(deleted)); diff != "" {
		t.Errorf("%d of %d objects of the last 48 hours are deleted, although keepWithin is a week", len(deleted), 2*48)
	}
}

func TestRetentionDeletesNothingByAnIncompleteIndex(t *testing.T) {
	index := indexOf(catalog.Listing{Snapshots: []catalog.Entry{snapshottest.Entry(snapshottest.Ours, 0, 1), snapshottest.Entry(snapshottest.Ours, 1, 2), snapshottest.Entry(snapshottest.Ours, 2, 3)}})
	index.Incomplete = objstore.ErrListing
	decision, err := Retain(t.Context(), objstoretest.NewMemory(), snapshottest.Ours, index, catalog.Known{}, Policy{MaxBackups: 1, Now: snapshottest.Noon.Add(time.Hour)})
	if !errors.Is(err, objstore.ErrListing) || len(decision.Delete) > 0 {
		t.Errorf("retention deletes %d names by an incomplete index, error %v", len(decision.Delete), err)
	}
}
