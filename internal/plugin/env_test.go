package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/plugintest"
)

// A directory with a quote or a blank must not become a command of the shell that reads the lines.
func TestTheVariablesOfEtcdctlCanBeReadByAShell(t *testing.T) {
	c := plugintest.Healthy().Cluster
	want := `export ETCDCTL_API=3
export ETCDCTL_ENDPOINTS=https://localhost:2379
export ETCDCTL_CACERT='/tmp/it'\''s here/etcd-client-ca.crt'
export ETCDCTL_CERT='/tmp/it'\''s here/etcd-client.crt'
export ETCDCTL_KEY='/tmp/it'\''s here/etcd-client.key'
`
	if diff := cmp.Diff(want, Env(c, 2379, "/tmp/it's here")); diff != "" {
		t.Error(diff)
	}
	c.Spec.TLS = nil
	if got := Env(c, 12379, "/tmp"); got != "export ETCDCTL_API=3\nexport ETCDCTL_ENDPOINTS=http://localhost:12379\n" {
		t.Error(got)
	}
}

func TestASecretOfTheTypeOfKubernetesHasTheSameFiles(t *testing.T) {
	secret := &corev1.Secret{Data: map[string][]byte{"tls.crt": []byte("cert"), "tls.key": []byte("key"), "ca.crt": []byte("ca")}}
	files, err := ClientFiles(plugintest.Healthy().Cluster, secret)
	if err != nil || string(files[v1beta2.ClientCertKey]) != "cert" || string(files[v1beta2.ClientKeyKey]) != "key" || string(files[v1beta2.ClientCAKey]) != "ca" {
		t.Errorf("%v, %v", files, err)
	}
}

func TestASecretWithoutAKeyWritesNoFile(t *testing.T) {
	secret := &corev1.Secret{Data: map[string][]byte{v1beta2.ClientCAKey: []byte("ca"), v1beta2.ClientCertKey: []byte("cert")}}
	if files, err := ClientFiles(plugintest.Healthy().Cluster, secret); err == nil || files != nil || !strings.Contains(err.Error(), v1beta2.ClientKeyKey) {
		t.Errorf("%v, %v", files, err)
	}
}
