package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// counted counts what an informer asks for beside its watch, and how often its revision is too old.
type counted struct {
	next  http.RoundTripper
	lists atomic.Int32
	gone  atomic.Int32
}

func (c *counted) of(next http.RoundTripper) http.RoundTripper {
	c.next = next
	return c
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	// An informer lists, or has a watch send all objects first.
	if q := r.URL.Query(); q.Get("watch") != "true" || q.Get("sendInitialEvents") == "true" {
		c.lists.Add(1)
	}
	answer, err := c.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusGone {
		c.gone.Add(1)
	}
	return answer, err
}

// Lists returns how often the informer has read all objects, and how often its revision was too old.
func (p *ControlPlane) Lists() (lists, gone int32) {
	return p.counted.lists.Load(), p.counted.gone.Load()
}

// Revision returns the resource version of the newest object that the informer has.
func (p *ControlPlane) Revision() (newest uint64) {
	for _, object := range p.informer.GetStore().List() {
		revision, _ := strconv.ParseUint(object.(*corev1.ConfigMap).ResourceVersion, 10, 64)
		newest = max(newest, revision)
	}
	return newest
}

// write creates ConfigMaps, and deletes each second one.
func (p *ControlPlane) write(ctx context.Context) {
	all := p.client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("written-%06d", i)
		if _, err := all.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err == nil {
			p.written.Add(1)
			if i%2 == 1 {
				_ = all.Delete(ctx, name, metav1.DeleteOptions{})
			}
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// Agrees waits until the informer has what a quorum of etcd has, and until the controllers work. The writer runs on, so both are read until they are equal.
func (p *ControlPlane) Agrees(t testing.TB) {
	t.Helper()
	begin := p.written.Load()
	kubetest.Eventually(t, "the kube-apiserver takes writes", func(context.Context) error {
		if p.written.Load() < begin+5 {
			return errors.New("no object is written")
		}
		return nil
	})
	kubetest.Eventually(t, "the informer has what etcd has", p.compare)
	p.controls(t)
}

func (p *ControlPlane) compare(ctx context.Context) error {
	listed, err := p.client.CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var have, want []string
	for _, object := range p.informer.GetStore().List() {
		c := object.(*corev1.ConfigMap)
		have = append(have, c.Name+" "+c.ResourceVersion)
	}
	for _, c := range listed.Items {
		want = append(want, c.Name+" "+c.ResourceVersion)
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		return fmt.Errorf("the informer has %d objects, etcd has %d", len(have), len(want))
	}
	return nil
}

// controls waits until the controllers have created the ServiceAccount of a new namespace.
func (p *ControlPlane) controls(t testing.TB) {
	t.Helper()
	p.checked++
	name := fmt.Sprintf("checked-%d", p.checked)
	kubetest.Eventually(t, "the controllers create the ServiceAccount of namespace "+name, func(ctx context.Context) error {
		_, _ = p.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}) // it may be there already
		_, err := p.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}
