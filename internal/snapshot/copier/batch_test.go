package copier

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// A series is older than its copyTo and has more snapshots than one run copies.
func TestALongSeriesIsCopiedInSeveralRuns(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	for minute := range copyBatch + 20 {
		from.Place(minute, "")
	}
	r := second(from, to)
	if done := mustCopy(t, r); done.Missing != 20 {
		t.Errorf("after the first copy %d snapshots are said to be missing, want 20: the rest is never copied", done.Missing)
	}
	if done := mustCopy(t, r); done.Missing != 0 || len(whole(t, r, from, to)) != copyBatch+20 {
		t.Errorf("after the second copy %d snapshots are missing", done.Missing)
	}
}

// The first location cannot delete (a lock, or no permission), so it holds more than the retention of the second one keeps.
func TestACopyEndsIfTheFirstLocationHoldsMoreThanTheSecondKeeps(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	for minute := range copyBatch + 20 {
		from.Place(minute, "")
	}
	r := second(from, to)
	r.Policy.MaxBackups = 5
	for range 3 {
		mustCopy(t, r)
	}
	if done := mustCopy(t, r); done.Missing != 0 {
		t.Errorf("the second location has the 5 snapshots that it keeps, and %d are said to be missing: the next copy starts at once, forever", done.Missing)
	}
}

// Two EtcdBackups of one cluster share a folder, and only one has copyTo.
func TestSnapshotsOfAnotherEtcdBackupDoNotHideThoseToCopy(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	mine := from.Place(0, "")
	from.Own(t, mine, "mine")
	for minute := 1; minute <= copyBatch+5; minute++ {
		from.Own(t, from.Place(minute, ""), "other")
	}
	r := second(from, to)
	r.Policy.Owner.Backup = "mine"
	var done Copied
	for range 3 {
		done = mustCopy(t, r)
	}
	if _, there := done.Index.Find(r.keyOf(mine)); !there || done.Missing != 0 {
		t.Errorf("after 3 copies: copied %t, missing %d", there, done.Missing)
	}
}

// The first location has one damaged object.
func TestADamagedSnapshotDoesNotStopTheCopiesOfOlderOnes(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	old, damaged := from.Place(1, ""), from.Place(2, "")
	content := bytes.Clone(from.Content(damaged))
	content[7] ^= 1
	from.Remove(damaged)
	from.Write(damaged, content)
	r := second(from, to)
	var err error
	for range 3 {
		_, err = Copy(t.Context(), r)
	}
	index, scanErr := catalog.Scan(t.Context(), to, snapshottest.Theirs.Prefix())
	if scanErr != nil {
		t.Fatal(scanErr)
	}
	if _, there := index.Find(r.keyOf(old)); !there {
		t.Errorf("the older, good snapshot is never copied: %v", err)
	}
}

// A folder with more foreign snapshots than one run reads is reported. Otherwise the operator would repeat the copy at once,
// without end.
func TestAFolderFullOfSnapshotsOfOthersIsReported(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	mine := from.Place(0, "")
	from.Own(t, mine, "mine")
	for minute := 1; minute <= retention.ForeignBatch; minute++ {
		from.Own(t, from.Place(minute, ""), "other")
	}
	r := second(from, to)
	r.Policy.Owner.Backup = "mine"
	if _, err := Copy(t.Context(), r); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), "a folder of its own") {
		t.Errorf("the error is %v", err)
	}
}

// The clock of an operator was ahead. A snapshot from the future would count as the newest copy until that time.
func TestASnapshotFromTheFutureIsNotCopied(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	from.Place(3*24*60, "")
	r := second(from, to)
	r.Policy.Now = snapshottest.Noon
	if done := mustCopy(t, r); len(done.Index.Items) > 0 {
		t.Errorf("copied %q", to.Keys())
	}
}

// A cluster was deleted and created again under its name, so the folder holds two series.
func TestSnapshotsOfAnEarlierClusterAreNotMixedIntoTheCopy(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	mine := from.Place(1, "")
	earlier := snapshottest.Ours
	earlier.ClusterID = 2
	e := snapshottest.Entry(earlier, 2, 7)
	content, err := e.Manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	from.Write(e.Key, []byte("x"))
	from.Write(snapshot.ManifestKey(e.Key), content)
	r := second(from, to)
	mustCopy(t, r)
	if got := whole(t, r, from, to); len(got) != 1 || got[0] != r.keyOf(mine) {
		t.Errorf("copied %q", got)
	}
}

// lossy stores all bytes but the last, and reports no error.
type lossy struct{ snapshottest.Bucket }

func (l lossy) Put(ctx context.Context, key string, body io.Reader) error {
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return l.Bucket.Put(ctx, key, bytes.NewReader(content[:len(content)-1]))
}

// A store, or a proxy before it, loses bytes. Without this check, only a restore would detect the loss.
func TestACopyThatLostBytesIsNotCommitted(t *testing.T) {
	from, to := snapshottest.NewBucket(t), snapshottest.NewBucket(t)
	from.Place(1, "")
	r := second(from, to)
	r.To = lossy{to}
	if _, err := Copy(t.Context(), r); err == nil {
		t.Error("no error")
	}
	if got := whole(t, r, from, to); len(got) > 0 {
		t.Errorf("committed %q", got)
	}
}
