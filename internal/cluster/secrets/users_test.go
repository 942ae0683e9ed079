package secrets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// certified is an EtcdCluster with TLS.managed and users with certificates.
type certified struct {
	*testing.T
	s     *Secrets
	reads *countedReads
	state state.State
}

// newCertified returns a cluster whose users got their certificates some time before those of the cluster, user 0 first.
func newCertified(t *testing.T, users int, earlier time.Duration, managed v1beta2.ManagedTLS) *certified {
	t.Helper()
	c := &certified{T: t, state: clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) {
		s.Spec.TLS, s.Spec.Auth = &v1beta2.TLSPolicy{Managed: &managed}, &v1beta2.AuthPolicy{}
		for i := range users {
			s.Spec.Auth.Users = append(s.Spec.Auth.Users, v1beta2.AuthUser{Name: fmt.Sprintf("user-%d", i), Certificate: &v1beta2.AuthCertificate{}})
		}
	}, plantest.Secure)}
	then := c.state
	then.Now = then.Now.Add(-earlier)
	authority, err := material.NewCA(then)
	if err != nil {
		t.Fatal(err)
	}
	m := material.Material{CA: &material.Secret{Data: map[string][]byte{material.CACertKey: authority.Cert, material.CAKeyKey: authority.Key}}, HandedOut: map[string]*material.Secret{}}
	objects := []client.Object{&corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", material.CASecret(then), nil), Data: m.CA.Data}}
	add := func(name string, held *material.Secret, err error) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", name, nil), Data: held.Data})
	}
	for _, u := range state.Usages {
		m.HandedOut[u.Name], err = m.NewSecret(c.state, u, steps.WriteCertificates{})
		add(c.state.Name+u.Suffix, m.HandedOut[u.Name], err)
	}
	for _, user := range c.state.Spec.Auth.Certified() {
		held, err := material.NewUserSecret(m, then, user, steps.WriteUserCertificates{})
		add(state.UserSecret(c.state, user), held, err)
	}
	c.s, _ = secretsBeside(t, objects...)
	c.reads = &countedReads{Client: c.s.Client}
	c.s.Client, c.s.Rereads = c.reads, budget(0)
	return c
}

// pass returns what a pass reads at some time after the certificates of the cluster were issued.
func (c *certified) pass(after time.Duration, change ...func(*view.View)) *view.View {
	c.Helper()
	_, v := secretsBeside(c.T)
	v.State = c.state
	v.Now = v.Now.Add(after)
	for _, change := range change {
		change(v)
	}
	c.s.Keep(v)
	if err := c.s.Judge(c.Context(), v); err != nil {
		c.Fatal(err)
	}
	c.s.Doubt(v, steps.Done{}, nil, noneHangs)
	return v
}

// Between 60 and 67 % of the lifetime of a certificate, each pass read all Secrets. With 100 users that have been added at different times, that was always so.
func TestACertificateOfAUserCausesNoReadsBeforeItIsDue(t *testing.T) {
	c := newCertified(t, 3, 57*24*time.Hour, v1beta2.ManagedTLS{})
	for range 10 {
		if v := c.pass(0); len(v.UserCertificates.Due) > 0 {
			t.Fatalf("due are %v", v.UserCertificates.Due)
		}
	}
	if c.reads.n > 8 {
		t.Errorf("ten passes read %d Secrets, the cluster has 8", c.reads.n)
	}
	if v := c.pass(4 * 24 * time.Hour); len(v.UserCertificates.Due) != 3 {
		t.Errorf("due are %v after 61 days", v.UserCertificates.Due)
	}
}

// A certificate that is valid for a few minutes is renewed in time, although a judgement is kept for 10 minutes.
func TestAShortCertificateOfAUserIsFoundDueInTime(t *testing.T) {
	c := newCertified(t, 1, 2*time.Minute, v1beta2.ManagedTLS{Duration: &metav1.Duration{Duration: 10 * time.Minute}, RenewBefore: &metav1.Duration{Duration: 2 * time.Minute}})
	if v := c.pass(0); len(v.UserCertificates.Due) > 0 {
		t.Fatalf("due are %v", v.UserCertificates.Due)
	}
	if v := c.pass(6 * time.Minute); len(v.UserCertificates.Due) != 1 {
		t.Error("it is not due after eight of ten minutes")
	}
}

// While a member started, each pass read the Secrets of all users. The members need none of them.
func TestAMemberThatStartsCausesNoReadsOfSecretsOfUsers(t *testing.T) {
	c := newCertified(t, 20, 0, v1beta2.ManagedTLS{})
	for i := range 10 {
		v := c.pass(time.Duration(i)*10*time.Second, func(v *view.View) { v.Members[0].Pod = state.PodStarting })
		if len(v.Material.Users) != 20 || len(v.UserCertificates.Due) > 0 {
			t.Fatalf("%d Secrets of users are known, due are %v", len(v.Material.Users), v.UserCertificates.Due)
		}
	}
	if c.reads.n > 20+10*5 {
		t.Errorf("ten passes read %d Secrets, the cluster has 5 and 20 of users", c.reads.n)
	}
	if v := c.pass(61 * 24 * time.Hour); len(v.UserCertificates.Due) != 20 {
		t.Errorf("%d are due after 61 days", len(v.UserCertificates.Due))
	}
}

// oneFails is an API server that cannot decrypt one Secret.
type oneFails struct {
	client.Client
	name string
}

func (f *oneFails) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if key.Name == f.name {
		return errors.New("Internal error occurred: unable to transform key")
	}
	return f.Client.Get(ctx, key, into, options...)
}

// The operator could not read the Secret of a user. It did not connect to the members, and no rule that repairs was asked.
func TestASecretOfAUserThatCannotBeReadKeepsTheClusterFromNothing(t *testing.T) {
	for name, change := range map[string]func(c *certified){
		"the API server fails": func(c *certified) { c.s.Client = &oneFails{c.s.Client, "example-user-0-tls"} },
		"it has too many keys": func(c *certified) {
			var secret corev1.Secret
			if err := c.s.Client.Get(c.Context(), client.ObjectKey{Namespace: "ns", Name: "example-user-0-tls"}, &secret); err != nil {
				c.Fatal(err)
			}
			for i := range 65 {
				secret.Data[fmt.Sprintf("key-%d", i)] = nil
			}
			if err := c.s.Client.Update(c.Context(), &secret); err != nil {
				c.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCertified(t, 2, 61*24*time.Hour, v1beta2.ManagedTLS{})
			change(c)
			for range 2 {
				v := c.pass(0)
				if v.TLS == nil || v.SecretProblem != "" {
					t.Errorf("TLS to the members: %t, %s", v.TLS != nil, v.SecretProblem)
				}
				if due := v.UserCertificates.Due; len(due) != 1 || due[0].User != "user-1" {
					t.Errorf("due are %v, want that of the other user", due)
				}
				v.MembershipKnown = true
				if said, is := certificates.UncertifiedUsers(v.State).(steps.Wait); !is || !strings.Contains(said.Message, "example-user-0-tls") {
					t.Errorf("the status says %q", said.Message)
				}
			}
		})
	}
}

// A person deleted the Secret that had the name of that of a user. The operator saw the deleted one for hours.
func TestASecretOfAnotherOwnerIsNotKept(t *testing.T) {
	c := newCertified(t, 1, 0, v1beta2.ManagedTLS{})
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: "ns", Name: "example-user-0-tls"}
	if err := c.s.Client.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	secret.OwnerReferences = nil
	if err := c.s.Client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if v := c.pass(0); len(v.UserCertificates.Taken) != 1 {
		t.Fatalf("taken are %v", v.UserCertificates.Taken)
	}
	if err := c.s.Client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if v := c.pass(judged); len(v.UserCertificates.Taken) != 0 || len(v.UserCertificates.Due) != 1 {
		t.Errorf("the Secret is deleted, and taken are %v, due are %v", v.UserCertificates.Taken, v.UserCertificates.Due)
	}
}
