package podrunner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// SeedImage is the image of restore-operator. The test binary itself runs it.
const SeedImage = "podrunner/restore-operator:test"

// minors are the minor versions of etcd that the image tags of Pods may name.
var minors = []string{"3.5", "3.6", "3.7"}

// MountClaims sets what prepares the directory of each claim that is bound from now on.
func (r *Runner) MountClaims(mount func(dir string) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mount = mount
}

// Start runs the Pods of namespace until the test ends. Without root it skips the test, or fails it if CI is true.
func Start(t testing.TB, namespace string) *Runner {
	t.Helper()
	return start(t, namespace, false)
}

// StartIPv6 is Start with Pods that have an IPv6 address and no other. Their names have an AAAA record only.
func StartIPv6(t testing.TB, namespace string) *Runner {
	t.Helper()
	return start(t, namespace, true)
}

func start(t testing.TB, namespace string, ipv6 bool) *Runner {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("podrunner needs root to run Pods (CI=true: no test may be skipped)")
		}
		t.Skip("podrunner needs root to run Pods")
	}
	r := &Runner{
		t: t, client: kubetest.Client(t), namespace: namespace, dir: t.TempDir(),
		programs: map[string]string{}, pods: map[types.UID]*pod{},
	}
	for _, minor := range minors {
		program, err := filepath.EvalSymlinks(servers.EtcdProgram(t, minor))
		if err != nil {
			t.Fatal(err)
		}
		r.programs[minor] = program
	}
	var err error
	if r.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	if r.names, err = newNames(ipv6); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.run(ctx)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			r.showLogs()
		}
		cancel()
		<-ended
		r.names.close()
	})
	return r
}

func (r *Runner) run(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := r.sync(ctx, &workers); err != nil && ctx.Err() == nil {
			r.t.Logf("podrunner: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sync observes all Pods and claims once.
func (r *Runner) sync(ctx context.Context, workers *sync.WaitGroup) error {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(r.namespace)); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	there := map[types.UID]bool{}
	used := map[string]bool{}
	for i := range pods.Items {
		object := &pods.Items[i]
		there[object.UID] = true
		for _, claim := range claimsOf(object) {
			used[claim] = true
		}
		r.mu.Lock()
		p := r.pods[object.UID]
		if p == nil {
			p = newPod(ctx, r, object)
			r.pods[object.UID] = p
			workers.Go(p.run)
		}
		r.mu.Unlock()
		p.observe(object)
	}
	r.mu.Lock()
	for uid, p := range r.pods {
		if !there[uid] {
			p.kill() // deleted by force
			delete(r.pods, uid)
		}
	}
	r.mu.Unlock()
	return r.syncClaims(ctx, used)
}

// program returns the program of an image, or false if the image does not exist.
func (r *Runner) program(image string) (string, bool) {
	if image == SeedImage {
		return r.self, true
	}
	_, tag, _ := strings.Cut(image, ":v")
	for minor, program := range r.programs {
		if strings.HasPrefix(tag, minor+".") {
			return program, true
		}
	}
	return "", false
}

// Test returns the test that runs the Pods. It outlives its subtests.
func (r *Runner) Test() testing.TB { return r.t }

// Kill kills the current process of a Pod, as in a crash. The Pod restarts it.
func (r *Runner) Kill(name string) { r.signal(name, syscall.SIGKILL) }

// Freeze stops the current process of a Pod without an end, until it is killed.
func (r *Runner) Freeze(name string) { r.signal(name, syscall.SIGSTOP) }

func (r *Runner) signal(name string, signal syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods {
		if p.name == name {
			p.signal(signal)
		}
	}
}

// Log returns the output of the containers of all Pods with that name.
func (r *Runner) Log(name string) string {
	var text strings.Builder
	logs, _ := filepath.Glob(filepath.Join(r.dir, "logs", name+".*"))
	for _, log := range logs {
		content, _ := os.ReadFile(log)
		text.Write(content)
	}
	return text.String()
}

// showLogs writes the end of every container's log to the test's log.
func (r *Runner) showLogs() {
	logs, _ := filepath.Glob(filepath.Join(r.dir, "logs", "*"))
	for _, log := range logs {
		content, _ := os.ReadFile(log)
		r.t.Logf("end of the log of %s:\n%s", filepath.Base(log), content[max(0, len(content)-logTail):])
	}
}

// logTail is how many bytes of a container's log a failed test shows.
const logTail = 4 << 10
