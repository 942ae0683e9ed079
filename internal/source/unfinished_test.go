package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// unwritten turns the manifest of a snapshot into its draft, as if the store had refused the manifest.
func (s shelf) unwritten(key string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.bucket, snapshot.ManifestKey(key)))
	if err != nil {
		s.Fatal(err)
	}
	s.file(key+".draft-"+strings.Repeat("ab", 8), text)
	s.remove(snapshot.ManifestKey(key))
}

// The quorum is lost at revision 200, and the cluster continues from 150. It is not archived since. The store fails for exactly the manifests of the
// two snapshots after that. A restore to revision 180 took the data of the lost history, which no client has seen since, without a word.
func TestNoFaultOfTheManifestsAfterARecoveryRestoresTheLostHistory(t *testing.T) {
	for name, fault := range map[string]func(s shelf, keys ...string) faulty{
		"they were not written": func(s shelf, keys ...string) faulty {
			for _, key := range keys {
				s.unwritten(key)
			}
			return faulty{}
		},
		"they were deleted, with no draft": func(s shelf, keys ...string) faulty {
			for _, key := range keys {
				s.remove(snapshot.ManifestKey(key))
			}
			return faulty{}
		},
		"listings omit them": func(_ shelf, keys ...string) faulty {
			return faulty{omitted: []string{snapshot.ManifestKey(keys[0]), snapshot.ManifestKey(keys[1])}}
		},
		"listings omit them, and the store does not return them": func(_ shelf, keys ...string) faulty {
			manifests := []string{snapshot.ManifestKey(keys[0]), snapshot.ManifestKey(keys[1])}
			return faulty{omitted: manifests, sick: manifests}
		},
		"they cannot be read from their storage class": func(_ shelf, keys ...string) faulty {
			return faulty{cold: []string{snapshot.ManifestKey(keys[0]), snapshot.ManifestKey(keys[1])}}
		},
		"the store does not return them": func(_ shelf, keys ...string) faulty {
			return faulty{sick: []string{snapshot.ManifestKey(keys[0]), snapshot.ManifestKey(keys[1])}}
		},
		"they are damaged": func(s shelf, keys ...string) faulty {
			for _, key := range keys {
				s.file(snapshot.ManifestKey(key), []byte("{"))
			}
			return faulty{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			of := func(key, recovery string) string {
				return s.rewrite(key, func(m *snapshot.Manifest) { m.Cluster.UID, m.Recovery = "present", recovery })
			}
			s.timeline(1, of(s.savedAt("a", 1, dawn, 2, 2), ""), 2, 200, "")
			f := fault(s, of(s.savedAt("a", 1, dawn.Add(5*time.Hour), 160, 160), "r"), of(s.savedAt("a", 1, dawn.Add(9*time.Hour), 210, 210), "r"))
			c := Choice{Prefer: "0000000000000001", Revision: 180, Of: "ns/a", UID: "present"}
			p, err := s.pointOf(c, f)
			if err == nil {
				t.Errorf("restored from timeline %d, base %s: %s", p.Timeline, p.Base.Key, p.Because())
			}
			if len(f.sick) > 0 && archive.IsRefusal(err) {
				t.Errorf("a fault that passes refuses the point for good: %v", err)
			}
			c.Revision = 120
			if p, err := s.pointOf(c, f); len(f.sick) == 0 && (err != nil || p.Timeline != 1) {
				t.Errorf("a revision before the recovery: timeline %d, %v", p.Timeline, err)
			}
		})
	}
}
