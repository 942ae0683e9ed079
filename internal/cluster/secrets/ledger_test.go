package secrets

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// pass is one that reads that many Secrets of 60 KiB of an EtcdCluster.
func pass(s *Secrets, namespace, name string, count int) (kept int) {
	v := &view.View{Cluster: &v1beta2.EtcdCluster{}}
	v.Namespace, v.Name, v.UID = namespace, name, types.UID(name)
	s.Keep(v)
	for i := range count {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint(i)}, Data: map[string][]byte{"ca.crt": bytes.Repeat([]byte{byte(i)}, 60<<10)}}
		s.keep(v, nameOfKept(secret, client.ObjectKeyFromObject(secret)), secret)
	}
	k := s.Memory.OfView(v)
	return k.own + k.shared
}

// A tenant had three hundred EtcdClusters that named the same thirty Secrets. Each cluster kept its own copy, which were 600 MiB of the 512 MiB that cluster-operator has. Then
// it repaired the clusters of no other tenant.
func TestTheSecretsOfManyClustersTakeBoundedMemory(t *testing.T) {
	s := &Secrets{Ledger: NewLedger()}
	all := 0
	for n := range 300 {
		all += pass(s, "hostile", fmt.Sprint(n), 30)
	}
	if most := KeptMemory/judgedTimes + 300*(usualOfCluster+(64<<10)); all > most {
		t.Errorf("300 clusters keep %d MiB, and the bound is %d MiB", all>>20, most>>20)
	}
	if kept := pass(s, "other", "usual", 4); kept < 4*60<<10 {
		t.Errorf("a cluster of another namespace keeps %d KiB of 240 KiB", kept>>10)
	}
	before := s.Ledger.budget.Used()
	for range 3 {
		pass(s, "hostile", "0", 30)
	}
	if after := s.Ledger.budget.Used(); after > before {
		t.Errorf("%d KiB are in use after passes that read the same, and %d KiB before", after>>10, before>>10)
	}
	for n := range 300 {
		s.Forget(types.NamespacedName{Namespace: "hostile", Name: fmt.Sprint(n)})
	}
	s.Forget(types.NamespacedName{Namespace: "other", Name: "usual"})
	if used := s.Ledger.budget.Used(); used != 0 || len(s.Ledger.taken) > 0 {
		t.Errorf("%d KiB are in use after all clusters were deleted", used>>10)
	}
}

// What a pass holds: the Secrets of users, and what it reads of others while one object of a tenant is decoded.
const (
	base     = 160 << 20 // a thousand clusters, see docs/sizing.md
	ofPass   = maxOfUsers + 5*(512<<10)
	decoding = 3 * 8 << 20
)

// Each bound of cluster-operator fitted into its container, and there was no sum of them.
func TestTheBudgetsOfClusterOperatorFitIntoItsContainer(t *testing.T) {
	content, err := os.ReadFile("../../../charts/etcd-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		ClusterOperator struct {
			Resources struct{ Limits struct{ Memory string } }
		}
	}
	if err := yaml.Unmarshal(content, &values); err != nil {
		t.Fatal(err)
	}
	limit := resource.MustParse(values.ClusterOperator.Resources.Limits.Memory)
	if sum := int64(base + KeptMemory + queue.Concurrency*ofPass + decoding); sum > limit.Value()/10*9 {
		t.Errorf("a thousand clusters, what they keep of Secrets, and the passes take %d MiB of %d MiB", sum>>20, limit.Value()>>20)
	}
}
