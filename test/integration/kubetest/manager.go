package kubetest

import (
	"context"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// RunManager runs the controllers that setup registers, in this process and for
// one namespace only. It uses the scheme and the client options of the real
// operators. The returned function stops it; the end of the test does so, too. To
// simulate the restart of an operator, a test stops one manager and runs another.
// The manager logs to the test's log. wrap wraps its client.
func RunManager(t testing.TB, namespace string, setup operator.Setup, wrap ...func(client.WithWatch) client.WithWatch) (stop func()) {
	t.Helper()
	logger := &testLog{TB: t}
	mgr, err := newManager(t, logger, namespace, wrap)
	if err != nil {
		t.Fatalf("create a manager: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := setup(ctx, mgr); err != nil {
		cancel()
		t.Fatalf("set up a manager: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run a manager: %v", err)
		}
		logger.close()
	})
	t.Cleanup(stop)
	return stop
}

func newManager(t testing.TB, logger *testLog, namespace string, wrap []func(client.WithWatch) client.WithWatch) (manager.Manager, error) {
	scheme, err := operator.Scheme()
	if err != nil {
		return nil, err
	}
	twice := true
	return manager.New(Config(t), manager.Options{
		Scheme: scheme,
		Logger: testr.NewWithInterface(logger, testr.Options{}),
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client: operator.ClientOptions(),
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			c, err := client.NewWithWatch(config, options)
			for _, around := range wrap {
				c = around(c)
			}
			return c, err
		},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		// A test binary runs the same controller several times.
		Controller: config.Controller{SkipNameValidation: &twice},
	})
}

// testLog writes to the test's log until it is closed, because the test binary
// panics if a goroutine logs after the end of its test.
type testLog struct {
	testing.TB
	mu     sync.Mutex
	closed bool
}

// Log writes one line.
func (l *testLog) Log(args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.TB.Log(args...)
	}
}

func (l *testLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}
