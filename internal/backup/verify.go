package backup

import (
	"context"
	"crypto/tls"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// proofRequest says which snapshot to read back, restore into scratch space and compare.
type proofRequest struct {
	Store      objstore.Store
	Key        string
	ScratchDir string
	// URLs of the cluster's members and how to talk to them.
	URLs     []string
	TLS      *tls.Config
	Progress func(int64)
}

// proof is what was found. Broken says what is wrong with the snapshot, and is empty where it can be restored.
type proof struct {
	Revision int64
	Compared bool
	Message  string
	Broken   string
}

func unproven(context.Context, proofRequest) (proof, error) {
	return proof{Message: "not there yet"}, nil
}

// verify reads a snapshot back that was just taken, where the order says so.
func (t *taker) verify(ctx context.Context, o order, store objstore.Store, result Result, progress *tracker) (Result, error) {
	if !o.Verify || result.Snapshot.Path == o.Proven {
		return result, nil
	}
	var err error
	if result.Drill, err = t.prove(ctx, o, store, result.Snapshot.Path, result.Snapshot.Size, progress); err != nil {
		return Result{}, err
	}
	if result.Drill.Result == v1beta2.DrillFailed {
		return result, fail(v1beta2.ReasonSnapshotCorrupt, broken(*result.Drill))
	}
	return result, nil
}

// broken is what to do about a snapshot that cannot be restored.
func broken(d v1beta2.BackupDrill) string {
	return "snapshot " + d.Path + " was read back and cannot be relied on: " + d.Message +
		"; do not restore from it: take another snapshot, and look at the store and at the members' disks"
}

// drillNewest tries out the newest snapshot that is known.
func (t *taker) drillNewest(ctx context.Context, o order, progress *tracker) (Result, error) {
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	drill, err := t.prove(ctx, o, store, o.Newest, 0, progress)
	return Result{Drill: drill}, err
}

func (t *taker) prove(ctx context.Context, o order, store objstore.Store, path string, size int64, progress *tracker) (*v1beta2.BackupDrill, error) {
	tlsConfig, err := t.tls(ctx, o)
	if err != nil {
		return nil, err
	}
	found, err := t.drill(ctx, proofRequest{
		Store: store, Key: strings.TrimPrefix(path, o.Target.Bucket+"/"), ScratchDir: t.spoolDir,
		URLs: o.URLs, TLS: tlsConfig, Progress: progress.passing("reading "+path+" back", size),
	})
	if err != nil {
		return nil, err
	}
	drill := &v1beta2.BackupDrill{
		Path: path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: t.now()},
		Revision: found.Revision, Compared: found.Compared, Message: clip(found.Message),
	}
	if found.Broken != "" {
		drill.Result, drill.Message = v1beta2.DrillFailed, clip(found.Broken)
	}
	return drill, nil
}
