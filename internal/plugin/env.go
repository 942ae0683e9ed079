package plugin

import (
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// ClientFiles returns the files of a client with their variables of etcdctl, from its Secret. Without TLS there are none.
func ClientFiles(c v1beta2.EtcdCluster, secret *corev1.Secret) (map[string][]byte, error) {
	if !c.Spec.TLS.SecureClient() {
		return nil, nil //nolint:nilnil // there is no file to write
	}
	if problem := tlssecret.Client.Problem(secret.Name, secret.Data); problem != "" {
		return nil, fmt.Errorf("%s Nothing was written. See kubectl etcd status %s", problem, c.Name)
	}
	return tlssecret.Client.Of(secret.Data), nil
}

// variables of etcdctl by the key of the Secret whose file they name.
var variables = []struct{ name, key string }{
	{"ETCDCTL_CACERT", v1beta2.ClientCAKey}, {"ETCDCTL_CERT", v1beta2.ClientCertKey}, {"ETCDCTL_KEY", v1beta2.ClientKeyKey},
}

// Env returns the lines for a shell that let etcdctl use a cluster by an address of this machine.
func Env(c v1beta2.EtcdCluster, port uint16, directory string) string {
	scheme := "http"
	if c.Spec.TLS.SecureClient() {
		scheme = "https"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "export ETCDCTL_API=3\nexport ETCDCTL_ENDPOINTS=%s://localhost:%d\n", scheme, port)
	if c.Spec.TLS.SecureClient() {
		for _, v := range variables {
			fmt.Fprintf(&text, "export %s=%s\n", v.name, quoted(filepath.Join(directory, v.key)))
		}
	}
	return text.String()
}

// quoted returns a word as a shell reads it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
