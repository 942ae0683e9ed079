package snapshot

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var ours = Series{Folder: "f", Namespace: "ns", Cluster: "example", ClusterID: 1}

// entry is a snapshot of a series, so many minutes after noon.
func entry(series Series, minutes int, revision int64) Entry {
	at := noon.Add(time.Duration(minutes) * time.Minute)
	return Entry{Key: series.Key(at, revision), Manifest: manifest(func(m *Manifest) {
		m.CreatedAt, m.Revision = at, revision
	})}
}

func TestRetain(t *testing.T) {
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
		"keeps the newest although its revision gains a digit":        {snapshots: []Entry{entry(ours, 1, 9), entry(ours, 2, 10)}, keep: 1, want: []Entry{entry(ours, 1, 9)}},
		"keeps the newest although the revision went back":            {snapshots: []Entry{entry(ours, 1, 900), entry(ours, 2, 5)}, keep: 1, want: []Entry{entry(ours, 1, 900)}},
		"has nothing to do below the number":                          {snapshots: []Entry{entry(ours, 1, 1)}, keep: 5},
		"never removes the last one":                                  {snapshots: []Entry{entry(ours, 1, 1)}, keep: 1},
		"has no negative number":                                      {snapshots: []Entry{entry(ours, 1, 1), entry(ours, 2, 2)}, keep: -1},
		"does not touch the cluster's earlier life":                   {snapshots: []Entry{entry(reborn, 0, 9), entry(reborn, 1, 10), entry(ours, 2, 1)}, keep: 1},
		"does not count the cluster's earlier life":                   {snapshots: []Entry{entry(reborn, 5, 9), entry(ours, 1, 1), entry(ours, 2, 2)}, keep: 1, want: []Entry{entry(ours, 1, 1)}},
		"does not touch a cluster with a longer name":                 {snapshots: []Entry{entry(Series{"f", "ns", "example-2", 1}, 0, 1), entry(ours, 1, 1)}, keep: 1},
		"does not touch another folder":                               {snapshots: []Entry{entry(Series{"g", "ns", "example", 1}, 0, 1), entry(ours, 1, 1)}, keep: 1},
		"does not touch another namespace":                            {snapshots: []Entry{entry(Series{"f", "prod", "example", 1}, 0, 1), entry(ours, 1, 1)}, keep: 1},
		"does not touch a name that it did not write":                 {snapshots: []Entry{oneShot, entry(ours, 1, 1)}, keep: 1},
		"does not touch what its manifest says is of another cluster": {snapshots: []Entry{foreignID, entry(ours, 1, 1)}, keep: 1},
		"finishes what was removed by half":                           {snapshots: []Entry{entry(ours, 2, 2)}, headless: []Entry{entry(ours, 1, 1)}, keep: 5, manifests: []Entry{entry(ours, 1, 1)}},
		"finishes that even where all are kept":                       {headless: []Entry{entry(ours, 1, 1)}, manifests: []Entry{entry(ours, 1, 1)}},
		"does not finish what others removed by half":                 {headless: []Entry{entry(reborn, 1, 1), oneShot}, keep: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, e := range test.manifests {
				want = append(want, ManifestKey(e.Key))
			}
			for _, e := range test.want {
				want = append(want, e.Key, ManifestKey(e.Key))
			}
			got := Retain(ours, Listing{Snapshots: test.snapshots, Headless: test.headless}, Policy{MaxBackups: test.keep})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("deletes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetainKeepsTheNewestOfEveryNumber(t *testing.T) {
	var listing Listing
	for i := range 20 {
		listing.Snapshots = append(listing.Snapshots, entry(ours, i, int64(i)))
	}
	for keep := 1; keep <= 25; keep++ {
		deleted := strings.Join(Retain(ours, listing, Policy{MaxBackups: keep}), "\n")
		for i, e := range listing.Snapshots {
			if gone, want := strings.Contains(deleted, e.Key), i < len(listing.Snapshots)-keep; gone != want {
				t.Errorf("keeping %d of 20: number %d deleted %v, want %v", keep, i, gone, want)
			}
		}
	}
}
