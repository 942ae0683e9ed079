package secrets

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A tenant had ten clusters with a hundred users each, and wrote 400 KiB into each of their Secrets. The passes of the namespace held all of them at the same time, and the
// operator ended. So it repaired the clusters of no other tenant.
func TestAPassHoldsFewBytesOfTheSecretsOfUsers(t *testing.T) {
	for name, test := range map[string]struct {
		size   int
		unique bool
	}{
		"large":             {400 << 10, true},
		"large, all alike":  {400 << 10, false},
		"as many as a few":  {60 << 10, true},
		"as they are":       {0, true},
		"with much besides": {2 << 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			const count = 40
			c := newCertified(t, count, 0, v1beta2.ManagedTLS{})
			for i, user := range c.state.Spec.Auth.Certified() {
				if test.size > 0 {
					c.fill(user, test.size, i, test.unique)
				}
			}
			v := c.pass(0)
			held := map[*byte]int{}
			for _, secret := range v.Material.Users {
				for _, content := range secret.Data {
					if len(content) > 0 {
						held[&content[0]] = len(content)
					}
				}
			}
			sum := 0
			for size := range maps.Values(held) {
				sum += size
			}
			if sum > maxOfUsers {
				t.Errorf("a pass holds %d KiB of the Secrets of users", sum>>10)
			}
			kept := c.s.Memory.OfView(v)
			if kept.own+kept.shared > maxOfCluster {
				t.Errorf("%d KiB are kept", (kept.own+kept.shared)>>10)
			}
			if all := test.size*count <= maxOfUsers/2 || !test.unique; all != (len(v.Material.Users) == count) || all != (len(v.UserCertificates.Unread) == 0) {
				t.Errorf("%d Secrets are read, and these are not: %q", len(v.Material.Users), v.UserCertificates.Unread)
			}
			if n := len(v.UserCertificates.Due); n > 0 && test.size == 0 {
				t.Errorf("%d certificates are due", n)
			}
			if test.size > 0 {
				return
			}
			before := c.reads.n
			if c.pass(time.Minute); c.reads.n > before {
				t.Errorf("%d Secrets are read again", c.reads.n-before)
			}
		})
	}
}

// fill writes more into a Secret of a user.
func (c *certified) fill(user string, size, i int, unique bool) {
	c.Helper()
	secret := &corev1.Secret{}
	if err := c.s.Client.Get(c.Context(), client.ObjectKey{Namespace: c.state.Namespace, Name: state.UserSecret(c.state, user)}, secret); err != nil {
		c.Fatal(err)
	}
	if junk := strings.Repeat("x", size); unique {
		secret.Data[v1beta2.ClientCAKey] = fmt.Append(secret.Data[v1beta2.ClientCAKey], i, junk)
	} else {
		secret.Data[v1beta2.ClientCAKey] = fmt.Append(secret.Data[v1beta2.ClientCAKey], junk)
	}
	if err := c.s.Client.Update(c.Context(), secret); err != nil {
		c.Fatal(err)
	}
}

func admitted(int) bool { return true }

// A Secret that is read again and again counts once, so it does not fill what is kept of the cluster.
func TestWhatIsReadAgainCountsOnce(t *testing.T) {
	k := keptReads{}
	key := client.ObjectKey{Namespace: "ns", Name: "a"}
	secret := &corev1.Secret{Data: map[string][]byte{"ca.crt": []byte(strings.Repeat("a CA", 1000)), "tls.key": []byte("short")}}
	for range 2000 {
		k.put(nameOfKept(secret, key), secret, admitted)
		k.drop(secret, key)
	}
	if k.large || k.own != 0 || k.shared != 4000 {
		t.Errorf("%d bytes of objects and %d of contents are counted, too large: %t", k.own, k.shared, k.large)
	}
}

// What is small enough to be kept filled the memory of the operator, because a cluster with a hundred users has three hundred Secrets and Certificates.
func TestFewBytesOfAClusterAreKept(t *testing.T) {
	for _, test := range []struct {
		size int
		all  bool
	}{{30 << 10, false}, {2 << 10, true}} {
		k, contents := keptReads{}, 0
		for i := range 300 {
			secret := &corev1.Secret{Data: map[string][]byte{"ca.crt": fmt.Append([]byte(strings.Repeat("x", test.size)), i)}}
			k.put(fmt.Sprint(i), secret, admitted)
		}
		for _, content := range k.contents {
			contents += len(content)
		}
		if contents > maxOfCluster || k.large == test.all || test.all != (len(k.objects) == 300) {
			t.Errorf("%d Secrets of %d KiB are kept, with %d KiB", len(k.objects), test.size>>10, contents>>10)
		}
	}
}
