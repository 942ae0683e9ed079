package snapshot

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// backupOf is the owner of the snapshots of an EtcdBackup that was created at a time.
func backupOf(uid string, since time.Time) Owner {
	return Owner{Namespace: "ns", Cluster: "example", ClusterUID: "cluster-" + uid, ClusterSince: since, Backup: "b", BackupUID: uid, BackupSince: since}
}

// of returns a snapshot of an EtcdBackup.
func of(uid string, minutes int) Entry {
	e := entry(ours, minutes, int64(minutes))
	e.Manifest.Backup, e.Manifest.Attempt, e.Manifest.Cluster.UID = "b", uid+"/0000000000000001", "cluster-"+uid
	return e
}

func TestAnOwnerIsComparedWithKeyAndManifest(t *testing.T) {
	mine := backupOf("uid-1", noon)
	change := func(e Entry, to func(*Manifest)) Entry { to(&e.Manifest); return e }
	oneShot := of("uid-1", 5)
	oneShot.Key = "f/before-upgrade.db"
	for name, test := range map[string]struct {
		entry Entry
		want  Claim
	}{
		"its own snapshot":             {of("uid-1", 5), Own},
		"one with a name of no series": {oneShot, Own},
		"one from before the EtcdBackup was created again, or its Kubernetes restored": {of("uid-0", -5), Own},
		"one without an EtcdBackup": {change(of("uid-1", 5), func(m *Manifest) { m.Backup, m.Attempt = "", "" }), Own},
		"one of another EtcdBackup": {change(of("uid-2", 5), func(m *Manifest) { m.Backup, m.Cluster.UID = "c", "cluster-uid-1" }), Other},
		"one of another Kubernetes": {of("uid-2", 5), Twin},
		"one of another EtcdCluster with the same names, of which the EtcdBackup is not known": {change(of("uid-2", 5), func(m *Manifest) { m.Attempt = "" }), Twin},
		"one of another namespace":  {change(of("uid-1", 5), func(m *Manifest) { m.Cluster.Namespace = "tenant" }), Contradictory},
		"one of another cluster":    {change(of("uid-1", 5), func(m *Manifest) { m.Cluster.Name = "c" }), Contradictory},
		"one of another cluster ID": {change(of("uid-1", 5), func(m *Manifest) { m.Cluster.ID = "00000000000000ff" }), Contradictory},
		"one that names nothing":    {change(of("uid-1", 5), func(m *Manifest) { m.Cluster = Cluster{} }), Contradictory},
	} {
		if got := mine.Compare(test.entry.Key, test.entry.Manifest); got != test.want {
			t.Errorf("%s: claim %d, want %d", name, got, test.want)
		}
	}
}

// A tenant names the series of another namespace in the path of his one-shot. The retention of its owner deleted every real snapshot.
func TestForgedSnapshotsDoNotCountAndDeleteNothing(t *testing.T) {
	var l Listing
	for minute := range 3 {
		l.Snapshots = append(l.Snapshots, of("uid-1", minute))
	}
	for minute := range 5 {
		forged := of("uid-9", 100+minute)
		forged.Manifest.Cluster.Namespace = "tenant"
		l.Snapshots = append(l.Snapshots, forged)
	}
	p := Policy{MaxBackups: 3, Owner: backupOf("uid-1", noon.Add(-time.Hour)), Now: noon.Add(24 * time.Hour)}
	d, _ := decided(t, ours, l, p)
	if len(d.Delete) > 0 || !strings.Contains(strings.Join(d.Notices, " "), "5 snapshots in the folder by another Kubernetes or another namespace") {
		t.Errorf("deletes %q, notices %q", d.Delete, d.Notices)
	}
}

// Two Kubernetes have the same names and the same cluster ID. Each of them kept half of its snapshots.
func TestSnapshotsOfAnotherKubernetesDoNotCount(t *testing.T) {
	var l Listing
	for minute := range 6 {
		l.Snapshots = append(l.Snapshots, of(fmt.Sprint("uid-", minute%2), 10+minute))
	}
	p := Policy{MaxBackups: 2, Owner: backupOf("uid-1", noon), Now: noon.Add(24 * time.Hour)}
	d, _ := decided(t, ours, l, p)
	if want := []string{of("uid-1", 11).Key, ManifestKey(of("uid-1", 11).Key)}; !slices.Equal(d.Delete, want) {
		t.Errorf("deletes %q, want %q", d.Delete, want)
	}
}

// stored is a series in a store in the memory: a snapshot each hour.
func stored(t *testing.T, hours int) (*objstoretest.Memory, []string) {
	t.Helper()
	m := objstoretest.NewMemory()
	var keys []string
	for hour := range hours {
		m.Now = func() time.Time { return noon.Add(time.Duration(hour) * time.Hour) }
		e := of("uid-1", hour*60)
		e.Manifest.Size, e.Manifest.SHA256 = 1, sumOfX
		content, err := e.Manifest.Encode()
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range map[string]io.Reader{e.Key: strings.NewReader("x"), ManifestKey(e.Key): objstore.NewMetadata(content)} {
			if err := m.Put(t.Context(), name, body); err != nil {
				t.Fatal(err)
			}
		}
		keys = append(keys, e.Key)
	}
	return m, keys
}

func retain(t *testing.T, m *objstoretest.Memory, p Policy) Decision {
	t.Helper()
	index, err := Scan(t.Context(), m, ours.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Retain(t.Context(), m, ours, index, Known{}, p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// One listing omitted one object, for example between two pages. Its manifest was deleted, so that no restore found it any more.
func TestAnObjectThatOneListingOmitsKeepsItsManifest(t *testing.T) {
	for name, test := range map[string]struct {
		fault   objstoretest.Fault
		remove  bool
		deletes bool
	}{
		"the listing omits it":                           {fault: objstoretest.Omitted},
		"the listing omits it, and the store refuses it": {fault: objstoretest.Omitted | objstoretest.Cold},
		"the listing omits it, and the store fails":      {fault: objstoretest.Omitted | objstoretest.Lost},
		"it was deleted":                                 {remove: true, deletes: true},
	} {
		m, keys := stored(t, 3)
		m.Set(keys[2], test.fault)
		if test.remove {
			if err := m.Delete(t.Context(), keys[2]); err != nil {
				t.Fatal(err)
			}
		}
		d := retain(t, m, Policy{Owner: backupOf("uid-1", noon.Add(-time.Hour)), Now: noon.Add(9 * time.Hour)})
		if got := slices.Contains(d.Delete, ManifestKey(keys[2])); got != test.deletes || len(d.Delete) > 1 {
			t.Errorf("%s: deletes %q", name, d.Delete)
		}
	}
}

// A listing omitted the manifest of a snapshot whose draft could not be deleted. The snapshot was deleted as a leftover.
func TestASnapshotWhoseManifestOneListingOmitsIsNoLeftover(t *testing.T) {
	m, keys := stored(t, 1)
	content, err := of("uid-1", 0).Manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	draft, _ := draftKey(keys[0], strings.Repeat("ab", 32))
	if err := m.Put(t.Context(), draft, objstore.NewMetadata(content)); err != nil {
		t.Fatal(err)
	}
	m.Set(ManifestKey(keys[0]), objstoretest.Omitted)
	left, err := FindLeftovers(t.Context(), m, ours, "uid-1", noon.Add(time.Hour))
	if err != nil || len(left.Delete) > 0 {
		t.Errorf("deletes %q, error %v", left.Delete, err)
	}
}

// A lifecycle rule moves old snapshots to an archive. Those before them were never copied, and the second location was never pruned.
func TestAColdSnapshotStopsNoCopyOfAnotherOne(t *testing.T) {
	for position := range 4 {
		from, keys := stored(t, 4)
		to := objstoretest.NewMemory()
		from.Set(keys[position], objstoretest.Cold)
		r := CopyRequest{From: from, To: to, FromSeries: ours, ToSeries: theirs, Policy: Policy{Now: noon.Add(9 * time.Hour)}}
		done, err := Copy(t.Context(), r)
		if err == nil || !done.Tried {
			t.Fatalf("position %d: error %v, tried all: %v", position, err, done.Tried)
		}
		for i, key := range keys {
			if there := to.Has(ManifestKey(r.keyOf(key))); there != (i != position) {
				t.Errorf("snapshot %d is cold: number %d was copied: %v", position, i, there)
			}
		}
	}
}

// sumOfX is the SHA-256 of "x".
const sumOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

// The snapshot of a point in time lists members that do not exist any more. If the write of its manifest failed, the operator called its own
// object that of another cluster, and replayed the archive again every 5 minutes.
func TestASaveWithoutMembersThatWasKilledIsCompletedByTheNextTry(t *testing.T) {
	content := database(t, member, 20)
	for at := 1; at <= 8; at++ {
		store := newBucket(t)
		try := func(s objstore.Store) error {
			_, err := Save(t.Context(), request(t, s, content, func(r *Request) { r.MemberIDs, r.Again = nil, true }))
			return err
		}
		_ = try(&mortal{Store: store, at: at, when: after})
		if err := try(store); err != nil {
			t.Errorf("killed after call %d: %v", at, err)
		}
	}
}
