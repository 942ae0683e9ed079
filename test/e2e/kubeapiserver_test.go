package e2e

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// apiserver is a real kube-apiserver that stores its objects in an EtcdCluster with TLS.
type apiserver struct {
	n       *namespaced
	dir     string
	args    []string
	address string
	client  kubernetes.Interface
	process *exec.Cmd
}

const apiserverToken = "e2e-only"

// kubeAPIServer starts a kube-apiserver on this machine. It connects to a forwarded port of the client Service under the
// name localhost, which is in the server's certificate. secret is the client TLS Secret of the cluster.
func (n *namespaced) kubeAPIServer(cluster string, secret map[string][]byte) *apiserver {
	n.Helper()
	a := &apiserver{n: n, dir: n.TempDir()}
	for name, content := range map[string][]byte{
		"client.crt": secret[v1beta2.ClientCertKey], "client.key": secret[v1beta2.ClientKeyKey], "ca.crt": secret[v1beta2.ClientCAKey],
		"token": []byte(apiserverToken + ",admin,1,system:masters\n"), "sa.key": newKey(n),
	} {
		if err := os.WriteFile(filepath.Join(a.dir, name), content, 0o600); err != nil {
			n.Fatal(err)
		}
	}
	a.address = n.freeAddress()
	_, port, _ := net.SplitHostPort(a.address)
	file := func(name string) string { return filepath.Join(a.dir, name) }
	a.args = []string{
		"--etcd-servers=https://localhost:" + n.forward(cluster), "--etcd-cafile=" + file("ca.crt"),
		"--etcd-certfile=" + file("client.crt"), "--etcd-keyfile=" + file("client.key"),
		"--cert-dir=" + file("serving"), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + port,
		"--service-account-issuer=https://e2e", "--service-account-signing-key-file=" + file("sa.key"), "--service-account-key-file=" + file("sa.key"),
		"--service-cluster-ip-range=10.250.0.0/24", "--authorization-mode=AlwaysAllow", "--token-auth-file=" + file("token"),
		"--disable-admission-plugins=ServiceAccount", "--shutdown-delay-duration=0s",
	}
	var err error
	a.client, err = kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + a.address, BearerToken: apiserverToken, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 100, Burst: 100,
	})
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(a.stop)
	a.start()
	return a
}

func (a *apiserver) start() {
	a.n.Helper()
	log, err := os.Create(filepath.Join(a.dir, "log"))
	if err != nil {
		a.n.Fatal(err)
	}
	a.process = exec.Command(filepath.Join(os.Getenv("TEST_BIN"), "kube-apiserver"), a.args...)
	a.process.Stdout, a.process.Stderr = log, log
	if err := errors.Join(a.process.Start(), log.Close()); err != nil {
		a.n.Fatal(err)
	}
	a.n.eventually("kube-apiserver on the EtcdCluster is ready", func(ctx context.Context) error {
		_, err := a.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

func (a *apiserver) stop() {
	if a.process == nil {
		return
	}
	_ = a.process.Process.Kill()
	_ = a.process.Wait()
	a.process = nil
	if a.n.Failed() {
		log, _ := os.ReadFile(filepath.Join(a.dir, "log"))
		a.n.Logf("the end of kube-apiserver's log:\n%s", log[max(0, len(log)-4000):])
	}
}

// informer watches the ConfigMaps of the namespace default, as a controller does.
func (a *apiserver) informer() listers.ConfigMapLister {
	a.n.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(a.client, 0, informers.WithNamespace("default"))
	lister := factory.Core().V1().ConfigMaps().Lister()
	factory.Start(a.n.Context().Done())
	factory.WaitForCacheSync(a.n.Context().Done())
	return lister
}

func (a *apiserver) write(names ...string) {
	a.n.Helper()
	for _, name := range names {
		a.n.eventuallyQuiet(func(ctx context.Context) error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"e2e": "true"}}}
			_, err := a.client.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil // an earlier try had no answer in time, and was carried out
			}
			return err
		})
	}
}

func (a *apiserver) remove(name string) {
	a.n.Helper()
	a.n.eventuallyQuiet(func(ctx context.Context) error {
		return client.IgnoreNotFound(a.client.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{})) // see write
	})
}

// sees waits until the informer has exactly these ConfigMaps.
func (a *apiserver) sees(lister listers.ConfigMapLister, want ...string) {
	a.n.Helper()
	a.n.eventually("the informer has the ConfigMaps "+strings.Join(want, ", "), func(context.Context) error {
		found, err := lister.List(labels.SelectorFromSet(labels.Set{"e2e": "true"}))
		if err != nil {
			return err
		}
		var names []string
		for _, object := range found {
			names = append(names, object.Name)
		}
		slices.Sort(names)
		if !slices.Equal(names, want) {
			return fmt.Errorf("it has %v", names)
		}
		return nil
	})
}

// forward listens on this machine and proxies each connection to the cluster's client Service.
func (n *namespaced) forward(cluster string) (port string) {
	n.Helper()
	address, err := suite.Address(n.Context(), n.name, cluster+"-client", 2379)
	if err != nil {
		n.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go pass(n.Context(), from, address)
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

func pass(ctx context.Context, from net.Conn, address string) {
	defer from.Close()
	to, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}

func (n *namespaced) freeAddress() string {
	n.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func newKey(n *namespaced) []byte {
	n.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		n.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}
