package servers

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// APIServer is a kube-apiserver on an etcd of the caller.
type APIServer struct {
	*Process
	dir string
	// Config connects to it as an administrator.
	Config *rest.Config
}

// KubeAPIServer starts a kube-apiserver. flags are those about its etcd.
func KubeAPIServer(t testing.TB, flags ...string) *APIServer {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "accounts.key")
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("test,admin,admin,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	s := &APIServer{dir: dir, Config: &rest.Config{Host: fmt.Sprintf("https://127.0.0.1:%d", port), BearerToken: "test", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}}
	s.Process = newProcess(t, "kube-apiserver", Program(t, "kube-apiserver"), nil, append([]string{
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir=" + dir, "--authorization-mode=AlwaysAllow", "--token-auth-file=" + tokens,
		"--service-account-issuer=https://test", "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
	}, flags...)...)
	s.Start()
	return s
}

// KubeControllerManager starts the controllers of a kube-apiserver.
func KubeControllerManager(t testing.TB, s *APIServer) *Process {
	t.Helper()
	kubeconfig := filepath.Join(s.dir, "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: s.Config.Host, InsecureSkipTLSVerify: true}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: s.Config.BearerToken}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, "kube-controller-manager", Program(t, "kube-controller-manager"), nil,
		"--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", "--cert-dir="+s.dir, "--flex-volume-plugin-dir="+filepath.Join(s.dir, "volume-plugins"),
		"--controllers=*,-node-lifecycle-controller,-node-ipam-controller", "--kube-api-qps=100")
	p.Start()
	return p
}
