// Package operator holds what the three processes share: flags, the manager, probes, metrics and leader election.
package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// Setup registers one operator's controller with the manager.
type Setup func(ctx context.Context, mgr manager.Manager) error

// Run runs the operator with this name until ctx ends or the manager fails. If it lost its Lease, it starts again.
func Run(ctx context.Context, name string, options Options, setup Setup) error {
	limitGarbage()
	return untilDone(ctx, func() error { return runOnce(ctx, name, options, setup) }, replaceProcess)
}

// garbagePercent is how much garbage, in percent of what is in use, is left until it is collected. Go's default is 100. The operators
// mostly wait, so memory is what they cost.
const garbagePercent = 50

// limitGarbage sets garbagePercent, unless the environment sets GOGC.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}

func runOnce(ctx context.Context, name string, options Options, setup Setup) error {
	logger, err := options.logger()
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger)
	panics.LogTo(slog.New(logr.ToSlogHandler(logger)))
	logger.Info("starting", "operator", name, "version", Version)
	mgr, err := newManager(name, options, logger)
	if err != nil {
		return err
	}
	if err := RegisterBuildInfo(metrics.Registry, name); err != nil {
		return err
	}
	if err := setup(ctx, mgr); err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}

func newManager(name string, options Options, logger logr.Logger) (manager.Manager, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the Kubernetes API (run in a Pod or set KUBECONFIG): %w", err)
	}
	wrap(config, options)
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, managerOptions(name, options, logger, scheme))
	if err != nil {
		return nil, fmt.Errorf("create the manager of %s: %w", name, err)
	}
	return mgr, errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping))
}

// wrap adds what reads the answers of the API server.
func wrap(config *rest.Config, options Options) {
	if options.Server != nil {
		config.Wrap(options.Server.Wrap)
	}
	config.Wrap(kube.BoundAnswers)
}

// leaseRetry is Options.LeaseRetry if that is not set.
const leaseRetry = 2 * time.Second

// managerOptions gives the Lease up at the end of the process, so that another replica takes over at once.
func managerOptions(name string, options Options, logger logr.Logger, scheme *runtime.Scheme) ctrl.Options {
	retry := cmp.Or(options.LeaseRetry, leaseRetry)
	return ctrl.Options{
		Scheme:                        scheme,
		Logger:                        logger,
		Cache:                         cache.Options{DefaultNamespaces: options.namespaces(), DefaultTransform: cache.TransformStripManagedFields(), ByObject: options.ByObject},
		Client:                        ClientOptions(),
		Metrics:                       options.metrics(),
		HealthProbeBindAddress:        options.ProbeAddress,
		LeaderElection:                options.LeaderElect,
		LeaderElectionID:              options.lease(name),
		LeaderElectionNamespace:       options.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		RetryPeriod:                   &retry,
		LeaderElectionLabels:          leaseLabels(Version),
	}
}

// ClientOptions excludes Secrets from the cache. The operators' RBAC rules allow to get a Secret by its name, but not to
// list or watch Secrets.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

// Scheme returns a scheme with the built-in kinds and the kinds of this suite.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta2.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	return scheme, nil
}
