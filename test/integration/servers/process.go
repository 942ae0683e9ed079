package servers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// startDeadline is the timeout of a start. It is long because a server starts
// slowly next to a compiler on two cores.
const startDeadline = 60 * time.Second

// logTail is how many bytes of a server's log a failed test shows.
const logTail = 16 << 10

// Process is one running server.
type Process struct {
	t       testing.TB
	name    string
	program string
	args    []string
	env     []string
	log     string
	cmd     *exec.Cmd
	ended   chan struct{}
}

// newProcess prepares a server. Start runs it, and can run it again after a stop.
func newProcess(t testing.TB, name, program string, env []string, args ...string) *Process {
	p := &Process{
		t: t, name: name, program: program, args: args, env: env,
		log: filepath.Join(t.TempDir(), name+".log"),
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", name, p.tail())
		}
	})
	return p
}

// Start runs the server with its arguments.
func (p *Process) Start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatalf("open the log of %s: %v", p.name, err)
	}
	defer log.Close()
	cmd := exec.CommandContext(context.Background(), p.program, p.args...) // Kill ends it
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		p.t.Fatalf("start %s: %v", p.name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	p.cmd, p.ended = cmd, ended
}

// Stop sends SIGTERM to the server and waits until it has ended.
func (p *Process) Stop() { p.end(syscall.SIGTERM) }

// Kill sends SIGKILL to the server, as in a crash, and waits until it has ended.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// PID returns the process ID of the running server.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends sig, for example SIGSTOP to freeze the server and SIGCONT to resume it.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("send %v to %s: %v", sig, p.name, err)
	}
}

func (p *Process) end(sig syscall.Signal) {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	p.cmd = nil
}

// AwaitHTTP waits for any response from url. It fails the test if the server ends
// or does not respond.
func (p *Process) AwaitHTTP(url string) {
	p.t.Helper()
	p.await("respond at "+url, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

func (p *Process) await(what string, ready func(context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startDeadline)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-p.ended:
			p.t.Fatalf("%s ended before it could %s:\n%s", p.name, what, p.tail())
		case <-ctx.Done():
			p.t.Fatalf("%s did not %s within %s: %v", p.name, what, startDeadline, err)
		}
	}
}

func (p *Process) tail() []byte {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Appendf(nil, "(no log: %v)", err)
	}
	if len(log) > logTail {
		log = log[len(log)-logTail:]
	}
	return bytes.TrimSpace(log)
}

const (
	// firstPort and ports are a range from which the kernel gives no ports by default. A server listens on its port only
	// after some time, and the kernel would give that port to others meanwhile.
	firstPort, ports = 12000, 18000
	// portsOfProcess is the distance between the first ports of test binaries that run at the same time.
	portsOfProcess = 997
)

var portsGiven atomic.Int32

// FreeAddress returns a loopback address on which nothing listens. It returns each only once.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range ports {
		port := firstPort + (os.Getpid()*portsOfProcess+int(portsGiven.Add(1)))%ports
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "tcp", address)
		if err == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
