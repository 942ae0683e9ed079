package fleet

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// Program is a running operator.
type Program struct {
	t       testing.TB
	cmd     *exec.Cmd
	metrics string
	ended   chan error
}

// Installed is the program of an operator, and the configuration with which it reaches the API server.
type Installed struct{ program, configuration, log string }

// Build builds the program of an operator, for example backup-operator.
func Build(t testing.TB, name string) Installed {
	t.Helper()
	dir := t.TempDir()
	return Installed{build(t, dir, name), kubeconfig(t, dir), filepath.Join(dir, "operator.log")}
}

// Start starts the program. It ends with the test.
func (i Installed) Start(t testing.TB, flags ...string) *Program {
	t.Helper()
	p := run(t, i.program, i.configuration, i.log, flags...)
	kubetest.Eventually(t, "the operator serves metrics", func(context.Context) error { _, err := p.Usage(); return err })
	return p
}

// Log returns the end of what the program has logged.
func (i Installed) Log() string {
	const tail = 8 << 10
	log, _ := os.ReadFile(i.log)
	return string(log[max(0, len(log)-tail):])
}

// build builds an operator, and returns its path.
func build(t testing.TB, dir, name string) string {
	t.Helper()
	program := filepath.Join(dir, name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/etcd-suite/etcd-operator/cmd/"+name).CombinedOutput()
	if err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return program
}

// kubeconfig writes the administrator's configuration into a file.
func kubeconfig(t testing.TB, dir string) string {
	t.Helper()
	config := kubetest.Config(t)
	content := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"test": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"test": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		CurrentContext: "test",
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(content, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// run starts an operator with more flags. It ends with the test.
func run(t testing.TB, program, kubeconfig, logFile string, flags ...string) *Program {
	t.Helper()
	metrics := servers.FreeAddress(t)
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{t: t, metrics: metrics, ended: make(chan error, 1)}
	arguments := append([]string{"--leader-elect=false", "--metrics-bind-address=" + metrics, "--metrics-secure=false", "--health-probe-bind-address=0"}, flags...)
	p.cmd = exec.Command(program, arguments...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	go func() { p.ended <- p.cmd.Wait(); _ = log.Close() }()
	t.Cleanup(p.Stop)
	return p
}

// Stop ends the program as Kubernetes does.
func (p *Program) Stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.ended:
		p.ended <- err
	case <-time.After(30 * time.Second):
		p.t.Error("the operator did not end within 30 s")
		_ = p.cmd.Process.Kill()
	}
}

// Kill ends the program with SIGKILL, as a crash of its node does, and waits until it has ended.
func (p *Program) Kill() {
	_ = p.cmd.Process.Kill()
	p.ended <- <-p.ended
}

// Signal sends a signal, for example SIGSTOP.
func (p *Program) Signal(signal syscall.Signal) {
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Errorf("send %s to an operator: %v", signal, err)
	}
}

// PID of the process.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Usage is what the program has used since its start.
type Usage struct {
	// Writes to the API server by "verb kind", and Reads (watches, which last for minutes, count when they begin).
	Writes map[string]int
	Reads  int
	// Sent are all other requests to the API server. Begun are attempts at a snapshot that a worker of backup-operator began.
	Sent, Begun int
	// Leads reports whether the program has the Lease of the leader election, or believes so.
	Leads bool
}

// Leads reports whether the program has the Lease of the leader election, or believes so. It is false if the program does not answer.
func (p *Program) Leads() bool {
	u, err := p.Usage()
	return err == nil && u.Leads
}

// Total returns the number of writes.
func (u Usage) Total() (writes int) {
	for _, n := range u.Writes {
		writes += n
	}
	return writes
}

// Since returns what was used after an earlier Usage.
func (u Usage) Since(before Usage) Usage {
	after := Usage{Writes: map[string]int{}, Reads: u.Reads - before.Reads, Sent: u.Sent - before.Sent, Begun: u.Begun - before.Begun}
	for name, n := range u.Writes {
		if more := n - before.Writes[name]; more > 0 {
			after.Writes[name] = more
		}
	}
	return after
}

// Usage reads the program's metrics.
func (p *Program) Usage() (Usage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return Usage{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Usage{}, fmt.Errorf("read the operator's metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	u := Usage{Writes: map[string]int{}}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(name, "leader_election_master_status{"):
			u.Leads = n == 1
		case strings.HasPrefix(name, "etcd_operator_cluster_api_writes_total{"):
			u.Writes[label(name, "verb")+" "+label(name, "kind")] += int(n)
		case strings.HasPrefix(name, "rest_client_requests_total{") && label(name, "method") == http.MethodGet:
			u.Reads += int(n)
		case strings.HasPrefix(name, "rest_client_requests_total{"):
			u.Sent += int(n)
		case strings.HasPrefix(name, "etcd_operator_backup_queue_wait_seconds_count{") && label(name, "lane") == "snapshot":
			u.Begun = int(n)
		}
	}
	return u, lines.Err()
}

// label returns the value of a label of a metric.
func label(metric, name string) string {
	_, after, _ := strings.Cut(metric, name+`="`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}
