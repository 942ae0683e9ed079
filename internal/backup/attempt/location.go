package attempt

import (
	"context"
	"errors"

	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/copier"
)

// uncopied adds to the result why some snapshots could not be copied. It is an error if the newest is one of them, or if an object is damaged.
func uncopied(ctx context.Context, r state.Result, o state.JobSpec, err error) (state.Result, error) {
	if err == nil {
		return r, nil
	}
	err = ofLocation(ctx, err, o.Second())
	newest := len(r.Kept) > 0 && r.Kept[0].SHA256 == o.Newest.SHA256
	if !newest || errors.Is(err, dbfile.ErrCorrupt) {
		return r, err
	}
	r.CopyProblem = failure.Classify(err, o, false).Message
	return r, nil
}

// ofLocation classifies an error of the second location, so that its advice names the right bucket.
func ofLocation(ctx context.Context, err error, second state.JobSpec) error {
	if errors.Is(err, copier.ErrSource) {
		return err
	}
	return &failure.Error{Failure: *failure.Classify(err, second, errors.Is(context.Cause(ctx), context.DeadlineExceeded))}
}
