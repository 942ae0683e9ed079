package snapshot

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scanned returns the only item of a store.
func scanned(t *testing.T, store bucket) Item {
	t.Helper()
	index, err := Scan(t.Context(), store, "")
	if err != nil || len(index.Items) != 1 {
		t.Fatalf("%+v, %v", index.Items, err)
	}
	return index.Items[0]
}

func TestAVerdictIsListedWithItsSnapshotAndIsNoSnapshot(t *testing.T) {
	store, e := newBucket(t), entry(ours, 1, 1)
	store.commit(e)
	if got := scanned(t, store); got.Verdict != "" || got.Series != ours || !got.Time.Equal(noon.Add(time.Minute)) {
		t.Errorf("a new snapshot: %+v", got)
	}
	for _, result := range []Result{Passed, Failed, Failed, Passed, Passed} {
		want := Verdict{FormatVersion: 1, Result: result, Time: noon, Backup: "nightly", Tool: "test", Message: "it can be restored"}
		if err := WriteVerdict(t.Context(), store, e.Key, want); err != nil {
			t.Fatal(err)
		}
		if got := scanned(t, store); got.Verdict != result {
			t.Errorf("%s: the listing has %q", result, got.Verdict)
		}
		got, err := ReadVerdict(t.Context(), store, e.Key, result)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if keys := store.keys(); len(keys) != 3 {
			t.Errorf("the store has %q", keys)
		}
	}
}

func TestAVerdictThatCannotBeReadNeverCountsAsPassed(t *testing.T) {
	for name, object := range map[string]string{
		"a verdict with an unknown result": "verdict-maybe", "a verdict without a result": "verdict-", "a verdict with another suffix": "verdict-passed.json", "a verdict in upper case": "verdict-PASSED",
	} {
		t.Run(name, func(t *testing.T) {
			store, e := newBucket(t), entry(ours, 1, 1)
			store.commit(e)
			store.put(e.Key+"."+object, []byte("{"))
			if got := scanned(t, store); got.Verdict != "" {
				t.Errorf("verdict %q", got.Verdict)
			}
		})
	}
	t.Run("a verdict of an earlier object under the same key", func(t *testing.T) {
		store, e := newBucket(t), entry(ours, 1, 1)
		if err := WriteVerdict(t.Context(), store, e.Key, Verdict{Result: Passed}); err != nil {
			t.Fatal(err)
		}
		store.age(VerdictKey(e.Key, Passed), time.Hour)
		store.commit(e)
		if got := scanned(t, store); got.Verdict != "" {
			t.Errorf("verdict %q", got.Verdict)
		}
	})
	t.Run("counts as failed if both results exist", func(t *testing.T) {
		store, e := newBucket(t), entry(ours, 1, 1)
		store.commit(e)
		store.put(VerdictKey(e.Key, Failed), []byte("{}"))
		store.put(VerdictKey(e.Key, Passed), []byte("{}"))
		if got := scanned(t, store); got.Verdict != Failed {
			t.Errorf("verdict %q", got.Verdict)
		}
	})
}

func TestAVerdictIgnoresUnknownFields(t *testing.T) {
	store, e := newBucket(t), entry(ours, 1, 1)
	store.put(VerdictKey(e.Key, Failed), []byte(`{"formatVersion": 9, "result": "failed", "message": "it is damaged", "shards": [1]}`))
	if got, err := ReadVerdict(t.Context(), store, e.Key, Failed); err != nil || got.Message != "it is damaged" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAVerdictIsDeletedWithItsSnapshot(t *testing.T) {
	store, e := newBucket(t), entry(ours, 1, 1)
	store.commit(e)
	store.commit(entry(ours, 2, 2))
	if err := WriteVerdict(t.Context(), store, e.Key, Verdict{Result: Passed}); err != nil {
		t.Fatal(err)
	}
	d, err := prune(t.Context(), store, Policy{MaxBackups: 1, Now: noon.Add(time.Hour)})
	want := []string{e.Key, VerdictKey(e.Key, Passed), ManifestKey(e.Key)}
	if diff := cmp.Diff(want, d.Delete); diff != "" || err != nil {
		t.Errorf("%v, deletes (-want +got):\n%s", err, diff)
	}
}

// TestWritingAVerdictThatWasKilledNeverTurnsAFailureIntoASuccess kills the write of each result at each call.
func TestWritingAVerdictThatWasKilledNeverTurnsAFailureIntoASuccess(t *testing.T) {
	for _, step := range []struct{ before, after Result }{{"", Passed}, {"", Failed}, {Passed, Failed}, {Failed, Passed}, {Passed, Passed}, {Failed, Failed}} {
		for _, when := range []when{before, inBetween, after} {
			for at := 1; at < 5; at++ {
				store, e := newBucket(t), entry(ours, 1, 1)
				store.commit(e)
				if step.before != "" {
					store.put(VerdictKey(e.Key, step.before), []byte("{}"))
				}
				err := WriteVerdict(t.Context(), &mortal{Store: store, at: at, when: when}, e.Key, Verdict{Result: step.after})
				got := scanned(t, store).Verdict
				if got == Passed && step.after == Failed && step.before != Passed || err == nil && got != step.after {
					t.Errorf("from %q to %q, killed %s call %d: %q", step.before, step.after, when, at, got)
				}
				if err := WriteVerdict(t.Context(), store, e.Key, Verdict{Result: step.after}); err != nil {
					t.Fatal(err)
				}
				if got := scanned(t, store).Verdict; got != step.after {
					t.Errorf("the next run leaves %q", got)
				}
			}
		}
	}
}

func TestRetentionRespectsVerdicts(t *testing.T) {
	with := func(minutes int, v Result) Entry {
		e := entry(ours, minutes, 1)
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
		"keeps the snapshot that was just saved although it is not the newest": {"----", Policy{MaxBackups: 1, Saved: entry(ours, 1, 1).Key}, "0101"},
		"a snapshot from the future does not count and is not deleted":         {"---F", Policy{MaxBackups: 1}, "0011"},
	} {
		t.Run(name, func(t *testing.T) {
			var l Listing
			for i, c := range test.verdicts {
				minutes := i
				if c == 'F' {
					minutes = 1e6
				}
				l.Snapshots = append(l.Snapshots, with(minutes, map[rune]Result{'p': Passed, 'f': Failed}[c]))
			}
			deleted := strings.Join(retained(t, ours, l, test.policy), "\n")
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
	var l Listing
	entries := map[string]Entry{}
	for i := range many {
		e := entry(ours, i, int64(i))
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
		"in a folder in which most snapshots are foreign": {Policy{MaxBackups: 3, Owner: Owner{Backup: "other"}}, 64 + foreignBatch + 2*deleteBatch},
		"in a folder in which all snapshots are foreign":  {Policy{MaxBackups: 3, Owner: Owner{Backup: "nobody"}}, 2*foreignBatch + deleteBatch},
	} {
		t.Run(name, func(t *testing.T) {
			test.policy.Now = noon.Add(many * time.Minute)
			known, rounds := Known{}, 0
			var d Decision
			for d = Decide(ours, index, known, test.policy); len(d.Need) > 0; d = Decide(ours, index, known, test.policy) {
				rounds++
				for _, item := range d.Need {
					known[item.Key] = Reading{Manifest: entries[item.Key].Manifest}
				}
			}
			if len(known) > test.limit || rounds > 20 || len(d.Delete) > 2*deleteBatch {
				t.Errorf("%d manifests read in %d rounds, %d keys deleted", len(known), rounds, len(d.Delete))
			}
		})
	}
}

func TestManyUndeletableSnapshotsDoNotStandInTheWayOfOthers(t *testing.T) {
	var l Listing
	for i := range 3000 {
		e := entry(ours, i, int64(i))
		if e.Manifest.Backup = "other"; i == 1000 {
			e.Manifest.Backup = "mine"
		}
		if i >= 2998 {
			e.Manifest.Backup = "mine"
		}
		l.Snapshots = append(l.Snapshots, e)
	}
	for run := range 50 {
		p := Policy{MaxBackups: 2, Owner: Owner{Backup: "mine"}, Now: noon.Add(time.Duration(6000+60*run)*time.Minute + time.Duration(run)*17*time.Second)}
		if deleted := retained(t, ours, l, p); len(deleted) > 0 {
			t.Logf("deleted in run %d", run)
			return
		}
	}
	t.Error("it is never deleted")
}

// Credentials without the permission to delete protect the snapshots if the credentials are stolen. The store then
// refuses each deletion, even if the object does not exist.
func TestAVerdictIsWrittenWithCredentialsThatMayNotDelete(t *testing.T) {
	store, e := newBucket(t), entry(ours, 1, 1)
	store.commit(e)
	for _, step := range []struct {
		result, want Result
		refused      bool
	}{{Passed, Passed, false}, {Passed, Passed, false}, {Failed, Failed, false}, {Failed, Failed, false}, {Passed, Failed, true}} {
		err := WriteVerdict(t.Context(), undeletable{store}, e.Key, Verdict{Result: step.result})
		if refused := errors.Is(err, fs.ErrPermission); refused != step.refused || !refused && err != nil {
			t.Errorf("%s: %v", step.result, err)
		}
		if got := scanned(t, store); got.Verdict != step.want {
			t.Errorf("%s: the listing has %q", step.result, got.Verdict)
		}
	}
}
