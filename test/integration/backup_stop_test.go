package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// gate is a TCP proxy that blocks after clients have sent limit bytes, until it is opened.
type gate struct {
	listener net.Listener
	target   string
	limit    int64
	open     chan struct{}

	mu     sync.Mutex
	passed int64
}

func newGate(t *testing.T, target string, limit int64) *gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: listener, target: strings.TrimPrefix(target, "http://"), limit: limit, open: make(chan struct{})}
	t.Cleanup(func() { _ = listener.Close() })
	go g.serve()
	return g
}

func (g *gate) url() string { return "http://" + g.listener.Addr().String() }

func (g *gate) serve() {
	for {
		from, err := g.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("tcp", g.target)
			if err != nil {
				return
			}
			defer to.Close()
			go func() {
				_, _ = io.Copy(from, to)
				_ = from.Close()
			}()
			_, _ = io.Copy(to, &gated{from, g})
		}()
	}
}

type gated struct {
	net.Conn
	gate *gate
}

func (r *gated) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.gate.mu.Lock()
	r.gate.passed += int64(n)
	over := r.gate.passed > r.gate.limit
	r.gate.mu.Unlock()
	if over {
		<-r.gate.open
	}
	return n, err
}

// bigEtcd starts an etcd whose database is larger than one part of an upload.
func bigEtcd(t *testing.T) *servers.EtcdCluster {
	t.Helper()
	etcd := servers.Etcd(t, servers.EtcdOptions{})
	for i := range 16 {
		put := exec.CommandContext(t.Context(), servers.EtcdctlProgram(t, "3.6"), "--endpoints="+etcd.Members[0].ClientURL, "put", fmt.Sprintf("big-%02d", i))
		put.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
		if out, err := put.CombinedOutput(); err != nil {
			t.Fatalf("etcdctl put: %v\n%s", err, out)
		}
	}
	return etcd
}

// uploading creates an EtcdBackup whose upload blocks in the middle.
func (b *backupBench) uploading(name string, etcd *servers.EtcdCluster) (*v1beta2.EtcdBackup, *gate) {
	b.Helper()
	gate := newGate(b.operator.t, b.server.Endpoint, 2<<20)
	backup := b.backup(name, "backups/"+name+".db", etcd.Endpoints()...)
	backup.Spec.S3.Endpoint = gate.url()
	kubetest.Create(b, backup)
	kubetest.AwaitCondition(b, backup, backupConditions, v1beta2.ConditionRunning, metav1.ConditionTrue, v1beta2.ReasonRunning)
	kubetest.Eventually(b, "the upload is blocked", func(context.Context) error {
		gate.mu.Lock()
		defer gate.mu.Unlock()
		if gate.passed <= gate.limit {
			return fmt.Errorf("only %d bytes have passed", gate.passed)
		}
		return nil
	})
	return backup, gate
}

func TestInterruptedUploadNeverBecomesASnapshot(t *testing.T) {
	t.Parallel()
	etcd := bigEtcd(t)
	b := newBackupBench(t)

	b.in("the status shows the progress", func(b *backupBench) {
		backup, gate := b.uploading("progress", etcd)
		kubetest.Await(b, backup, "show the number of received bytes", func(backup *v1beta2.EtcdBackup) bool {
			for _, c := range backup.Status.Conditions {
				if c.Type == v1beta2.ConditionRunning && strings.Contains(c.Message, "MiB of about") {
					return true
				}
			}
			return false
		})
		close(gate.open)
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	b.in("a stopped operator leaves no object, and the next one takes the snapshot", func(b *backupBench) {
		backup, gate := b.uploading("stopped", etcd)
		b.stop()
		if keys := b.keys("stopped"); len(keys) > 0 {
			b.Errorf("the incomplete upload became an object: %q", keys)
		}
		close(gate.open)
		b.start()
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.fetchReported(backup, b.bucket)
		if backup.Status.Attempts < 2 {
			b.Errorf("the status reports %d attempts, expected at least 2", backup.Status.Attempts)
		}
	})
	b.in("the deletion of an EtcdBackup aborts its upload", func(b *backupBench) {
		backup, gate := b.uploading("deleted", etcd)
		b.delete(backup)
		close(gate.open)
		after := b.backup("after", "backups/after.db", etcd.Endpoints()...)
		kubetest.Create(b, after)
		b.ready(after, metav1.ConditionTrue, v1beta2.ReasonComplete)
		if keys := b.keys("deleted"); len(keys) > 0 {
			b.Errorf("the upload of the deleted EtcdBackup was completed: %q", keys)
		}
	})
	b.in("a change of the spec aborts the upload of the old spec", func(b *backupBench) {
		backup, gate := b.uploading("edited", etcd)
		kubetest.Eventually(b, "the spec is edited", func(ctx context.Context) error {
			if err := kubetest.Client(b).Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
				return err
			}
			backup.Spec.S3.Path, backup.Spec.S3.Endpoint = "backups/edited-path.db", b.server.Endpoint
			return kubetest.Client(b).Update(ctx, backup)
		})
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		close(gate.open)
		b.fetchReported(backup, b.bucket)
		if keys := b.keys("edited.db"); len(keys) > 0 {
			b.Errorf("the upload of the old spec was completed: %q", keys)
		}
	})
	b.in("an upload is aborted after its timeout, and the message names the field to raise", func(b *backupBench) {
		gate := newGate(b.operator.t, b.server.Endpoint, 2<<20)
		backup := b.backup("slow", "backups/slow.db", etcd.Endpoints()...)
		backup.Spec.S3.Endpoint = gate.url()
		backup.Spec.BackupPolicy = &v1beta2.BackupPolicy{TimeoutInSecond: 2}
		kubetest.Create(b, backup)
		b.fails(backup, v1beta2.ReasonDeadlineExceeded, "Raise backupPolicy.timeoutInSecond")
		close(gate.open)
		b.edit(backup, func() { backup.Spec.BackupPolicy.TimeoutInSecond = 60 }) // a busy machine may need longer than 2 s
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	})
	b.in("a killed operator leaves no snapshot, and the next one takes it", func(b *backupBench) {
		b.stop()
		killed := b.process()
		backup, gate := b.uploading("killed", etcd)
		killed.kill()
		close(gate.open)
		if keys := b.keys("killed"); len(keys) > 0 {
			b.Errorf("the incomplete upload became an object: %q", keys)
		}
		b.start()
		b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
		b.fetchReported(backup, b.bucket)
	})
}

// process is a backup-operator in its own process: this test binary, which runs TestBackupOperatorProcess.
type process struct {
	cmd *exec.Cmd
	out *strings.Builder
}

const (
	processKubeconfig = "TEST_BACKUP_OPERATOR_KUBECONFIG"
	processNamespace  = "TEST_BACKUP_OPERATOR_NAMESPACE"
	processSpool      = "TEST_BACKUP_OPERATOR_SPOOL"
)

func (b *backupBench) process() *process {
	b.Helper()
	kubeconfig := filepath.Join(b.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfigOf(kubetest.Config(b)), kubeconfig); err != nil {
		b.Fatal(err)
	}
	p := &process{out: &strings.Builder{}}
	p.cmd = exec.Command(os.Args[0], "-test.run=^TestBackupOperatorProcess$")
	p.cmd.Env = append(os.Environ(), processKubeconfig+"="+kubeconfig, processNamespace+"="+b.namespace, processSpool+"="+b.spool)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		p.kill()
		if b.Failed() {
			b.Logf("output of the backup-operator process:\n%s", p.out)
		}
	})
	return p
}

// kill sends SIGKILL to the process, as the out-of-memory killer does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// TestBackupOperatorProcess is not a test. It is the operator that TestInterruptedUploadNeverBecomesASnapshot kills.
func TestBackupOperatorProcess(t *testing.T) {
	kubeconfig := os.Getenv(processKubeconfig)
	if kubeconfig == "" {
		return
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	options := operator.Options{
		WatchNamespaces: []string{os.Getenv(processNamespace)},
		MetricsAddress:  "0", ProbeAddress: "0", LogLevel: "info", LogFormat: "text",
	}
	err := operator.Run(t.Context(), backup.Name, options, func(_ context.Context, mgr manager.Manager) error {
		return backup.Setup(mgr, backup.Options{SpoolDir: os.Getenv(processSpool), Try: kubetest.TryHere, MaxConcurrent: 2, Metrics: prometheus.NewRegistry()})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kubeconfigOf returns the kubeconfig of a client configuration.
func kubeconfigOf(c *rest.Config) clientcmdapi.Config {
	const name = "test"
	return clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, Token: c.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
}
