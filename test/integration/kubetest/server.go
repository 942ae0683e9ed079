package kubetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// startDeadline is the start timeout of etcd and of kube-apiserver. Alone they need
// about five seconds, next to a compiler on two cores much longer.
const startDeadline = 120 * time.Second

// CRDs is the directory of the CRDs, relative to the root of the module.
const CRDs = "charts/etcd-operator/files/crds"

// server is one running kube-apiserver.
type server struct {
	dir     string // kubeconfig, logs and kubectl's cache
	env     *envtest.Environment
	config  *rest.Config
	client  client.WithWatch
	kubectl string
}

// shared is the server of this test binary. Main must set open.
var shared struct {
	sync.Mutex
	open    bool
	current *server
	failed  error
}

// Main runs a package's tests and then stops the server that they started.
func Main(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	dbcheck.InThisProcess() // sweeps take thousands of snapshots; the installed suite in test/e2e has the process
	shared.open = true
	defer func() {
		if shared.current == nil {
			return
		}
		if err := shared.current.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	m.Run()
}

// start returns the package's server. The first call starts it.
func start(t testing.TB) *server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.open {
		t.Fatal("kubetest: the package needs func TestMain(m *testing.M) { kubetest.Main(m) }")
	}
	if shared.current == nil && shared.failed == nil {
		programs := find(t)
		shared.current, shared.failed = launch(programs)
	}
	if shared.failed != nil {
		t.Fatal(shared.failed)
	}
	return shared.current
}

// programs are the paths of the programs and of the CRDs.
type programs struct{ apiserver, etcd, kubectl, crds string }

func find(t testing.TB) programs {
	t.Helper()
	return programs{
		apiserver: servers.Program(t, "kube-apiserver"),
		etcd:      servers.Program(t, "etcd", "etcd-3.6"),
		kubectl:   servers.Program(t, "kubectl"),
		crds:      filepath.Join(Root(t), CRDs),
	}
}

// Root returns the root directory of the module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			t.Fatalf("find go.mod in a parent directory of the test: %v", err)
		}
		dir = parent
	}
}

func launch(p programs) (_ *server, err error) {
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, fmt.Errorf("start kube-apiserver: %w", err)
	}
	s := &server{dir: dir, kubectl: p.kubectl}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if err := s.environment(p); err != nil {
		return nil, fmt.Errorf("start kube-apiserver: %w", err)
	}
	if s.config, err = s.env.Start(); err != nil {
		return nil, fmt.Errorf("start kube-apiserver: %w\n%s", err, s.logs())
	}
	scheme, err := operator.Scheme()
	if err != nil {
		return nil, err
	}
	if s.client, err = client.NewWithWatch(s.config, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return s, os.WriteFile(s.kubeconfig(), s.env.KubeConfig, 0o600)
}

// environment configures the servers. It ignores the caller's environment, in which
// USE_EXISTING_CLUSTER would run the tests on a user's cluster.
func (s *server) environment(p programs) error {
	existing := false
	s.env = &envtest.Environment{
		UseExistingCluster:       &existing,
		CRDDirectoryPaths:        []string{p.crds},
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startDeadline,
		ControlPlaneStopTimeout:  startDeadline,
	}
	apiserver := s.env.ControlPlane.GetAPIServer()
	s.env.ControlPlane.Etcd = &envtest.Etcd{}
	var err error
	if apiserver.Path, err = s.endWithTest(p.apiserver); err != nil {
		return err
	}
	if s.env.ControlPlane.Etcd.Path, err = s.endWithTest(p.etcd); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(s.dir, "kube-apiserver.log"))
	if err != nil {
		return err
	}
	apiserver.Out, apiserver.Err = log, log
	apiserver.Configure().Set("service-cluster-ip-range", "10.0.0.0/16") // the default has 254 addresses, and a thousand clusters need more
	return nil
}

// endWithTest writes a script that runs program so that it ends with the test
// binary, even if the binary is killed or times out and no cleanup runs.
func (s *server) endWithTest(program string) (string, error) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return program, nil //nolint:nilerr // without setpriv the program ends only if the cleanup runs
	}
	path := filepath.Join(s.dir, filepath.Base(program))
	script := fmt.Sprintf("#!/bin/sh\nexec %q --pdeathsig KILL %q \"$@\"\n", setpriv, program)
	return path, os.WriteFile(path, []byte(script), 0o700) // the script must be executable
}

func (s *server) stop() error {
	var err error
	if s.env != nil {
		err = s.env.Stop()
	}
	if err = errors.Join(err, os.RemoveAll(s.dir)); err != nil {
		return fmt.Errorf("stop kube-apiserver: %w", err)
	}
	return nil
}

func (s *server) kubeconfig() string { return filepath.Join(s.dir, "kubeconfig") }

// logs returns the end of kube-apiserver's log.
func (s *server) logs() []byte {
	const most = 8 << 10
	log, err := os.ReadFile(filepath.Join(s.dir, "kube-apiserver.log"))
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(log[max(0, len(log)-most):])
}
