package killer_test

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func lasting(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// The client of this test reads its Secret for each request.
func TestCertificatesAndCAAreReplacedIfTheOperatorIsKilledAtEveryCall(t *testing.T) {
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer, TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{
		Duration: lasting(time.Hour), RenewBefore: lasting(10 * time.Minute), CAOverlap: lasting(0),
	}}})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.step("forming a cluster with certificates", func(b *bench) { b.convergeWithKills(b.isReady) })
	first := b.secret("-ca")["ca.crt"]

	b.step("renewing its certificates without a restart", func(b *bench) {
		pods, before := b.uids(), string(b.secret(v1beta2.ServerSecretSuffix)[v1beta2.ServerCertKey])
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.TLS.Managed.RenewBefore = lasting(time.Hour - time.Second) })
		b.operate(&killer.Count{}, "renew the certificates", func() error {
			if string(b.secret(v1beta2.ServerSecretSuffix)[v1beta2.ServerCertKey]) == before {
				return errors.New("the Secret still has the old certificate")
			}
			return nil
		})
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.TLS.Managed.RenewBefore = lasting(10 * time.Minute) })
		b.convergeWithKills(func() error { return errors.Join(b.isReady(), b.serveCurrentCertificates()) })
		if diff := cmp.Diff(pods, b.uids()); diff != "" {
			b.Errorf("the renewal restarted members (-before +after):\n%s", diff)
		}
	})
	b.step("replacing the CA", func(b *bench) {
		kubetest.MustKubectl(b, "", "annotate", "etcdcluster/"+b.cluster.Name, "-n", b.cluster.Namespace, v1beta2.AnnotationRotateCA+"=now")
		b.convergeWithKills(func() error {
			return errors.Join(b.caReplaced(string(first)), b.isReady(), b.serveCurrentCertificates())
		})
	})
	b.step("giving a CA of an earlier release the keys for others", func(b *bench) {
		pods := b.uids()
		kubetest.MustKubectl(b, "", "patch", "secret/"+b.cluster.Name+"-ca", "-n", b.cluster.Namespace, "--type=merge", "-p", `{"data":{"tls.crt":null,"tls.key":null}}`)
		b.convergeWithKills(func() error { return errors.Join(b.caHandedOut(), b.isReady()) })
		if diff := cmp.Diff(pods, b.uids()); diff != "" {
			b.Errorf("that restarted members (-before +after):\n%s", diff)
		}
	})
}

// caHandedOut returns no error if others sign with the CA of the cluster.
func (b *bench) caHandedOut() error {
	ca := b.secret("-ca")
	if len(ca["tls.crt"]) == 0 || string(ca["tls.crt"]) != string(ca["ca.crt"]) || string(ca["tls.key"]) != string(ca["ca.key"]) {
		return errors.New("others do not sign with the CA of the cluster")
	}
	return nil
}

// secret returns the data of one of the cluster's Secrets, or nothing if it does not exist.
func (b *bench) secret(suffix string) map[string][]byte {
	var secret corev1.Secret
	_ = b.client.Get(b.Context(), client.ObjectKey{Namespace: b.cluster.Namespace, Name: b.cluster.Name + suffix}, &secret)
	return secret.Data
}

func (b *bench) list() []corev1.Pod {
	var pods corev1.PodList
	if err := b.client.List(b.Context(), &pods, client.InNamespace(b.cluster.Namespace)); err != nil {
		b.Fatal(err)
	}
	return pods.Items
}

func (b *bench) uids() map[string]string {
	uids := map[string]string{}
	for _, pod := range b.list() {
		uids[pod.Name] = string(pod.UID)
	}
	return uids
}

// caReplaced returns no error if no Secret contains the old CA.
func (b *bench) caReplaced(before string) error {
	ca := b.secret("-ca")
	if string(ca["ca.crt"]) == before || len(ca["previous-ca.crt"]) > 0 {
		return errors.New("the Secret of the CA still contains the old one")
	}
	for suffix, key := range map[string]string{
		v1beta2.PeerSecretSuffix: v1beta2.PeerCAKey, v1beta2.ServerSecretSuffix: v1beta2.ServerCAKey, v1beta2.ClientSecretSuffix: v1beta2.ClientCAKey,
		v1beta2.OperatorSecretSuffix: v1beta2.ClientCAKey,
	} {
		if string(b.secret(suffix)[key]) != string(ca["ca.crt"]) {
			return fmt.Errorf("Secret %s%s contains a different CA bundle", b.cluster.Name, suffix)
		}
	}
	return b.caHandedOut()
}

// serveCurrentCertificates returns no error if every member serves the certificates of its Secrets.
func (b *bench) serveCurrentCertificates() error {
	for _, pod := range b.list() {
		for _, port := range []struct {
			number      int32
			suffix, key string
		}{{v1beta2.ClientPort, v1beta2.ServerSecretSuffix, v1beta2.ServerCertKey}, {v1beta2.PeerPort, v1beta2.PeerSecretSuffix, v1beta2.PeerCertKey}} {
			held, err := pki.ParseCertificate(b.secret(port.suffix)[port.key])
			if err != nil {
				return err
			}
			shown, err := etcd.Shown(b.Context(), net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.number))))
			if err != nil {
				return err
			}
			if !shown.Equal(held) {
				return fmt.Errorf("member %s serves a different certificate on port %d", pod.Name, port.number)
			}
		}
	}
	return nil
}
