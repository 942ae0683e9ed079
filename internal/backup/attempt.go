package backup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// attemptFunc runs one attempt. It runs in a worker, until it is done or its context ends.
type attemptFunc func(context.Context, jobSpec, *jobProgress) Result

// job runs attempts. Tests replace its functions.
type job struct {
	secrets client.Reader
	spool   *spool.Spool
	tests   tests
	// identity says which namespaces may use the operator's own identity, and below which paths.
	identity grant.List
	probe    func(context.Context, []string, ask.Access) []ask.Answer
	source   func(url string, by ask.Access) snapshot.Source
	open     func(context.Context, connect.Access) (objstore.Store, error)
	save     func(context.Context, snapshot.Request) (snapshot.Saved, error)
	drill    func(context.Context, snapshot.RestoreTestRequest) (snapshot.RestoreTestResult, error)
	replay   func(context.Context, replay.Order) (replay.Result, error)
	hash     func(ctx context.Context, url string, by ask.Access, revision int64) (hash uint32, compactRevision int64, err error)
	now      func() time.Time
}

// newJob deletes the files that an earlier process has left in the spool.
func newJob(secrets client.Reader, s *spool.Spool, limits tests) (*job, error) {
	if err := snapshot.CleanSpool(s.Dir()); err != nil {
		return nil, fmt.Errorf("clean spool directory %s: %w", s.Dir(), err)
	}
	return &job{
		secrets: secrets, spool: s, tests: limits,
		probe: ask.Members, source: func(url string, by ask.Access) snapshot.Source { return ask.Snapshot{URL: url, By: by} }, open: connect.Open, save: snapshot.Save, drill: snapshot.RunRestoreTest,
		replay: replay.Process{Memory: limits.memory}.Replay, hash: hashOf, now: time.Now,
	}, nil
}

// attempt runs one attempt within its time limit. Its errors and panics affect no other EtcdBackup.
func (t *job) attempt(ctx context.Context, o jobSpec, progress *jobProgress) Result {
	ctx, limit, cancel := withTimeLimit(ctx, o.Timeout, t.spool.Of(o.Namespace).Crowds)
	defer cancel()
	progress.limit = limit
	ctx, held := objstore.Hold(ctx, o.Namespace)
	defer held.Release()
	result, err := panics.Try(func() (Result, error) { return t.work(ctx, o, progress) })
	if caught := (*panics.Error)(nil); errors.As(err, &caught) {
		ctrl.LoggerFrom(ctx).Error(err, "An attempt panicked", "stack", string(caught.Stack))
	}
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, pace.ErrTooSlow) && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err) // the library that was reading reports a context that was cancelled
	}
	if err != nil {
		expired := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
		result.Failure = classify(err, o, expired)
	}
	result.EndedAt = t.now()
	return result
}

// work does what the job spec asks for.
func (t *job) work(ctx context.Context, o jobSpec, progress *jobProgress) (Result, error) {
	switch o.Kind {
	case KindDrill:
		return t.drillNewest(ctx, o, progress)
	case KindPurge:
		return t.purge(ctx, o, progress)
	case KindCopy:
		return t.copyTo(ctx, o, progress)
	case KindPrune:
		return t.pruneSuspended(ctx, o, progress)
	}
	return t.take(ctx, o, progress)
}

func (t *job) store(ctx context.Context, o jobSpec) (objstore.Store, error) {
	secret, err := t.secret(ctx, o.Namespace, o.Target.Secret)
	if err != nil {
		return nil, err
	}
	at := site{Location: o.Target, namespace: o.Namespace, cluster: o.Cluster, series: o.Series}
	store, err := t.open(ctx, at.access(secret, t.identity))
	if refusedBy(err, "") != nil {
		return nil, err // classify explains it
	}
	if err != nil {
		return nil, fail(v1beta2.ReasonAccessDenied, err.Error())
	}
	return measure(store), nil
}

// tls returns the TLS configuration for the members, and nil if the spec names no Secret.
func (t *job) tls(ctx context.Context, o jobSpec) (*tls.Config, error) {
	data, err := t.secret(ctx, o.Namespace, o.TLSSecret)
	if err != nil || o.TLSSecret == "" {
		return nil, err
	}
	config, err := etcd.TLSConfig(data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[v1beta2.ClientCAKey])
	if err != nil {
		return nil, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("Secret %s has no usable %s, %s and %s: %v. Correct the Secret.",
			o.TLSSecret, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, err))
	}
	return config, nil
}

func (t *job) secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	data, err := kube.SecretData(ctx, t.secrets, namespace, name)
	if err != nil && !errors.Is(err, kube.ErrSecretMissing) {
		return nil, fail(v1beta2.ReasonRetrying, err.Error())
	}
	if data == nil && name != "" {
		// The API gives an empty Secret as nil, which stands for the operator's own identity.
		data = map[string][]byte{}
	}
	return data, err
}

// tool names the writer of a snapshot in its manifest.
func tool() string { return Name + " " + operator.Version }
