package backup

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// take asks the members first, because their cluster ID decides which objects of the store are relevant.
func (t *taker) take(ctx context.Context, o order, progress *tracker) (Result, error) {
	progress.stage("reading the status of the members")
	tlsConfig, err := t.tls(ctx, o)
	if err != nil {
		return Result{}, err
	}
	answers := t.survey(ctx, o.URLs, tlsConfig)
	member, err := choose(answers, o.ClusterID, o.Mark)
	if err != nil {
		return Result{}, err
	}
	progress.stage("connecting to the store")
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	request := snapshot.Request{
		Source: t.source(member.URL, tlsConfig), Store: store, SpoolDir: t.spoolDir,
		Progress: progress.passing("streaming from "+member.URL, member.Status.DBSize),
	}
	o.fill(&request, member, answers, t.now())
	var result Result
	if o.Series {
		result, err = t.takeNext(ctx, o, o.seriesOf(member.Status.ClusterID), request)
	} else {
		result, err = t.takeOne(ctx, o, request)
	}
	if err != nil {
		return Result{}, err
	}
	return t.verify(ctx, o, store, result, progress)
}

// takeOne takes the snapshot of a one-shot.
func (t *taker) takeOne(ctx context.Context, o order, request snapshot.Request) (Result, error) {
	saved, err := t.save(ctx, request)
	if err != nil {
		return Result{}, err
	}
	result := o.result(request.Key, saved)
	result.Kept = append(result.Kept, *result.Snapshot)
	result.blame(o, sweepUploads(ctx, request.Store, request.Key, func(key string, _ time.Time) bool {
		return key == request.Key // the object exists, so no upload of it is still needed
	}))
	return result, nil
}

// takeNext takes the next snapshot of a series, unless the store has one that is new enough. That happens if the operator
// was stopped before it could report a snapshot, or if the status was lost.
func (t *taker) takeNext(ctx context.Context, o order, series snapshot.Series, request snapshot.Request) (Result, error) {
	listing, err := snapshot.List(ctx, request.Store, series.Prefix())
	if err != nil {
		return Result{}, err
	}
	var result Result
	found, previous := o.satisfied(o.Keep.Candidates(series, listing), request.Attempt, t.now())
	if found != nil {
		result = o.result(found.Key, snapshot.Saved{Manifest: found.Manifest, Found: true})
	} else {
		saved, err := t.saveNext(ctx, &request, series)
		if err != nil {
			return Result{}, err
		}
		result = o.result(request.Key, saved)
		listing.Snapshots = append(listing.Snapshots, snapshot.Entry{Key: request.Key, Manifest: saved.Manifest})
	}
	t.tidy(ctx, o, request.Store, series, listing, previous, &result)
	return result, nil
}

// satisfied returns the snapshot that makes another one unnecessary, or nil. For a request it is the snapshot that was
// taken for it, otherwise the newest one if the next is not due yet. previous is when the newest was taken.
func (o order) satisfied(ours []snapshot.Entry, attempt string, now time.Time) (found *snapshot.Entry, previous time.Time) {
	for i, entry := range ours {
		at := entry.Manifest.CreatedAt
		if at.After(now.Add(skew)) {
			continue // a clock was wrong
		}
		if previous.IsZero() {
			previous = at
			if o.Request == "" && entry.Key != o.Keep.Suspect && o.Rhythm.Next(at).After(now) {
				return &ours[i], previous
			}
		}
		if o.Request != "" && entry.Manifest.Attempt == attempt {
			return &ours[i], previous
		}
	}
	return nil, previous
}

// saveNext uses another name if another EtcdBackup with the same folder has used this one in the same second.
func (t *taker) saveNext(ctx context.Context, request *snapshot.Request, series snapshot.Series) (snapshot.Saved, error) {
	const tries = 3
	for try := 1; ; try++ {
		saved, err := t.save(ctx, *request)
		if !errors.Is(err, fs.ErrExist) || try == tries {
			return saved, err
		}
		named, _ := snapshot.ParseKey(request.Key)
		request.Time = request.Time.Add(time.Second)
		request.Key = series.EncodedKey(request.Time, named.Revision, named.Encoding)
	}
}
