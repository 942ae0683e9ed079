package snapshot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestSeriesKeyHasClusterTimeAndRevision(t *testing.T) {
	series := snapshot.Series{Folder: "etcd/prod", Namespace: "ns", Cluster: "example", ClusterID: 0xcdf818194e3a8c32}
	want := "etcd/prod/ns/example/cdf818194e3a8c32/20261121T120000Z-00000000000000000042.db"
	if got := series.Key(snapshottest.Noon, 42); got != want {
		t.Errorf("key %q, want %q", got, want)
	}
	berlin := time.FixedZone("CET", 3600)
	if got := series.Key(snapshottest.Noon.In(berlin), 42); got != want {
		t.Errorf("key of the same moment elsewhere %q, want %q", got, want)
	}
	if got, want := (snapshot.Series{Namespace: "ns", Cluster: "c"}).Key(snapshottest.Noon, 1), "ns/c/0000000000000000/20261121T120000Z-00000000000000000001.db"; got != want {
		t.Errorf("key without a folder %q, want %q", got, want)
	}
}

func TestKeysSortByTimeAndThenRevision(t *testing.T) {
	series := snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "c", ClusterID: 1}
	// The archived operator put the revision first and unpadded: …_v9_… came after
	// …_v10_…, and the newest was deleted.
	ordered := []string{
		series.Key(snapshottest.Noon, 9), series.Key(snapshottest.Noon, 10), series.Key(snapshottest.Noon, 1<<40),
		series.Key(snapshottest.Noon.Add(time.Second), 1), series.Key(snapshottest.Noon.AddDate(1, 0, 0), 0),
	}
	for i := 1; i < len(ordered); i++ {
		if ordered[i-1] >= ordered[i] {
			t.Errorf("%q sorts after %q", ordered[i-1], ordered[i])
		}
	}
}

func TestPrefixMatchesOnlyItsOwnSeries(t *testing.T) {
	// The archived operator's path "a/b" also matched "a/bc_...".
	series := snapshot.Series{Folder: "a", Namespace: "b", Cluster: "c", ClusterID: 1}
	for _, other := range []snapshot.Series{
		{Folder: "a", Namespace: "b", Cluster: "cc", ClusterID: 1},
		{Folder: "a", Namespace: "b", Cluster: "c", ClusterID: 0x10},
		{Folder: "a", Namespace: "bb", Cluster: "c", ClusterID: 1},
		{Folder: "aa", Namespace: "b", Cluster: "c", ClusterID: 1},
	} {
		if strings.HasPrefix(other.Key(snapshottest.Noon, 1), series.Prefix()) {
			t.Errorf("%q begins with %q", other.Key(snapshottest.Noon, 1), series.Prefix())
		}
	}
}

func TestParseKeyAcceptsOnlyKeysOfASeries(t *testing.T) {
	for name, want := range map[string]snapshot.SeriesKey{
		"a key with a folder":                                  {snapshot.Series{"f", "ns", "c", 1}, snapshottest.Noon, 42, codec.Encoding{}},
		"a key of a compressed snapshot":                       {snapshot.Series{"f", "ns", "c", 1}, snapshottest.Noon, 42, codec.Encoding{Compression: codec.Zstd}},
		"a key of an encrypted snapshot":                       {snapshot.Series{"f", "ns", "c", 1}, snapshottest.Noon, 42, codec.Encoding{Encryption: codec.Age}},
		"a key of a compressed and encrypted snapshot":         {snapshot.Series{"f", "ns", "c", 1}, snapshottest.Noon, 42, codec.Encoding{Compression: codec.Zstd, Encryption: codec.Age}},
		"a key without a folder":                               {snapshot.Series{"", "ns", "c", 1<<64 - 1}, snapshottest.Noon, 0, codec.Encoding{}},
		"a key with a folder of several path elements":         {snapshot.Series{"a/b c/%d/ü", "ns", "c", 7}, snapshottest.Noon, 1 << 62, codec.Encoding{}},
		"a key with a folder that looks like that of a series": {snapshot.Series{"ns/c/0000000000000001", "ns", "c", 1}, snapshottest.Noon, 42, codec.Encoding{}},
	} {
		t.Run("inverts "+name, func(t *testing.T) {
			got, ok := snapshot.ParseKey(want.EncodedKey(want.Time, want.Revision, want.Encoding))
			if !ok {
				t.Fatalf("%q is not taken", want.EncodedKey(want.Time, want.Revision, want.Encoding))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
	const good = "f/ns/c/0000000000000001/20261121T120000Z-00000000000000000042.db"
	if _, ok := snapshot.ParseKey(good); !ok {
		t.Fatalf("%q is not taken", good)
	}
	for name, key := range map[string]string{
		"a manifest":                      good + ".json",
		"a one-shot":                      "f/snapshot.db",
		"a name of the archived operator": "f/etcd.backup_v42_2026-11-21-12:00:00",
		"a further suffix":                good + ".bak",
		"the encryption suffix before the compression suffix": good + ".age.zst",
		"an unknown compression":                              good + ".gz",
		"a revision without leading zeros":                    "f/ns/c/0000000000000001/20261121T120000Z-42.db",
		"a revision with a sign":                              "f/ns/c/0000000000000001/20261121T120000Z-+0000000000000000042.db",
		"a revision beyond 63 bits":                           "f/ns/c/0000000000000001/20261121T120000Z-99999999999999999999.db",
		"an invalid time":                                     "f/ns/c/0000000000000001/20261321T120000Z-00000000000000000042.db",
		"a time with a fraction":                              "f/ns/c/0000000000000001/20261121T120000.5Z-00000000000000000042.db",
		"a cluster ID in upper case":                          "f/ns/c/000000000000000A/20261121T120000Z-00000000000000000042.db",
		"a cluster ID without leading zeros":                  "f/ns/c/1/20261121T120000Z-00000000000000000042.db",
		"a key without a cluster name":                        "ns/0000000000000001/20261121T120000Z-00000000000000000042.db",
		"an empty cluster name":                               "f/ns//0000000000000001/20261121T120000Z-00000000000000000042.db",
		"a slash at the start":                                "/" + good,
		"an empty key":                                        "",
		"a file name without a folder":                        "20261121T120000Z-00000000000000000042.db",
		"a suffix in upper case":                              "f/ns/c/0000000000000001/20261121T120000Z-00000000000000000042.DB",
		"two revisions":                                       "f/ns/c/0000000000000001/20261121T120000Z-00000000000000000042-1.db",
		"a key above the maximum length":                      strings.Repeat("f", 1000) + "/" + good,
	} {
		t.Run("rejects "+name, func(t *testing.T) {
			if got, ok := snapshot.ParseKey(key); ok {
				t.Errorf("took %q as %+v", key, got)
			}
		})
	}
}

func TestCheckKeyRejectsInvalidKeys(t *testing.T) {
	for name, key := range map[string]string{
		"a plain key":               "snapshot.db",
		"percent signs":             "a/100%/%d%s%n.db", // the archived operator used the path as a format
		"spaces and unicode":        "my backups/größe/日本.db",
		"dots within path elements": "a/..b/c../...",
		"another suffix":            "a/etcd.backup",
		"the longest key":           strings.Repeat("x", 1019),
		"a key of a series":         "f/ns/c/0000000000000001/20261121T120000Z-00000000000000000042.db",
	} {
		t.Run("accepts "+name, func(t *testing.T) {
			if err := snapshot.CheckKey(key); err != nil {
				t.Error(err)
			}
		})
	}
	for name, key := range map[string]string{
		"an empty key":               "",
		"a slash at the start":       "/a",
		"a slash at the end":         "a/",
		"an empty path element":      "a//b",
		"two dots as a path element": "a/../b",
		"a dot as a path element":    "./a",
		"a control character":        "a\nb",
		"a zero byte":                "a\x00b",
		"broken UTF-8":               "a\xff",
		"more than 1,024 characters": strings.Repeat("x", 1025),
		"no room for the manifest":   strings.Repeat("x", 1020),
		"the name of a manifest":     "a/b.db.json",
	} {
		t.Run("rejects "+name, func(t *testing.T) {
			if err := snapshot.CheckKey(key); err == nil {
				t.Error("no error")
			}
		})
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("f/ns/c/0000000000000001/20261121T120000Z-00000000000000000042.db")
	f.Add("ns/c/ffffffffffffffff/20261121T120000Z-09223372036854775807.db")
	f.Add("f/ns/c/0000000000000001/20261121T120000Z-42.db.json")
	f.Add("f/ns/c/0000000000000001/20261121T120000Z-00000000000000000042.db.zst.age")
	f.Fuzz(func(t *testing.T, key string) {
		parsed, ok := snapshot.ParseKey(key)
		if !ok {
			return
		}
		if got := parsed.EncodedKey(parsed.Time, parsed.Revision, parsed.Encoding); got != key {
			t.Errorf("%q is written as %q", key, got)
		}
		if err := snapshot.CheckKey(key); err != nil {
			t.Errorf("took %q, which is refused elsewhere: %v", key, err)
		}
		if !strings.HasPrefix(key, parsed.Prefix()) {
			t.Errorf("%q does not begin with its prefix %q", key, parsed.Prefix())
		}
	})
}

func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"a", "a/b", "a/../b", "%s", " ", "ä", "a.json", "/"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if snapshot.CheckKey(key) != nil {
			return
		}
		if back, ok := snapshot.OfManifest(snapshot.ManifestKey(key)); !ok || back != key {
			t.Errorf("the manifest of %q is that of %q", key, back)
		}
		if snapshot.CheckKey(snapshot.ManifestKey(key)) == nil {
			t.Errorf("the manifest of %q could be a snapshot", key)
		}
		for part := range strings.SplitSeq(key, "/") {
			if part == "" || part == "." || part == ".." {
				t.Errorf("took %q with the part %q", key, part)
			}
		}
	})
}
