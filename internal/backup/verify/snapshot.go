package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// prove runs the restore test of one snapshot, and returns the hash of what it restored. An error means that the test could not run, not that the snapshot failed.
func (t *Tester) prove(ctx context.Context, o state.JobSpec, store objstore.Store, newest v1beta2.Snapshot, progress *queue.Progress) (*v1beta2.BackupDrill, dbfile.KVHash, error) {
	none := dbfile.KVHash{}
	by, err := t.Access(ctx, o)
	if err != nil {
		return nil, none, err
	}
	secret, err := t.Secret(ctx, o.Namespace, o.Target.Secret, v1beta2.AgeIdentityKey)
	if err != nil {
		return nil, none, err
	}
	done, err := t.Tests.Enter(ctx, o.Namespace, progress)
	if err != nil {
		return nil, none, err
	}
	defer done()
	signers, err := t.SignersOf(ctx, o, newest)
	if err != nil {
		return nil, none, err
	}
	request := t.restoreTest(o, store, newest, signers, progress)
	request.Identities = connect.Identity(secret)
	history, err := historyOf(ctx, store, request.Key)
	if err != nil {
		return nil, none, err
	}
	request.Live = &live{Tester: t, spec: o, by: by, clusterID: newest.ClusterID, history: history}
	found, failed := t.Drill(ctx, request)
	if failed == nil && snapshot.Replaced(newest.SHA256, found.SHA256) {
		failed = fmt.Errorf("%w: its SHA-256 is %s, and the status recorded %s when it was saved", errReplaced, found.SHA256, newest.SHA256)
	}
	drill, err := t.judge(o, newest, found, failed)
	if err != nil {
		return nil, none, err
	}
	if errors.Is(failed, fs.ErrNotExist) {
		return drill, found.Restored, nil // a missing snapshot has no place for a verdict
	}
	return drill, found.Restored, recordVerdict(ctx, o, store, *drill, found.SHA256)
}

// restoreTest returns the restore test of a snapshot, without what is read for it.
func (t *Tester) restoreTest(o state.JobSpec, store objstore.Store, newest v1beta2.Snapshot, signers snapshot.Signers, progress *queue.Progress) proof.RestoreTestRequest {
	stage := "reading back " + newest.Path
	return proof.RestoreTestRequest{
		Namespace: o.Namespace, Store: store, Key: strings.TrimPrefix(newest.Path, o.Target.Bucket+"/"), Signers: signers, ScratchDir: t.Spool.Dir(),
		Spool: queue.PatientSpool{Namespace: t.Spool.Of(o.Namespace), Progress: progress, Then: stage}, Expected: max(newest.Size, newest.PlainSize),
		Progress: progress.Passing(stage, newest.Size), Try: t.Tests.Trial(o.Namespace, progress), MemoryLimit: t.Tests.Memory,
	}
}

// historyOf returns the last recovery from a lost quorum before a snapshot. The restore test checks the signature of the manifest.
func historyOf(ctx context.Context, store objstore.Store, key string) (string, error) {
	manifest, err := snapshot.ManifestOf(ctx, store, key, snapshot.Anyone)
	if err != nil || manifest == nil {
		return "", err
	}
	return manifest.Recovery, nil
}

// judge returns the result of a restore test that has ended so. An error means that it has none.
func (t *Tester) judge(o state.JobSpec, newest v1beta2.Snapshot, found proof.RestoreTestResult, failed error) (*v1beta2.BackupDrill, error) {
	drill := &v1beta2.BackupDrill{
		Path: newest.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: t.Now()},
		Revision: found.Info.Revision, Compared: found.Compared, Message: "It can be restored, and its contents match the cluster at that revision.",
	}
	switch {
	case failed != nil && condemns(failed):
		drill.Result, drill.Message = v1beta2.DrillFailed, state.Clip(failed.Error())
	case errors.Is(failed, snapshot.ErrUnknownSigner):
		return nil, failure.New(v1beta2.ReasonSignatureInvalid, planning.Sentence("The operator cannot check the signature of the snapshot for the restore test: ", failed.Error())+
			fmt.Sprintf(" If you have replaced the signing key, write the earlier public key into the key %s of the Secret %s. Otherwise find out who can write to the bucket.", v1beta2.EarlierPublicKeysKey, o.Signing))
	case errors.Is(failed, codec.ErrIdentity):
		return nil, failure.New(v1beta2.ReasonSecretMissing, fmt.Sprintf(
			"The operator cannot decrypt the snapshot for the restore test: %v. Put the identity into the key %s of the Secret with the store's credentials. Or set verify to Checksum and remove the restore tests from the spec.", failed, v1beta2.AgeIdentityKey))
	case failed != nil:
		return nil, failed
	case !found.Compared:
		drill.Message = state.Clip(planning.Sentence("It can be restored. It was not compared with the cluster: ", found.Why))
	}
	return drill, nil
}
