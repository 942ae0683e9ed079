package retention

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestAVerdictIsDeletedWithItsSnapshot(t *testing.T) {
	store, e := snapshottest.NewBucket(t), snapshottest.Entry(snapshottest.Ours, 1, 1)
	store.Commit(e)
	store.Commit(snapshottest.Entry(snapshottest.Ours, 2, 2))
	if err := snapshot.WriteVerdict(t.Context(), store, e.Key, snapshot.Verdict{Result: snapshot.Passed}); err != nil {
		t.Fatal(err)
	}
	d, err := prune(t.Context(), store, Policy{MaxBackups: 1, Now: snapshottest.Noon.Add(time.Hour)})
	want := []string{e.Key, snapshot.VerdictKey(e.Key, snapshot.Passed), snapshot.ManifestKey(e.Key)}
	if diff := cmp.Diff(want, d.Delete); diff != "" || err != nil {
		t.Errorf("%v, deletes (-want +got):\n%s", err, diff)
	}
}

func TestRetentionRespectsVerdicts(t *testing.T) {
	with := func(minutes int, v snapshot.Result) catalog.Entry {
		e := snapshottest.Entry(snapshottest.Ours, minutes, 1)
		e.Verdict = v
		return e
	}
	for name, test := range map[string]struct {
		verdicts string // of the snapshots, oldest first: p(assed), f(ailed), - is none
		policy   Policy
		kept     string // 1 is kept
	}{
		"deletes nothing while the newest snapshot failed its test":            {"pppf", Policy{MaxBackups: 1, Verify: true}, "1111"},
		"deletes nothing while the newest snapshot is not verified":            {"ppp-", Policy{MaxBackups: 1, Verify: true}, "1111"},
		"deletes by the rules if the newest snapshot passed its test":          {"pfpp", Policy{MaxBackups: 2, Verify: true}, "0011"},
		"does not count a failed snapshot for maxBackups":                      {"ppfp", Policy{MaxBackups: 2, Verify: true}, "0111"},
		"needs only the manifest if the spec asks for no tests":                {"p---", Policy{MaxBackups: 2}, "0011"},
		"does not count a failed snapshot if the spec asks for no tests":       {"--f", Policy{MaxBackups: 1}, "011"},
		"keeps the newest snapshot that passed if the spec has restore tests":  {"pp--", Policy{MaxBackups: 1, Tests: true}, "0101"},
		"deletes nothing after a failed test if the spec has restore tests":    {"ppf-", Policy{MaxBackups: 1, Tests: true}, "1111"},
		"an old failed test keeps no snapshot if the spec asks for no tests":   {"-f--", Policy{MaxBackups: 1}, "0001"},
		"deletes by the rules if verification was just turned on":              {"---p", Policy{MaxBackups: 2, Verify: true}, "0011"},
		"keeps the snapshot that was just saved although it is not the newest": {"----", Policy{MaxBackups: 1, Saved: snapshottest.Entry(snapshottest.Ours, 1, 1).Key}, "0101"},
		"a snapshot from the future does not count and is not deleted":         {"---F", Policy{MaxBackups: 1}, "0011"},
	} {
		t.Run(name, func(t *testing.T) {
			var l catalog.Listing
			for i, c := range test.verdicts {
				minutes := i
				if c == 'F' {
					minutes = 1e6
				}
				l.Snapshots = append(l.Snapshots, with(minutes, map[rune]snapshot.Result{'p': snapshot.Passed, 'f': snapshot.Failed}[c]))
			}
			deleted := strings.Join(retained(t, snapshottest.Ours, l, test.policy), "\n")
			kept := ""
			for _, e := range l.Snapshots {
				if strings.Contains(deleted, e.Key) {
					kept += "0"
				} else {
					kept += "1"
				}
			}
			if kept != test.kept {
				t.Errorf("of %s it keeps %s, want %s", test.verdicts, kept, test.kept)
			}
		})
	}
}

// TestALongSeriesCostsNoMoreRequestsThanAShortOne counts the manifests that retention reads of 100,000 snapshots.
func TestALongSeriesCostsNoMoreRequestsThanAShortOne(t *testing.T) {
	const many = 100_000
	var l catalog.Listing
	entries := map[string]catalog.Entry{}
	for i := range many {
		e := snapshottest.Entry(snapshottest.Ours, i, int64(i))
		if e.Manifest.Backup = "mine"; i%10 == 0 {
			e.Manifest.Backup = "other"
		}
		l.Snapshots = append(l.Snapshots, e)
		entries[e.Key] = e
	}
	index := indexOf(l)
	for name, test := range map[string]struct {
		policy Policy
		limit  int
	}{
		"without retention":                               {Policy{}, 0},
		"with maxBackups":                                 {Policy{MaxBackups: 7}, 7 + 2 + deleteBatch},
		"with maxBackups and restore tests":               {Policy{MaxBackups: 7, Verify: true, Tests: true}, 7 + 2},
		"with periods":                                    {Policy{Hourly: 24, Daily: 14, Monthly: 12}, 60 + 10 + deleteBatch},
		"with keepWithin, if all snapshots are young":     {Policy{Within: 100 * 365 * day}, 2},
		"in a folder in which most snapshots are foreign": {Policy{MaxBackups: 3, Owner: snapshot.Owner{Backup: "other"}}, 64 + ForeignBatch + 2*deleteBatch},
		"in a folder in which all snapshots are foreign":  {Policy{MaxBackups: 3, Owner: snapshot.Owner{Backup: "nobody"}}, 2*ForeignBatch + deleteBatch},
	} {
		t.Run(name, func(t *testing.T) {
			test.policy.Now = snapshottest.Noon.Add(many * time.Minute)
			known, rounds := catalog.Known{}, 0
			var d Decision
			for d = Decide(snapshottest.Ours, index, known, test.policy); len(d.Need) > 0; d = Decide(snapshottest.Ours, index, known, test.policy) {
				rounds++
				for _, item := range d.Need {
					known[item.Key] = catalog.Reading{Manifest: entries[item.Key].Manifest}
				}
			}
			if len(known) > test.limit || rounds > 20 || len(d.Delete) > 2*deleteBatch {
				t.Errorf("%d manifests read in %d rounds, %d keys deleted", len(known), rounds, len(d.Delete))
			}
		})
	}
}

func TestManyUndeletableSnapshotsDoNotStandInTheWayOfOthers(t *testing.T) {
	var l catalog.Listing
	for i := range 3000 {
		e := snapshottest.Entry(snapshottest.Ours, i, int64(i))
		if e.Manifest.Backup = "other"; i == 1000 {
			e.Manifest.Backup = "mine"
		}
		if i >= 2998 {
			e.Manifest.Backup = "mine"
		}
		l.Snapshots = append(l.Snapshots, e)
	}
	for run := range 50 {
		p := Policy{MaxBackups: 2, Owner: snapshot.Owner{Backup: "mine"}, Now: snapshottest.Noon.Add(time.Duration(6000+60*run)*time.Minute + time.Duration(run)*17*time.Second)}
		if deleted := retained(t, snapshottest.Ours, l, p); len(deleted) > 0 {
			t.Logf("deleted in run %d", run)
			return
		}
	}
	t.Error("it is never deleted")
}
