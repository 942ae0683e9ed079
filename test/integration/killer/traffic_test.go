package killer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// traffic is a client that writes during a test to the Pods that the client Service selects, and stores every
// acknowledged write. It writes each key only once, so its value never changes.
type traffic struct {
	b *bench
	// secret is the client TLS Secret; empty without TLS.
	secret string
	// writing is locked while a key is written.
	writing sync.Mutex

	mu    sync.Mutex
	next  int
	acked map[string]string
}

func newTraffic(b *bench) *traffic {
	return &traffic{b: b, secret: b.cluster.Spec.TLS.ClientSecret(b.cluster.Name), acked: map[string]string{}}
}

// run writes until the function that it returns is called.
func (c *traffic) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			c.writing.Lock()
			c.write(context.WithoutCancel(ctx)) // etcd may carry out a request whose client has gone
			c.writing.Unlock()
			pause(ctx, 20*time.Millisecond)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	c.b.Cleanup(stop)
	return stop
}

// write writes one key to any member that the client Service selects.
func (c *traffic) write(ctx context.Context) {
	for _, pod := range c.selected(ctx) {
		key, value := fmt.Sprintf("key-%06d", c.next), "value-"+strconv.Itoa(c.next)
		c.next++
		if err := c.post(ctx, pod, "kv/put", map[string]any{"key": []byte(key), "value": []byte(value)}, nil); err == nil {
			c.mu.Lock()
			c.acked[key] = value
			c.mu.Unlock()
			return
		}
	}
}

// paused calls do while no key is written.
func (c *traffic) paused(do func()) {
	c.writing.Lock()
	defer c.writing.Unlock()
	do()
}

// selected returns the ready Pods that the client Service selects.
func (c *traffic) selected(ctx context.Context) []corev1.Pod {
	var service corev1.Service
	namespace := c.b.cluster.Namespace
	if err := c.b.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: c.b.cluster.Name + "-client"}, &service); err != nil {
		return nil
	}
	var pods corev1.PodList
	if err := c.b.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(service.Spec.Selector)); err != nil {
		return nil
	}
	var ready []corev1.Pod
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp.IsZero() {
				ready = append(ready, pod)
			}
		}
	}
	return ready
}

// all returns all keys and values of a member that the client Service selects.
func (c *traffic) all(ctx context.Context) (map[string]string, error) {
	err := errors.New("the client Service selects no ready member")
	for _, pod := range c.selected(ctx) {
		var answer struct {
			Kvs []struct{ Key, Value []byte }
		}
		if err = c.post(ctx, pod, "kv/range", map[string]any{"key": []byte{0}, "range_end": []byte{0}}, &answer); err != nil {
			continue
		}
		pairs := map[string]string{}
		for _, kv := range answer.Kvs {
			pairs[string(kv.Key)] = string(kv.Value)
		}
		return pairs, nil
	}
	return nil, err
}

// member is an entry of etcd's member list.
type member struct {
	// ID in decimal digits.
	ID       string
	Name     string
	PeerURLs []string
	Learner  bool `json:"isLearner"`
}

// id returns the ID as etcdctl and the status write it.
func (m member) id() string {
	id, _ := strconv.ParseUint(m.ID, 10, 64)
	return etcd.ID(id).String()
}

func (c *traffic) members() ([]member, error) {
	err := errors.New("the client Service selects no ready member")
	for _, pod := range c.selected(c.b.Context()) {
		var answer struct{ Members []member }
		if err = c.post(c.b.Context(), pod, "cluster/member/list", map[string]any{}, &answer); err == nil {
			return answer.Members, nil
		}
	}
	return nil, err
}

// check checks that no acknowledged write is lost.
func (c *traffic) check() {
	c.b.Helper()
	c.awaitWrite()
	kubetest.Eventually(c.b, "every acknowledged write exists", func(ctx context.Context) error {
		have, err := c.all(ctx)
		if err != nil {
			return err
		}
		return c.lost(have)
	})
}

// awaitWrite waits until a write was acknowledged. Without one, the test would test nothing.
func (c *traffic) awaitWrite() {
	c.b.Helper()
	kubetest.Eventually(c.b, "a write of the client is acknowledged", func(context.Context) error {
		if c.count() == 0 {
			return errors.New("no write was acknowledged")
		}
		return nil
	})
}

// count returns the number of acknowledged writes.
func (c *traffic) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acked)
}

// lost returns an error if an acknowledged write is missing.
func (c *traffic) lost(have map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range c.acked {
		if have[key] != value {
			return fmt.Errorf("an acknowledged write is lost: key %s has the value %q, expected %q; found %d keys, %d writes were acknowledged", key, have[key], value, len(have), len(c.acked))
		}
	}
	return nil
}

// transport returns a transport for one request with the current data of the client's Secret.
func (c *traffic) transport(ctx context.Context) (scheme string, transport http.RoundTripper, err error) {
	if c.secret == "" {
		return "http", http.DefaultTransport, nil
	}
	var secret corev1.Secret
	if err := c.b.client.Get(ctx, client.ObjectKey{Namespace: c.b.cluster.Namespace, Name: c.secret}, &secret); err != nil {
		return "", nil, err
	}
	config, err := etcd.TLSConfig(secret.Data[v1beta2.ClientCertKey], secret.Data[v1beta2.ClientKeyKey], secret.Data[v1beta2.ClientCAKey])
	if err != nil {
		return "", nil, err
	}
	config.ServerName = "localhost"
	return "https", &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, nil
}

// post calls a member through its JSON gateway.
func (c *traffic) post(ctx context.Context, pod corev1.Pod, method string, request, answer any) error {
	limit := 2 * time.Second
	if method == "kv/range" {
		limit = 30 * time.Second // all keys may be several MiB, and JSON is slow on a machine under load
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	scheme, transport, err := c.transport(ctx)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+net.JoinHostPort(pod.Status.PodIP, "2379")+"/v3/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, content)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(content, answer)
}
