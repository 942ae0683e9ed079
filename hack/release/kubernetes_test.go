package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// startKubernetes starts etcd and a kube-apiserver without nodes, and returns a kubeconfig of an administrator.
func startKubernetes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	accounts := write("accounts.pem", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	store, peers, secure := "http://"+free(t), "http://"+free(t), free(t)
	_, port, _ := net.SplitHostPort(secure)
	start(t, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level", "error",
		"--listen-client-urls", store, "--advertise-client-urls", store, "--listen-peer-urls", peers,
		"--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)
	start(t, "kube-apiserver", "--etcd-servers", store, "--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", dir,
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", accounts, "--service-account-signing-key-file", accounts,
		"--authorization-mode", "RBAC", "--token-auth-file", write("tokens.csv", "secret,admin,admin,system:masters\n"),
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount")
	kubeconfig := write("kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://%s", insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: secret}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`, secure))
	ready(t, kubeconfig)
	return kubeconfig
}

// ready waits until the API server answers. It needs seconds, and much longer beside a compiler on two cores.
func ready(t *testing.T, kubeconfig string) {
	t.Helper()
	ticker, limit := time.NewTicker(500*time.Millisecond), time.After(2*time.Minute)
	defer ticker.Stop()
	for {
		out, err := exec.CommandContext(t.Context(), program(t, "kubectl"), "--kubeconfig", kubeconfig, "get", "--raw", "/readyz").CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("kube-apiserver is not ready: %v\n%s", err, out)
		}
	}
}

// start runs a program of TEST_BIN until the test ends, even if the test is killed.
func start(t *testing.T, name string, args ...string) {
	t.Helper()
	path := program(t, name)
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		path, args = setpriv, append([]string{"--pdeathsig", "KILL", path}, args...)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended it
}

// free returns an address on loopback that no program listens at.
func free(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
