package source

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// A listing omits one object, whichever it is. Retention deletes nothing more than with a whole listing, and no restore takes a snapshot that failed
// its restore test, or another one than with a whole listing. An omitted result of a test deleted the last snapshot that was known to be good.
func TestNoOmittedObjectDeletesMoreOrRestoresAnother(t *testing.T) {
	s := newShelf(t)
	var keys []string
	for hour, result := range []snapshot.Result{snapshot.Passed, snapshot.Passed, "", snapshot.Failed, snapshot.Failed} {
		key := s.savedAt("a", 1, dawn.Add(time.Duration(hour)*time.Hour), int64(10*hour+2), int64(10*hour+2))
		if keys = append(keys, key); result != "" {
			s.verdict(key, result)
		}
	}
	s.verdict(keys[4], snapshot.Passed) // of an earlier test
	s.timeline(1, keys[0], 2, 60, "")
	whole, err := file.Open(s.bucket)
	if err != nil {
		t.Fatal(err)
	}
	deletes := func(f faulty, p retention.Policy) []string {
		series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}
		index, err := catalog.Scan(t.Context(), f.over(whole), series.Prefix())
		if err != nil {
			t.Fatal(err)
		}
		p.Now = dawn.Add(5 * time.Hour)
		d, err := retention.Retain(t.Context(), f.over(whole), series, index, catalog.Known{}, p)
		if err != nil {
			t.Fatal(err)
		}
		return d.Delete
	}
	restores := func(f faulty) map[string]string {
		src, got := v1beta2.RestoreSource{Bucket: "bucket", Key: "daily/"}, map[string]string{}
		note := func(name, key string, err error) {
			if got[name] = key; err != nil {
				got[name] = "refused"
			}
		}
		key, _, err := choose(t.Context(), f.over(whole), src, Choice{Folder: true}, snapshot.Anyone, dawn.Add(5*time.Hour))
		note("the newest", key, err)
		named := src
		named.Key = keys[4]
		key, _, err = exact(t.Context(), f.over(whole), named, Choice{Fallback: "daily/ns/a/"}, snapshot.Anyone, dawn.Add(5*time.Hour))
		note("the one of the status", key, err)
		p, err := s.pointOf(Choice{Revision: 55}, f)
		note("a revision", p.Base.Key, err)
		return got
	}
	wanted := restores(faulty{})
	for name, key := range wanted {
		if key != keys[2] {
			t.Fatalf("%s is %q", name, key)
		}
	}
	for object, err := range whole.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		f := faulty{omitted: []string{object.Key}}
		for _, p := range []retention.Policy{{MaxBackups: 1}, {MaxBackups: 2}, {MaxBackups: 1, Tests: true}, {MaxBackups: 1, Verify: true}} {
			allowed := deletes(faulty{}, p)
			for _, key := range deletes(f, p) {
				if !slices.Contains(allowed, key) {
					t.Errorf("a listing omits %s, and %+v deletes %s", object.Key, p, key)
				}
			}
		}
		for name, key := range restores(f) {
			older := object.Key == keys[2] && (key == keys[1] || key == "refused")                        // nothing names it
			hole := name == "a revision" && key == "refused" && strings.HasSuffix(object.Key, ".segment") // it can be asked again
			if key != wanted[name] && !older && !hole {
				t.Errorf("a listing omits %s, and %s is %q", object.Key, name, key)
			}
		}
	}
}
