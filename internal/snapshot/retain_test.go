package snapshot

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
)

var ours = Series{Folder: "f", Namespace: "ns", Cluster: "example", ClusterID: 1}

// entry returns a snapshot of a series, a number of minutes after noon.
func entry(series Series, minutes int, revision int64) Entry {
	at := noon.Add(time.Duration(minutes) * time.Minute)
	return Entry{Key: series.Key(at, revision), Manifest: manifest(func(m *Manifest) {
		m.CreatedAt, m.Revision = at, revision
	})}
}

// indexOf returns the names of a listing.
func indexOf(l Listing) Index {
	objects, names := map[string]objstore.Object{}, map[string]int64{}
	for _, e := range l.Snapshots {
		names[e.Key], names[ManifestKey(e.Key)] = e.Manifest.Size, 1
		if e.Verdict != "" {
			names[VerdictKey(e.Key, e.Verdict)] = 1
		}
	}
	for _, e := range l.Headless {
		names[ManifestKey(e.Key)] = 1
	}
	for name, size := range names {
		objects[name] = objstore.Object{Key: name, Size: size}
	}
	return newIndex(objects)
}

// decided returns the decision about a listing, and which manifests were read for it.
func decided(t testing.TB, series Series, l Listing, p Policy) (Decision, Known) {
	t.Helper()
	index, known, all := indexOf(l), Known{}, Known{}
	for _, e := range slices.Concat(l.Snapshots, l.Headless) {
		all[e.Key] = Reading{Manifest: e.Manifest, Err: l.Unreadable[ManifestKey(e.Key)], Gone: slices.ContainsFunc(l.Headless, func(h Entry) bool { return h.Key == e.Key })}
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
func retained(t testing.TB, series Series, l Listing, p Policy) []string {
	t.Helper()
	if p.Now.IsZero() {
		p.Now = noon.Add(24 * time.Hour)
	}
	d, _ := decided(t, series, l, p)
	return d.Delete
}

func TestRetainDeletesTheOldestSnapshotsOfItsSeries(t *testing.T) {
	reborn := ours
	reborn.ClusterID = 2
	foreignID := entry(ours, 0, 1)
	foreignID.Manifest.Cluster.ID = "00000000000000ff"
	oneShot := entry(ours, 0, 1)
	oneShot.Key = "f/ns/example/0000000000000001/before-upgrade.db"
	for name, test := range map[string]struct {
		snapshots []Entry
		headless  []Entry
		keep      int
		want      []Entry // both keys of each, in order
		manifests []Entry // only the manifest, before those
	}{
		"keeps all by default": {snapshots: []Entry{entry(ours, 1, 1), entry(ours, 2, 2)}},
		"keeps the newest":     {snapshots: []Entry{entry(ours, 3, 3), entry(ours, 1, 1), entry(ours, 2, 2)}, keep: 2, want: []Entry{entry(ours, 1, 1)}},
		"keeps the newest although its revision gains a digit":       {snapshots: []Entry{entry(ours, 1, 9), entry(ours, 2, 10)}, keep: 1, want: []Entry{entry(ours, 1, 9)}},
		"keeps the newest although the revision went back":           {snapshots: []Entry{entry(ours, 1, 900), entry(ours, 2, 5)}, keep: 1, want: []Entry{entry(ours, 1, 900)}},
		"keeps all below the limit":                                  {snapshots: []Entry{entry(ours, 1, 1)}, keep: 5},
		"never deletes the last snapshot":                            {snapshots: []Entry{entry(ours, 1, 1)}, keep: 1},
		"ignores a negative limit":                                   {snapshots: []Entry{entry(ours, 1, 1), entry(ours, 2, 2)}, keep: -1},
		"keeps snapshots of an earlier incarnation":                  {snapshots: []Entry{entry(reborn, 0, 9), entry(reborn, 1, 10), entry(ours, 2, 1)}, keep: 1},
		"does not count snapshots of an earlier incarnation":         {snapshots: []Entry{entry(reborn, 5, 9), entry(ours, 1, 1), entry(ours, 2, 2)}, keep: 1, want: []Entry{entry(ours, 1, 1)}},
		"keeps snapshots of a cluster with a longer name":            {snapshots: []Entry{entry(Series{"f", "ns", "example-2", 1}, 0, 1), entry(ours, 1, 1)}, keep: 1},
		"keeps snapshots in another folder":                          {snapshots: []Entry{entry(Series{"g", "ns", "example", 1}, 0, 1), entry(ours, 1, 1)}, keep: 1},
		"keeps snapshots of another namespace":                       {snapshots: []Entry{entry(Series{"f", "prod", "example", 1}, 0, 1), entry(ours, 1, 1)}, keep: 1},
		"keeps objects with foreign names":                           {snapshots: []Entry{oneShot, entry(ours, 1, 1)}, keep: 1},
		"keeps snapshots whose manifest names another cluster":       {snapshots: []Entry{foreignID, entry(ours, 1, 1)}, keep: 1},
		"completes a partial deletion":                               {snapshots: []Entry{entry(ours, 2, 2)}, headless: []Entry{entry(ours, 1, 1)}, keep: 5, manifests: []Entry{entry(ours, 1, 1)}},
		"completes a partial deletion even if all are kept":          {headless: []Entry{entry(ours, 1, 1)}, manifests: []Entry{entry(ours, 1, 1)}},
		"does not complete a partial deletion of another EtcdBackup": {headless: []Entry{entry(reborn, 1, 1), oneShot}, keep: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, e := range test.manifests {
				want = append(want, ManifestKey(e.Key))
			}
			for _, e := range test.want {
				want = append(want, e.Key, ManifestKey(e.Key))
			}
			got := retained(t, ours, Listing{Snapshots: test.snapshots, Headless: test.headless}, Policy{MaxBackups: test.keep})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("deletes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetainKeepsTheNewestSnapshotsForAnyLimit(t *testing.T) {
	var listing Listing
	for i := range 20 {
		listing.Snapshots = append(listing.Snapshots, entry(ours, i, int64(i)))
	}
	for keep := 1; keep <= 25; keep++ {
		deleted := strings.Join(retained(t, ours, listing, Policy{MaxBackups: keep}), "\n")
		for i, e := range listing.Snapshots {
			if gone, want := strings.Contains(deleted, e.Key), i < len(listing.Snapshots)-keep; gone != want {
				t.Errorf("keeping %d of 20: number %d deleted %v, want %v", keep, i, gone, want)
			}
		}
	}
}

// onDay returns a snapshot of a series at a time.
func onDay(text string) Entry {
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	e := entry(ours, 0, 1)
	e.Key = ours.Key(at, 1)
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
			var listing Listing
			for _, at := range test.have {
				listing.Snapshots = append(listing.Snapshots, onDay(at))
			}
			deleted := retained(t, ours, listing, test.policy)
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
	good, marked, suspect := entry(ours, 1, 1), entry(ours, 2, 2), entry(ours, 3, 3)
	marked.Manifest.NoQuorum = true
	t.Run("keeps the newest snapshot of a member with quorum", func(t *testing.T) {
		newest := entry(ours, 3, 3)
		newest.Manifest.NoQuorum = true
		got := retained(t, ours, Listing{Snapshots: []Entry{newest, marked, good, entry(ours, 0, 1)}}, Policy{MaxBackups: 1})
		want := []string{entry(ours, 0, 1).Key, ManifestKey(entry(ours, 0, 1).Key), marked.Key, ManifestKey(marked.Key)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("deletes (-want +got):\n%s", diff)
		}
	})
	t.Run("keeps the newest snapshot that did not fail its restore test", func(t *testing.T) {
		suspect.Verdict = Failed
		got := retained(t, ours, Listing{Snapshots: []Entry{suspect, good}}, Policy{MaxBackups: 1})
		if len(got) > 0 {
			t.Errorf("deletes %q", got)
		}
	})
}

func TestRetainKeepsSnapshotsOfAnotherEtcdBackupInTheFolder(t *testing.T) {
	of := func(backup string, minutes int) Entry {
		e := entry(ours, minutes, 1)
		e.Manifest.Backup = backup
		return e
	}
	listing := Listing{Snapshots: []Entry{of("hourly", 5), of("hourly", 4), of("daily", 3), of("", 2), of("daily", 1)}}
	got := retained(t, ours, listing, Policy{MaxBackups: 1, Owner: Owner{Backup: "hourly"}})
	want := []string{of("", 2).Key, ManifestKey(of("", 2).Key), of("hourly", 4).Key, ManifestKey(of("hourly", 4).Key)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deletes (-want +got):\n%s", diff)
	}
}

func TestWrittenReturnsOnlyKeysOfThisEtcdBackup(t *testing.T) {
	by := func(attempt string, minutes int) Entry {
		e := entry(ours, minutes, 1)
		e.Manifest.Attempt = attempt
		return e
	}
	listing := Listing{Snapshots: []Entry{by("uid/c", 1), by("uid-2/c", 2), by("", 3), by("uid", 4)}, Headless: []Entry{by("uid/d", 5)}}
	want := []string{by("", 1).Key, ManifestKey(by("", 1).Key), by("", 5).Key, ManifestKey(by("", 5).Key)}
	if diff := cmp.Diff(want, Written(listing, "uid")); diff != "" {
		t.Errorf("wrote (-want +got):\n%s", diff)
	}
	if got := Written(listing, ""); len(got) > 0 {
		t.Errorf("nobody wrote %q", got)
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
			Within: time.Duration(within%(1<<30)) * time.Second, Now: noon, Owner: Owner{Backup: "mine"}, Zone: time.FixedZone("", int(seed%50400)),
		}
		listing := randomListing(seed)
		deleted := retained(t, ours, listing, policy)
		var left Listing
		for _, e := range listing.Snapshots {
			if !slices.Contains(deleted, e.Key) {
				left.Snapshots = append(left.Snapshots, e)
				continue
			}
			if key, _ := ParseKey(e.Key); key.Series != ours || e.Manifest.Backup == "other" {
				t.Fatalf("deletes %s of somebody else", e.Key)
			}
		}
		mine, stay := policy.candidates(listing), policy.candidates(left)
		if len(mine) > 0 && (len(stay) == 0 || stay[0].Key != mine[0].Key) {
			t.Fatalf("the newest of %d is gone", len(mine))
		}
		good := func(e Entry) bool { return !e.Manifest.NoQuorum && e.Verdict != Failed }
		if slices.ContainsFunc(mine, good) && !slices.ContainsFunc(stay, good) {
			t.Fatal("the last good one is gone")
		}
		if want := min(len(mine), int(most)); len(stay) < want {
			t.Fatalf("%d are left, and maxBackups is %d", len(stay), most)
		}
		if again := retained(t, ours, left, policy); len(again) > 0 {
			t.Fatalf("what was kept is deleted next: %q", again)
		}
	})
}

// randomListing has snapshots of two incarnations and two EtcdBackups from the years before noon.
func randomListing(seed int64) Listing {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	var listing Listing
	seen := map[string]bool{}
	for range random.IntN(60) {
		series := ours
		if random.IntN(4) == 0 {
			series.ClusterID = 2
		}
		at := noon.Add(-time.Duration(random.Int64N(int64(1000*24*time.Hour) >> random.IntN(12))))
		e := entry(series, 0, 1)
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
func (p Policy) candidates(l Listing) (mine []Entry) {
	for _, e := range l.Snapshots {
		if key, _ := ParseKey(e.Key); key.Series == ours && p.Owner.Compare(e.Key, e.Manifest) == Own {
			mine = append(mine, e)
		}
	}
	slices.SortFunc(mine, func(a, b Entry) int { return strings.Compare(b.Key, a.Key) })
	return mine
}

// The node's clock is ten days ahead during one run. Without this, keepWithin alone deletes every earlier snapshot.
func TestAClockThatRunsAheadDeletesNoHistory(t *testing.T) {
	var l Listing
	for hour := range 48 {
		l.Snapshots = append(l.Snapshots, entry(ours, hour*60, int64(hour)))
	}
	wrong := entry(ours, (48+240)*60, 48)
	l.Snapshots = append(l.Snapshots, wrong)
	deleted := retained(t, ours, l, Policy{Within: 7 * 24 * time.Hour, Now: wrong.Manifest.CreatedAt, Ahead: 240 * time.Hour, Saved: wrong.Key})
	if diff := cmp.Diff(0, len(deleted)); diff != "" {
		t.Errorf("%d of %d objects of the last 48 hours are deleted, although keepWithin is a week", len(deleted), 2*48)
	}
}

func TestRetentionDeletesNothingByAnIncompleteIndex(t *testing.T) {
	index := indexOf(Listing{Snapshots: []Entry{entry(ours, 0, 1), entry(ours, 1, 2), entry(ours, 2, 3)}})
	index.Incomplete = objstore.ErrListing
	decision, err := Retain(t.Context(), objstoretest.NewMemory(), ours, index, Known{}, Policy{MaxBackups: 1, Now: noon.Add(time.Hour)})
	if !errors.Is(err, objstore.ErrListing) || len(decision.Delete) > 0 {
		t.Errorf("retention deletes %d names by an incomplete index, error %v", len(decision.Delete), err)
	}
}
