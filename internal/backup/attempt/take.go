package attempt

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// take asks the members first, because their cluster ID decides which objects of the store are relevant.
func (t *Job) take(ctx context.Context, o state.JobSpec, progress *queue.Progress) (state.Result, error) {
	progress.Stage("reading the status of the members")
	by, err := t.Access(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	answers := t.Probe(ctx, o.URLs, by)
	member, err := clients.Choose(answers, o.ClusterID, o.Mark)
	if err != nil {
		return state.Result{}, clients.ExplainAccess(by, err)
	}
	progress.Stage("connecting to the store")
	store, err := t.Store(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	stage, size := "streaming from "+member.URL, member.Status.DBSize
	request := save.Request{
		Namespace: o.Namespace,
		Source:    t.ofHistory(o, member, clients.Throttled(save.Measured{Source: t.Source(member.URL, by)}, o.BytesPerSecond)), Store: store, SpoolDir: t.Spool.Dir(),
		Spool: queue.PatientSpool{Namespace: t.Spool.Of(o.Namespace), Progress: progress, Then: stage}, Expected: size, Progress: progress.Passing(stage, size), Clock: t.Now,
	}
	fillRequest(o, &request, member, answers, t.Now())
	if request.Signer, request.Signers, err = t.Signing(ctx, o); err != nil {
		return state.Result{}, err
	}
	if o.Series {
		return t.takeNext(ctx, o, o.SeriesOf(member.Status.ClusterID), request, progress)
	}
	result, err := t.takeOne(ctx, o, request)
	if err != nil || result.Found && result.Snapshot.Path == o.Proven && passed(ctx, store, request.Key, *result.Snapshot) {
		return result, err
	}
	return t.Verify(ctx, o, store, result, progress)
}

// passed returns whether the store has the verdict that exactly this object has passed its restore test. The same path may be in
// another store than the one that was tested.
func passed(ctx context.Context, store objstore.Store, key string, s v1beta2.Snapshot) bool {
	v, err := snapshot.ReadVerdict(ctx, store, key, snapshot.Passed)
	return err == nil && v.SHA256 == s.SHA256
}

// takeOne takes the snapshot of a one-shot.
func (t *Job) takeOne(ctx context.Context, o state.JobSpec, request save.Request) (state.Result, error) {
	saved, err := t.Save(ctx, request)
	if err != nil {
		return state.Result{}, err
	}
	result := resultOf(o, request.Key, saved, request.Signers)
	result.Kept = append(result.Kept, *result.Snapshot)
	blame(&result, o, sweepUploads(ctx, request.Store, request.Key, func(key string, _ time.Time) bool {
		return key == request.Key // the object exists, so no upload of it is still needed
	}))
	return result, nil
}

// takeNext takes the next snapshot of a series, unless the store has one that is new enough. That happens if the operator
// was stopped before it could report a snapshot, or if the status was lost. It deletes old snapshots only after the new
// one is verified.
//
// If the series has more names than the operator holds in memory, it still takes the snapshot, and only deletes nothing.
func (t *Job) takeNext(ctx context.Context, o state.JobSpec, series snapshot.Series, request save.Request, progress *queue.Progress) (state.Result, error) {
	index, err := catalog.ScanNewest(ctx, request.Store, series.Prefix())
	if err != nil {
		return state.Result{}, err
	}
	s := stored{store: request.Store, series: series, index: index, known: catalog.Known{}, signers: request.Signers}
	young, incomplete := s.complete(ctx, o, request.Attempt, t.Now())
	item, err := s.satisfied(ctx, o, request.Attempt, t.Now())
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return state.Result{}, err
	}
	if item == nil && young {
		return state.Result{}, incomplete
	}
	var result state.Result
	if item != nil {
		result = resultOf(o, item.Key, save.Saved{Manifest: s.known[item.Key].Manifest, Found: true}, s.signers)
	} else {
		saved, err := t.saveNext(ctx, &request, series)
		if err != nil {
			return state.Result{}, err
		}
		result = resultOf(o, request.Key, saved, s.signers)
		item = s.add(request.Key, saved.Manifest)
		s.ahead = aheadOf(ctx, s.store, snapshot.ManifestKey(item.Key), t.Now())
	}
	blame(&result, o, incomplete)
	if o.Base != "" {
		progress.Give(source.BaseOf(item.Key, s.known[item.Key].Manifest, t.Now()))
	}
	switch {
	case o.Verify && item.Verdict == snapshot.Failed:
		return verify.FailedBefore(ctx, s.store, *item, result, t.Now())
	case o.Verify && item.Verdict == "":
		if result, err = t.Verify(ctx, o, s.store, result, progress); err != nil {
			return result, err
		}
		item.Verdict = snapshot.Passed
		s.index.Judge(item.Key, item.Verdict)
	case o.Verify && o.Doubted:
		result.Drill = verify.PassedBefore(ctx, s.store, *item, *result.Snapshot, t.Now())
	}
	result.Snapshot.RestoreTest = testResults[item.Verdict]
	if err := s.compareClocks(ctx, o, t.Now); err != nil {
		result.Kept = t.kept(ctx, o, s, nil)
		blame(&result, o, err)
		return result, nil
	}
	t.tidy(ctx, o, s, item.Key, &result)
	return result, nil
}

// saveNext uses another name if another EtcdBackup with the same folder has used this one in the same second.
func (t *Job) saveNext(ctx context.Context, request *save.Request, series snapshot.Series) (save.Saved, error) {
	const tries = 3
	for try := 1; ; try++ {
		saved, err := t.Save(ctx, *request)
		if !errors.Is(err, fs.ErrExist) || try == tries {
			return saved, err
		}
		named, _ := snapshot.ParseKey(request.Key)
		request.Time = request.Time.Add(time.Second)
		request.Key = series.EncodedKey(request.Time, named.Revision, named.Encoding)
	}
}
