package session

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// Looks asks each member at its metrics port, through the API server. A member that does not answer is left out.
func (w *World) Looks(ctx context.Context, c v1beta2.EtcdCluster) map[string]observed.Look {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found := map[string]observed.Look{}
	var lock sync.Mutex
	var all sync.WaitGroup
	for _, m := range c.Status.MemberStatuses {
		all.Go(func() {
			metrics, err := w.member(ctx, m.Name, "metrics")
			if err != nil {
				return
			}
			var health string
			if m.Version != "" && m.Version[:min(3, len(m.Version))] != "3.4" { // 3.4 writes each such request to its raft log
				health, _ = w.member(ctx, m.Name, "health")
			}
			lock.Lock()
			defer lock.Unlock()
			found[m.Name] = observed.ParseLook(metrics, health)
		})
	}
	all.Wait()
	return found
}

func (w *World) member(ctx context.Context, pod, path string) (string, error) {
	name := fmt.Sprintf("%s:%d", pod, v1beta2.MetricsPort)
	raw, err := w.Core.CoreV1().RESTClient().Get().Namespace(w.Namespace).Resource("pods").Name(name).SubResource("proxy").Suffix(path).
		Timeout(lookTimeout).Do(ctx).Raw()
	return string(raw), err
}

// certificates reads when the members' certificates expire. It needs the right to read their Secrets, and shows nothing
// without it.
func (w *World) certificates(ctx context.Context, c v1beta2.EtcdCluster) []observed.Certificate {
	var found []observed.Certificate
	for _, s := range []struct {
		used         bool
		kind, secret string
		keys         tlssecret.Keys
	}{
		{c.Spec.TLS.SecureClient(), "server", c.Spec.TLS.ServerSecret(c.Name), tlssecret.Server},
		{c.Spec.TLS.SecurePeer(), "peer", c.Spec.TLS.PeerSecret(c.Name), tlssecret.Peer},
	} {
		if !s.used {
			continue
		}
		secret, err := w.Core.CoreV1().Secrets(w.Namespace).Get(ctx, s.secret, metav1.GetOptions{})
		if err != nil {
			continue
		}
		if at, ok := expiry(s.keys.Of(secret.Data)[s.keys.Cert]); ok {
			found = append(found, observed.Certificate{Name: s.kind + " (Secret " + s.secret + ")", Expires: at})
		}
	}
	return found
}

func expiry(text []byte) (time.Time, bool) {
	block, _ := pem.Decode(text)
	if block == nil {
		return time.Time{}, false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return certificate.NotAfter, true
}

// lostNodes reads what is wrong with the nodes of members that do not serve. It needs the right to read nodes, and shows nothing
// without it.
func (w *World) lostNodes(ctx context.Context, c v1beta2.EtcdCluster, pods []corev1.Pod) map[string]string {
	lost := map[string]string{}
	for _, pod := range pods {
		serves := slices.ContainsFunc(c.Status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.Name == pod.Name && m.Ready })
		if serves || pod.Spec.NodeName == "" || lost[pod.Spec.NodeName] != "" {
			continue
		}
		node, err := w.Core.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
		if err != nil {
			continue
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				lost[node.Name] = cmp.Or(condition.Message, condition.Reason)
			}
		}
	}
	return lost
}
