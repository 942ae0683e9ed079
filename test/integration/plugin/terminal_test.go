package plugin

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// The program itself runs in a pseudo-terminal. Only there does the kernel turn Ctrl-C into a signal, and only there is there colour.
func TestTerminal(t *testing.T) {
	namespace := kubetest.Namespace(t)
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"}, Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"}}
	kubetest.Create(t, cluster)
	start := programIn(t, namespace)

	t.Run("colour is only on a terminal, and not with NO_COLOR", func(t *testing.T) {
		for _, c := range []struct {
			name           string
			env            []string
			piped, colours bool
		}{
			{"terminal", []string{"TERM=xterm"}, false, true},
			{"NO_COLOR", []string{"TERM=xterm", "NO_COLOR=1"}, false, false},
			{"dumb terminal", []string{"TERM=dumb"}, false, false},
			{"piped", []string{"TERM=xterm"}, true, false},
		} {
			cmd := start(c.env, "status", "example", "--look=false")
			var text string
			if c.piped {
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				text = string(out)
			} else {
				screen := open(t, cmd)
				if code := screen.end(t); code != 0 {
					t.Fatalf("%s: exit code %d\n%s", c.name, code, screen.text())
				}
				text = screen.text()
			}
			if strings.Contains(text, "\x1b[3") != c.colours || !strings.Contains(text, "No operator has read the object") {
				t.Errorf("%s: %q", c.name, text)
			}
		}
	})
	t.Run("Ctrl-C at the question ends with 130 and writes nothing", func(t *testing.T) {
		screen := open(t, start(nil, "hibernate", "example"))
		screen.await(t, "Write yes to continue: ")
		screen.press(t, "\x03")
		if code := screen.end(t); code != 130 || !strings.Contains(screen.text(), "Nothing was changed") {
			t.Errorf("exit code %d\n%s", code, screen.text())
		}
		if read(t, cluster); cluster.Spec.Hibernate {
			t.Error("the EtcdCluster was changed")
		}
	})
	t.Run("another answer than yes writes nothing", func(t *testing.T) {
		screen := open(t, start(nil, "pause", "example"))
		screen.await(t, "Write yes to continue: ")
		screen.press(t, "y\r")
		if code := screen.end(t); code != 1 {
			t.Errorf("exit code %d\n%s", code, screen.text())
		}
		if read(t, cluster); cluster.Spec.Paused {
			t.Error("the EtcdCluster was changed")
		}
	})
	t.Run("yes writes, progress rewrites its line, and Ctrl-C stops only the command", func(t *testing.T) {
		screen := open(t, start(nil, "pause", "example"))
		screen.await(t, "Write yes to continue: ")
		screen.press(t, "yes\r")
		screen.await(t, "\r\x1b[K")
		screen.press(t, "\x03")
		if code := screen.end(t); code != 130 || !strings.Contains(screen.text(), "The change is made") {
			t.Errorf("exit code %d\n%s", code, screen.text())
		}
		if read(t, cluster); !cluster.Spec.Paused {
			t.Error("the EtcdCluster was not changed")
		}
	})
	t.Run("a pause that no operator acknowledges ends with what to check", func(t *testing.T) {
		out, err := start(nil, "resume", "example", "--yes", "--timeout=2s").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "has not acknowledged the change. Check that it runs") || strings.Contains(string(out), "\x1b") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// programIn builds kubectl-etcd. It returns a function that prepares a run in the namespace.
func programIn(t *testing.T, namespace string) func(env []string, args ...string) *exec.Cmd {
	t.Helper()
	config := kubeconfig(t, kubetest.Config(t))
	program := filepath.Join(t.TempDir(), "kubectl-etcd")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/kubectl-etcd")
	build.Dir = kubetest.Root(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kubectl-etcd: %v\n%s", err, out)
	}
	return func(env []string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--kubeconfig", config, "--namespace", namespace)...)
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
		return cmd
	}
}

// A screen is what a program has written to a pseudo-terminal.
type screen struct {
	cmd     *exec.Cmd
	control *os.File
	lock    sync.Mutex
	written bytes.Buffer
	closed  chan struct{}
}

func open(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	control, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	s := &screen{cmd: cmd, control: control, closed: make(chan struct{})}
	go func() {
		defer close(s.closed)
		_, _ = io.Copy(s, control) // ends with an error when the program closes the terminal
	}()
	return s
}

func (s *screen) Write(text []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.written.Write(text)
}

func (s *screen) text() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.written.String()
}

func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(s.text(), text) {
		select {
		case <-tick.C:
		case <-s.closed:
			t.Fatalf("the program ended without %q:\n%s", text, s.text())
		case <-deadline:
			t.Fatalf("the program has not written %q:\n%s", text, s.text())
		}
	}
}

func (s *screen) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.control, keys); err != nil {
		t.Fatal(err)
	}
}

// end waits for the end of the program and of its output, and returns the exit code.
func (s *screen) end(t *testing.T) int {
	t.Helper()
	err := s.cmd.Wait()
	<-s.closed
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}
