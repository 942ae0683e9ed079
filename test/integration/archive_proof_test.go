package integration

import (
	"bytes"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// snapshotNow asks for a snapshot, and waits until the archive is proven up to it.
func (b *backupBench) snapshotNow(series *v1beta2.EtcdBackup, request string) v1beta2.ArchiveProof {
	b.Helper()
	b.edit(series, func() { metav1.SetMetaDataAnnotation(&series.ObjectMeta, v1beta2.AnnotationBackupNow, request) })
	kubetest.Await(b, series, "prove the archive up to snapshot "+request, func(backup *v1beta2.EtcdBackup) bool {
		p, s := backup.Status.LastArchiveProof, backup.Status.Snapshot
		return backup.Status.HandledRequest == request && p != nil && s != nil && p.To == s.Path
	})
	return *series.Status.LastArchiveProof
}

// lastSegment returns the newest segment that is not empty, and its bytes.
func (b *backupBench) lastSegment(folder string) (key string, content []byte) {
	b.Helper()
	store := open(b.T, b.bucket)
	histories, err := archive.Read(b.Context(), store, b.archiveRoot(folder))
	if err != nil {
		b.Fatal(err)
	}
	for _, h := range histories {
		for _, l := range h.Links {
			if !l.Header.Gap() {
				key = l.Key
			}
		}
	}
	object, err := store.Get(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	defer object.Close()
	if content, err = io.ReadAll(object); err != nil {
		b.Fatal(err)
	}
	return key, content
}

// proveArchive damages a segment. Without the proof, a user would detect the damage only during a restore.
func proveArchive(b *backupBench, series *v1beta2.EtcdBackup, put func(int) int64) {
	store := open(b.T, b.bucket)
	before := series.Status.Snapshot.Path
	revision := put(7)
	b.storedTo("pit", revision)
	proof := b.snapshotNow(series, "proof")
	if proof.Result != v1beta2.ProofPassed || proof.From != before || proof.Revision != revision || proof.Segments == 0 {
		b.Fatalf("the proof is %+v, want one that passed from %s to revision %d", proof, before, revision)
	}
	b.storedTo("pit", put(7))
	key, content := b.lastSegment("pit")
	damaged := bytes.Clone(content)
	damaged[len(damaged)-40] ^= 1
	replace := func(content []byte) {
		if err := store.Delete(b.Context(), key); err != nil {
			b.Fatal(err)
		}
		if content == nil {
			return
		}
		if err := store.Put(b.Context(), key, bytes.NewReader(content)); err != nil {
			b.Fatal(err)
		}
	}
	replace(damaged)
	proof = b.snapshotNow(series, "damage")
	if proof.Result != v1beta2.ProofFailed || !strings.Contains(proof.Message, key) {
		b.Fatalf("the proof is %+v, want one that failed and names %s", proof, key)
	}
	kubetest.AwaitCondition(b, series, backupConditions, v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonArchiveCorrupt)
	b.storedTo("pit", put(1))
	if proof = b.snapshotNow(series, "still"); proof.Result != v1beta2.ProofFailed {
		b.Errorf("the proof after the next snapshot is %+v: it passed beside the damage", proof)
	}
	replace(content)
	b.storedTo("pit", put(1))
	if proof = b.snapshotNow(series, "healed"); proof.Result != v1beta2.ProofPassed {
		b.Errorf("the proof after the segment was brought back is %+v", proof)
	}
	kubetest.AwaitCondition(b, series, backupConditions, v1beta2.ConditionReady, metav1.ConditionTrue, v1beta2.ReasonScheduled)
}
