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

// traffic is a client that writes all the while, to the Pods that the client Service selects, and remembers every
// write that it was told of. Each key is written once, so that it holds its value for good.
type traffic struct {
	b *bench
	// secret that the client needs; empty without TLS.
	secret string
	// writing is held while a key is written.
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
			c.write(ctx)
			c.writing.Unlock()
			pause(ctx, 20*time.Millisecond)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	c.b.Cleanup(stop)
	return stop
}

// write one key, to any member that clients are led to.
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

// still does something while nothing is written.
func (c *traffic) still(do func()) {
	c.writing.Lock()
	defer c.writing.Unlock()
	do()
}

// selected are the ready Pods that the client Service leads to.
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

// all is everything that the members hold which clients are led to.
func (c *traffic) all(ctx context.Context) (map[string]string, error) {
	err := errors.New("clients are led nowhere")
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

// member is one of the membership.
type member struct {
	Name    string
	Learner bool `json:"isLearner"`
}

func (c *traffic) members() ([]member, error) {
	err := errors.New("clients are led nowhere")
	for _, pod := range c.selected(c.b.Context()) {
		var answer struct{ Members []member }
		if err = c.post(c.b.Context(), pod, "cluster/member/list", map[string]any{}, &answer); err == nil {
			return answer.Members, nil
		}
	}
	return nil, err
}

// check looks that no write is lost that the client was told of.
func (c *traffic) check() {
	c.b.Helper()
	if c.count() == 0 {
		c.b.Error("the client has written nothing: nothing was tested")
	}
	kubetest.Eventually(c.b, "every write is there that the client was told of", func(ctx context.Context) error {
		have, err := c.all(ctx)
		if err != nil {
			return err
		}
		return c.lost(have)
	})
}

// count is how many writes the client was told of.
func (c *traffic) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acked)
}

// lost names a write that is not there.
func (c *traffic) lost(have map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, value := range c.acked {
		if have[key] != value {
			return fmt.Errorf("%s is %q and not %q; %d of %d keys are there", key, have[key], value, len(have), len(c.acked))
		}
	}
	return nil
}

// transport with what the client's Secret holds now, for one request.
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
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
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
