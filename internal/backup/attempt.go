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
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/connect"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// attemptFunc makes one attempt. It runs in a worker, until it is done or its context ends.
type attemptFunc func(context.Context, order, *tracker) Result

// taker makes attempts. Its functions are the world at its edges.
type taker struct {
	secrets  client.Reader
	spoolDir string
	survey   func(context.Context, []string, *tls.Config) []answer
	source   func(url string, tlsConfig *tls.Config) snapshot.Source
	open     func(context.Context, connect.Location) (objstore.Store, error)
	save     func(context.Context, snapshot.Request) (snapshot.Saved, error)
	now      func() time.Time
}

// newTaker cleans up what a killed operator left in spoolDir.
func newTaker(secrets client.Reader, spoolDir string) (*taker, error) {
	if err := snapshot.CleanSpool(spoolDir); err != nil {
		return nil, fmt.Errorf("clean spool directory %s: %w", spoolDir, err)
	}
	return &taker{
		secrets: secrets, spoolDir: spoolDir,
		survey: survey, source: newSource, open: connect.Open, save: snapshot.Save, now: time.Now,
	}, nil
}

// attempt tries once, within the order's time. Nothing that goes wrong in it concerns any other EtcdBackup.
func (t *taker) attempt(ctx context.Context, o order, progress *tracker) Result {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	result, err := worker.Try(func() (Result, error) { return t.take(ctx, o, progress) })
	if caught := (*worker.PanicError)(nil); errors.As(err, &caught) {
		ctrl.LoggerFrom(ctx).Error(err, "taking a snapshot panicked", "stack", string(caught.Stack))
	}
	if err != nil {
		expired := errors.Is(ctx.Err(), context.DeadlineExceeded)
		result = Result{Failure: classify(err, o, expired)}
	}
	result.EndedAt = t.now()
	return result
}

// take asks the members first: what is in the store means something only for the cluster that they are of.
func (t *taker) take(ctx context.Context, o order, progress *tracker) (Result, error) {
	progress.stage("asking the members")
	tlsConfig, err := t.tls(ctx, o)
	if err != nil {
		return Result{}, err
	}
	answers := t.survey(ctx, o.URLs, tlsConfig)
	member, err := choose(answers, o.ClusterID)
	if err != nil {
		return Result{}, err
	}
	progress.stage("looking into the store")
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	request := snapshot.Request{
		Source: t.source(member.URL, tlsConfig), Store: store, SpoolDir: t.spoolDir,
		SizeHint: member.Status.DBSize, Progress: progress.streaming(member),
	}
	o.describe(&request, member, answers, t.now())
	if o.series() {
		return t.takeNext(ctx, o, o.seriesOf(member.Status.ClusterID), request)
	}
	saved, err := t.save(ctx, request)
	if err != nil {
		return Result{}, err
	}
	return o.result(request.Key, saved), nil
}

// takeNext takes the next snapshot of a series, unless the store has one that is young enough: one that was
// completed and never reported, or that a lost status told of.
func (t *taker) takeNext(ctx context.Context, o order, series snapshot.Series, request snapshot.Request) (Result, error) {
	listing, err := snapshot.List(ctx, request.Store, series.Prefix())
	if err != nil {
		return Result{}, err
	}
	var result Result
	if newest, found := listing.Newest(); found && !due(newest.Manifest.CreatedAt, o.Interval, t.now()) {
		result = o.result(newest.Key, snapshot.Saved{Manifest: newest.Manifest, Found: true})
	} else {
		saved, err := t.save(ctx, request)
		if err != nil {
			return Result{}, err
		}
		result = o.result(request.Key, saved)
		listing.Snapshots = append(listing.Snapshots, snapshot.Entry{Key: request.Key, Manifest: saved.Manifest})
	}
	result.Pruned, err = prune(ctx, request.Store, snapshot.Retain(series, listing, snapshot.Policy{MaxBackups: o.Keep}))
	if err != nil {
		result.PruneProblem = classify(err, o, false).Message
	}
	return result, nil
}

// due says whether a series wants its next snapshot. One from the future says nothing: some clock was wrong.
func due(newest time.Time, interval time.Duration, now time.Time) bool {
	age := now.Sub(newest)
	return age < 0 || age >= interval
}

// prune deletes keys in their order and stops at the first that cannot be deleted.
func prune(ctx context.Context, store objstore.Store, keys []string) (removed int, err error) {
	for _, key := range keys {
		if err := store.Delete(ctx, key); err != nil {
			return removed, fmt.Errorf("remove old snapshot: %w", err)
		}
		if _, whole := snapshot.ParseKey(key); whole {
			removed++
		}
	}
	return removed, nil
}

func (t *taker) store(ctx context.Context, o order) (objstore.Store, error) {
	secret, err := t.secret(ctx, o.Namespace, o.Target.Secret)
	if err != nil {
		return nil, err
	}
	store, err := t.open(ctx, connect.Location{
		Kind: connect.Kind(o.Target.Storage), Bucket: o.Target.Bucket, Endpoint: o.Target.Endpoint,
		Region: o.Target.Region, ForcePathStyle: o.Target.ForcePathStyle, Secret: secret,
		CustomerKey: o.Target.CustomerKey, Options: o.StoreOptions,
	})
	if err != nil {
		return nil, fail(v1beta2.ReasonAccessDenied, err.Error())
	}
	return store, nil
}

// tls is how the members are talked to; nil where no Secret is named.
func (t *taker) tls(ctx context.Context, o order) (*tls.Config, error) {
	data, err := t.secret(ctx, o.Namespace, o.TLSSecret)
	if err != nil || o.TLSSecret == "" {
		return nil, err
	}
	config, err := etcd.TLSConfig(data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[v1beta2.ClientCAKey])
	if err != nil {
		return nil, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("Secret %s has no usable %s, %s and %s: %v",
			o.TLSSecret, v1beta2.ClientCertKey, v1beta2.ClientKeyKey, v1beta2.ClientCAKey, err))
	}
	return config, nil
}

func (t *taker) secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
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

// tool names the writer in manifests.
func tool() string { return Name + " " + operator.Version }
