package hostile

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// clusterLimit is the memory of cluster-operator's container in the chart.
const clusterLimit = 512 << 20

// clusters has cluster-operator as a program of its own, and two namespaces.
type clusters struct {
	*testing.T
	good, bad string
	hostile   []*v1beta2.EtcdCluster
}

// One namespace that ends the shared operator, or holds its places, keeps the clusters of all others from being created and repaired.
func TestTwentyHostileClustersTakeNeitherTheMemoryNorTheTimeOfAnotherNamespace(t *testing.T) {
	c := &clusters{T: t, good: kubetest.Namespace(t), bad: kubetest.Namespace(t)}
	operator := start(t, "cluster-operator", clusterLimit, "--watch-namespaces="+c.good+","+c.bad)
	used := peak(operator)
	alone := c.times("alone")
	c.attack()
	attacked := c.times("attacked")
	compare(t, "median until the first Pod of a cluster", alone[rounds/2], attacked[rounds/2], noise)
	compare(t, "first third of the times until the first Pod", alone[rounds/3], attacked[rounds/3], littleNoise)
	c.tried()
	most := used()
	t.Logf("cluster-operator: at most %d MiB", most>>20)
	if most > clusterLimit {
		t.Errorf("cluster-operator needed %d MiB, and its container has %d MiB", most>>20, clusterLimit>>20)
	}
}

// start starts an operator as the chart does. It logs the end of its log if the test fails.
func start(t *testing.T, name string, limit int64, flags ...string) *fleet.Program {
	t.Setenv("GOMEMLIMIT", fmt.Sprint(limit))
	installed := fleet.Build(t, name)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", name, installed.Log())
		}
	})
	return installed.Start(t, flags...)
}

// times returns how long it takes until the first Pod of a cluster with managed certificates exists, the shortest first.
func (c *clusters) times(when string) (all []time.Duration) {
	c.Helper()
	for i := range rounds {
		cluster := c.cluster(c.good, fmt.Sprintf("%s-%d", when, i))
		cluster.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
		begin := time.Now()
		kubetest.Create(c, cluster)
		c.pod(cluster)
		all = append(all, time.Since(begin))
	}
	c.Logf("%s: %v", when, all)
	slices.Sort(all)
	return all
}

func (c *clusters) cluster(namespace, name string) *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16", Pod: &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
}

// pod waits for a Pod of a cluster.
func (c *clusters) pod(of *v1beta2.EtcdCluster) *corev1.Pod {
	c.Helper()
	var pods corev1.PodList
	kubetest.Eventually(c, "a Pod of "+of.Name+" exists", func(ctx context.Context) error {
		err := kubetest.Client(c).List(ctx, &pods, client.InNamespace(of.Namespace), client.MatchingLabels{v1beta2.LabelCluster: of.Name})
		if err == nil && len(pods.Items) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	return &pods.Items[0]
}

// attack creates 20 clusters, each of which has its own way to take the operator's memory, time or places.
func (c *clusters) attack() {
	authorities := manyCAs(c.T)
	for i := range 5 {
		c.hostile = append(c.hostile,
			c.secured(fmt.Sprintf("many-%d", i), authorities),
			c.secured(fmt.Sprintf("large-%d", i), []byte(strings.Repeat("a", 900<<10))),
			c.cluster(c.bad, fmt.Sprintf("annotated-%d", i)),
			c.cluster(c.bad, fmt.Sprintf("endless-%d", i)))
		c.hostile[4*i+2].Spec.Pod.Annotations = map[string]string{"large": strings.Repeat("a", 200<<10)}
	}
	for _, cluster := range c.hostile {
		kubetest.Create(c, cluster)
	}
	for i := range 5 {
		c.answer(c.pod(c.hostile[4*i+3]), fmt.Sprintf("127.77.77.%d", i+1))
	}
}

// secured returns a cluster whose Secrets contain certificates that somebody has written.
func (c *clusters) secured(name string, authorities []byte) *v1beta2.EtcdCluster {
	cluster := c.cluster(c.bad, name)
	cluster.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: name, ServerSecret: name}, OperatorSecret: name}}
	data := map[string][]byte{}
	for _, key := range []string{v1beta2.PeerCAKey, v1beta2.PeerCertKey, v1beta2.ServerCertKey, v1beta2.ClientCertKey} {
		data[key] = authorities
		if len(authorities) > 256<<10 {
			break // a Secret has 1 MiB
		}
	}
	kubetest.Create(c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.bad, Name: name}, Data: data})
	return cluster
}

// manyCAs are as many as the operator compares.
func manyCAs(t *testing.T) (all []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i)), Subject: pkix.Name{CommonName: "a CA"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		}
		certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})...)
	}
	return all
}

// answer makes a Pod one that runs a server that answers each call of the operator without an end, as an image of a tenant may do.
func (c *clusters) answer(pod *corev1.Pod, address string) {
	c.Helper()
	listener, err := new(net.ListenConfig).Listen(c.Context(), "tcp4", fmt.Sprintf("%s:%d", address, v1beta2.ClientPort))
	if err != nil {
		c.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		for _, err := w.Write([]byte{0, 0, 0x3f, 0xff, 0xff}); err == nil && r.Context().Err() == nil; { // a message of almost 4 MiB
			_, err = w.Write([]byte(piece))
		}
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	c.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	before := pod.DeepCopy()
	now, started := metav1.Now(), true
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}, StartTime: &now}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	if err := kubetest.Client(c).Status().Patch(c.Context(), pod, client.MergeFrom(before)); err != nil {
		c.Fatal(err)
	}
}

// tried waits until the operator has reported each hostile cluster, so that the measured memory contains each of them.
func (c *clusters) tried() {
	c.Helper()
	for _, cluster := range c.hostile {
		kubetest.Await(c, cluster, "be reported", func(e *v1beta2.EtcdCluster) bool {
			return meta.FindStatusCondition(e.Status.Conditions, v1beta2.ConditionAvailable) != nil
		})
	}
}
