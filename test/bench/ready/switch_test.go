package ready

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// newcomer opens a new connection to a client Service for each of its requests, and records the longest time without an
// answer that a quorum stands behind.
type newcomer struct {
	end   context.CancelFunc
	ended sync.WaitGroup
	gap   gap
}

// startNewcomer asks at a fixed address, with TLS if config is not nil.
func startNewcomer(ctx context.Context, address string, config *tls.Config) *newcomer {
	url := "http://" + address
	if config != nil {
		url = "https://" + address
	}
	return start(ctx, config, func(context.Context) string { return url })
}

// startAsking reads the address before each request, and sends none while it is empty.
func startAsking(ctx context.Context, address func(context.Context) string) *newcomer {
	return start(ctx, nil, func(ctx context.Context) string {
		if at := address(ctx); at != "" {
			return "http://" + at
		}
		return ""
	})
}

func start(ctx context.Context, config *tls.Config, url func(context.Context) string) *newcomer {
	ctx, cancel := context.WithCancel(ctx)
	n := &newcomer{end: cancel}
	n.ended.Go(func() { n.run(ctx, config, url) })
	return n
}

func (n *newcomer) stop() {
	n.end()
	n.ended.Wait()
}

func (n *newcomer) run(ctx context.Context, config *tls.Config, url func(context.Context) string) {
	const pause, limit = 20 * time.Millisecond, 250 * time.Millisecond
	anew := &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true, DialContext: new(net.Dialer).DialContext, TLSClientConfig: config}}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	last := time.Now()
	for ctx.Err() == nil {
		if at := url(ctx); at != "" && healthy(ctx, anew, at+"/health") {
			now := time.Now()
			if now.Sub(last) > n.gap.length() {
				n.gap = gap{last, now}
			}
			last = now
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func healthy(ctx context.Context, anew *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := anew.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// watchSwitch watches the Pods, the client Service and the status of the cluster "example" from now on. The returned function
// ends that and returns when each part of the switch happened.
func watchSwitch(b *testing.B, suite *stack.Stack, namespace string) func() outage {
	b.Helper()
	c, err := client.NewWithWatch(suite.Config, client.Options{Scheme: suite.Client.Scheme()})
	if err != nil {
		b.Fatal(err)
	}
	var cluster v1beta2.EtcdCluster
	if err := c.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: "example"}, &cluster); err != nil {
		b.Fatal(err)
	}
	s := &switchWatch{old: strconv.Itoa(int(cluster.Status.Incarnation)), ended: map[string]bool{}}
	var ended sync.WaitGroup
	var watches []watch.Interface
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &v1beta2.EtcdClusterList{}} {
		w, err := c.Watch(b.Context(), list, client.InNamespace(namespace))
		if err != nil {
			b.Fatal(err)
		}
		watches = append(watches, w)
		ended.Go(func() {
			for event := range w.ResultChan() {
				s.saw(event, time.Now())
			}
		})
	}
	return func() outage {
		for _, w := range watches {
			w.Stop()
		}
		ended.Wait()
		return s.outage
	}
}

// switchWatch records when the parts of a switch happened.
type switchWatch struct {
	// old is the incarnation before the restore.
	old string

	mu     sync.Mutex
	ended  map[string]bool
	outage outage
}

func (s *switchWatch) saw(event watch.Event, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch object := event.Object.(type) {
	case *corev1.Pod:
		s.sawPod(object, event.Type, now)
	case *corev1.Service:
		if selected := object.Spec.Selector[v1beta2.LabelIncarnation]; selected != "" && selected != s.old {
			note(&s.outage.selected, now)
		}
	case *v1beta2.EtcdCluster:
		if strconv.Itoa(int(object.Status.Incarnation)) != s.old {
			note(&s.outage.adopted, now)
		}
	}
}

func (s *switchWatch) sawPod(pod *corev1.Pod, event watch.EventType, now time.Time) {
	if pod.Labels[v1beta2.LabelIncarnation] != s.old {
		return
	}
	if pod.DeletionTimestamp != nil {
		note(&s.outage.asked, now)
	}
	final := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if (final || event == watch.Deleted) && !s.ended[pod.Name] {
		s.ended[pod.Name], s.outage.ended = true, now
	}
}

// note sets a time that was not set before.
func note(t *time.Time, now time.Time) {
	if t.IsZero() {
		*t = now
	}
}
