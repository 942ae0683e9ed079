package attempt_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// An EtcdRestore waits for its Secret and asks for the newest snapshot before a time. Before that time are four snapshots that it would not take, and then one that
// it would. Retention kept three of the former for it, and deleted the latter.
func TestTheSnapshotThatAWaitingRestoreTakesIsKeptBehindOthers(t *testing.T) {
	for name, spoil := range map[string]func(w *attempttest.World, key string){
		"they failed their restore tests": func(w *attempttest.World, key string) {
			if err := w.Store.Put(t.Context(), snapshot.VerdictKey(key, snapshot.Failed), strings.NewReader("{}")); err != nil {
				t.Fatal(err)
			}
		},
		"others wrote them": func(w *attempttest.World, key string) {
			m, err := snapshot.ManifestOf(t.Context(), w.Store, key, snapshot.Anyone)
			if err != nil {
				t.Fatal(err)
			}
			m.Signature = snapshot.Signature{}
			content, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			w.Store.(*objstoretest.Memory).Place(snapshot.ManifestKey(key), content)
		},
	} {
		secret := signingSecret(t)
		w := newSigningWorld(t, secret)
		w.Store = objstoretest.NewMemory()
		keep := func(n int) state.State { return statetest.Series(statetest.Keep(n), signs) }
		var keys []string
		take := func(s state.State) {
			w.Now = statetest.At(statetest.T0.Add(time.Duration(len(keys)) * time.Hour))
			r := w.Attempt(s)
			if r.Failure != nil {
				t.Fatal(r.Failure)
			}
			keys = append(keys, strings.TrimPrefix(r.Snapshot.Path, "bucket/"))
		}
		for hour := range 8 {
			take(keep(20))
			if hour > 0 && hour < 5 {
				spoil(w, keys[hour])
			}
		}
		s := keep(1)
		owner := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID}, Spec: *s.Spec.DeepCopy()}
		by := &v1beta2.SnapshotSelector{Before: &metav1.Time{Time: statetest.T0.Add(4*time.Hour + time.Minute)}}
		rescue := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rescue"}, Spec: v1beta2.EtcdRestoreSpec{EtcdBackup: &v1beta2.BackupReference{Name: "b"}, Select: by}}
		w.Secrets = apiWith(t, owner, rescue, secret.DeepCopy())
		take(s)
		if !slices.Contains(w.Keys(), keys[0]) {
			t.Errorf("%s: the snapshot that the EtcdRestore would take is deleted", name)
		}
		if slices.Contains(w.Keys(), keys[1]) {
			t.Errorf("%s: nothing is deleted", name)
		}
	}
}
