package show

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"

	"k8s.io/apimachinery/pkg/util/wait"

	core "github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

// A Tail prints the lines of all members as they arrive.
type Tail struct {
	Pods func(context.Context) ([]string, error)
	// open streams a log from a time on, as Kubernetes wrote it, or from its start.
	Open func(ctx context.Context, pod, since string) (io.ReadCloser, error)
	Out  io.Writer

	lock    sync.Mutex
	Last    map[string]string // time of the newest line that was printed, by Pod
	running map[string]bool
}

func (t *Tail) print(line core.Line) {
	fmt.Fprintf(t.Out, "%s %s %s\n", line.Member, line.Time, line.Text)
	t.Last[line.Member] = line.Time
}

// Follow ends with ctx. It also finds new Pods, and opens a stream again that ended, for example by a restart of the container.
func (t *Tail) Follow(ctx context.Context) {
	var streams sync.WaitGroup
	t.running = map[string]bool{}
	_ = wait.PollUntilContextCancel(ctx, session.FollowInterval, true, func(ctx context.Context) (bool, error) {
		pods, err := t.Pods(ctx)
		if err != nil {
			return false, nil // the next call may succeed, and open streams continue
		}
		t.lock.Lock()
		defer t.lock.Unlock()
		for _, pod := range pods {
			if !t.running[pod] {
				t.running[pod] = true
				streams.Go(func() { t.stream(ctx, pod) })
			}
		}
		return false, nil
	})
	streams.Wait()
}

func (t *Tail) stream(ctx context.Context, pod string) {
	t.lock.Lock()
	since := t.Last[pod]
	t.lock.Unlock()
	defer func() {
		t.lock.Lock()
		defer t.lock.Unlock()
		t.running[pod] = false
	}()
	log, err := t.Open(ctx, pod, since)
	if err != nil {
		return
	}
	defer log.Close()
	reader := bufio.NewReader(log)
	for {
		text, err := reader.ReadString('\n')
		t.lock.Lock()
		for _, line := range core.ParseLog(pod, text) {
			if line.After(t.Last[pod]) { // Kubernetes selects by the second
				t.print(line)
			}
		}
		t.lock.Unlock()
		if err != nil {
			return
		}
	}
}
