package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// budget accepts as many reads as it has.
type budget int

func (b *budget) TryAccept() bool { *b--; return *b >= 0 }
func (b *budget) Stop()           {}
func (b *budget) QPS() float32    { return 0 }

// countedReads counts reads of an API server.
type countedReads struct {
	client.Client
	n int
}

func (c *countedReads) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	c.n++
	return c.Client.Get(ctx, key, into, options...)
}

// readOnce is a Secret with a certificate, and a pass that reads it.
func readOnce(t *testing.T, left *budget) (counted *countedReads, pass func(change func(*view)) *view) {
	t.Helper()
	ca, err := pki.NewCA("ca", noon, 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := beside(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}, Data: map[string][]byte{"tls.crt": ca.Cert}})
	counted = &countedReads{Client: r.Client}
	r.Client, r.rereads = counted, left
	known := &remembered{}
	return counted, func(change func(*view)) *view {
		v := &view{State: state(formed, members(3)), cluster: &v1beta2.EtcdCluster{}, known: known}
		v.Now = noon
		change(v)
		r.keep(v)
		var secret corev1.Secret
		if err := r.reads(v).Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "example"}, &secret); err != nil || len(secret.Data) != 1 {
			t.Fatalf("read %v, %v", secret, err)
		}
		return v
	}
}

func TestSecretsOfIdleClustersAreReadWithinABudget(t *testing.T) {
	left := budget(1)
	counted, pass := readOnce(t, &left)
	for range 10 {
		pass(func(*view) {}).doubt(plan.Done{}, nil)
	}
	if counted.n != 2 {
		t.Errorf("10 passes read the Secret %d times, expected once, and once more within the budget of 1", counted.n)
	}
}

func TestSecretsAreReadAgainWhenSomethingSuggestsAChange(t *testing.T) {
	for name, change := range map[string]struct {
		before func(*view)
		step   plan.Step
		err    error
	}{
		"the spec changed":           {before: func(v *view) { v.cluster.Generation = 2 }},
		"an annotation changed":      {before: func(v *view) { v.cluster.Annotations = map[string]string{"a": "b"} }},
		"a renewal is due":           {before: func(v *view) { v.Now = noon.Add(601 * time.Hour) }},
		"the operator acted":         {step: plan.WriteCertificates{}},
		"the operator failed":        {err: errors.New("x")},
		"a Secret is wrong":          {before: func(v *view) { v.SecretProblem = "x" }},
		"a member refuses":           {before: func(v *view) { v.Members[0].Answers = false }},
		"a Pod starts":               {before: func(v *view) { v.Members[0].Pod = plan.PodStarting }},
		"a certificate is missing":   {before: func(v *view) { v.Certificates.Missing = true }},
		"cert-manager issues one":    {before: func(v *view) { v.Certificates.Unissued = "x" }},
		"the user of etcd is wrong":  {before: func(v *view) { v.Authentication.Problem = "x" }},
		"members get another CA now": {before: func(v *view) { v.Certificates.Superseded = true }},
	} {
		var none budget
		counted, pass := readOnce(t, &none)
		pass(func(*view) {}).doubt(plan.Done{}, nil)
		if change.before == nil {
			change.before = func(*view) {}
		}
		if change.step == nil {
			change.step = plan.Done{}
		}
		pass(change.before).doubt(change.step, change.err)
		pass(change.before)
		if counted.n < 2 { // while a renewal is due, each pass reads
			t.Errorf("%s: the Secret was read %d times, expected another read", name, counted.n)
		}
	}
}

func TestAMemberThatHangsCausesNoReadsOfSecrets(t *testing.T) {
	var none budget
	counted, pass := readOnce(t, &none)
	for range 3 {
		v := pass(func(v *view) { v.Members[0].Answers = false })
		v.known.questions = map[string]*question{v.Members[0].Name: {hung: true}}
		v.doubt(plan.Wait{}, nil)
	}
	if counted.n != 1 {
		t.Errorf("the Secret was read %d times, expected once", counted.n)
	}
}
