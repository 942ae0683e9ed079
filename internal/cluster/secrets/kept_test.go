package secrets

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// budget returns a limiter that accepts that many reads during a test.
func budget(reads int) *rate.Limiter { return rate.NewLimiter(0, reads) }

// countedReads counts reads of an API server.
type countedReads struct {
	client.Client
	n int
}

func (c *countedReads) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	c.n++
	return c.Client.Get(ctx, key, into, options...)
}

// noneHangs is for members that answer or refuse.
func noneHangs(*view.View, string) bool { return false }

// readOnce is a Secret with a certificate, and a pass that reads it.
func readOnce(t *testing.T, left *rate.Limiter) (counted *countedReads, s *Secrets, pass func(change func(*view.View)) *view.View) {
	t.Helper()
	ca, err := pki.NewCA("ca", plantest.Noon, 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := secretsBeside(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}, Data: map[string][]byte{"tls.crt": ca.Cert}})
	counted = &countedReads{Client: r.Client}
	r.Client, r.Rereads = counted, left
	return counted, r, func(change func(*view.View)) *view.View {
		v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3)), Cluster: &v1beta2.EtcdCluster{}}
		v.Now = plantest.Noon
		change(v)
		r.Keep(v)
		if secret, err := r.secretOf(t.Context(), v, "example"); err != nil || len(secret.Data) != 1 {
			t.Fatalf("read %v, %v", secret, err)
		}
		return v
	}
}

func TestSecretsOfIdleClustersAreReadWithinABudget(t *testing.T) {
	counted, s, pass := readOnce(t, budget(1))
	for range 10 {
		s.Doubt(pass(func(*view.View) {}), steps.Done{}, nil, noneHangs)
	}
	if counted.n != 2 {
		t.Errorf("10 passes read the Secret %d times, expected once, and once more within the budget of 1", counted.n)
	}
}

func TestSecretsAreReadAgainWhenSomethingSuggestsAChange(t *testing.T) {
	for name, change := range map[string]struct {
		before func(*view.View)
		step   steps.Step
		err    error
	}{
		"the spec changed":                       {before: func(v *view.View) { v.Cluster.Generation = 2 }},
		"an annotation changed":                  {before: func(v *view.View) { v.Cluster.Annotations = map[string]string{"a": "b"} }},
		"a renewal is due":                       {before: func(v *view.View) { v.Now = plantest.Noon.Add(601 * time.Hour) }},
		"the operator acted":                     {step: steps.WriteCertificates{}},
		"the operator failed":                    {err: errors.New("x")},
		"a Secret is wrong":                      {before: func(v *view.View) { v.SecretProblem = "x" }},
		"a member does not answer":               {before: func(v *view.View) { v.Now, v.Members[0].Answers = plantest.Noon.Add(startingReads), false }},
		"a Pod starts":                           {before: func(v *view.View) { v.Now, v.Members[0].Pod = plantest.Noon.Add(startingReads), state.PodStarting }},
		"the operator created Pods":              {before: func(v *view.View) { v.Now = plantest.Noon.Add(startingReads) }, step: steps.CreateMembers{}},
		"a certificate is missing":               {before: func(v *view.View) { v.Certificates.Missing = true }},
		"cert-manager issues one":                {before: func(v *view.View) { v.Certificates.Unissued = "x" }},
		"the etcd user of the operator is wrong": {before: func(v *view.View) { v.Authentication.Problem = "x" }},
		"the members get another CA":             {before: func(v *view.View) { v.Certificates.Superseded = true }},
	} {
		counted, s, pass := readOnce(t, budget(0))
		s.Doubt(pass(func(*view.View) {}), steps.Done{}, nil, noneHangs)
		if change.before == nil {
			change.before = func(*view.View) {}
		}
		if change.step == nil {
			change.step = steps.Done{}
		}
		s.Doubt(pass(change.before), change.step, change.err, noneHangs)
		pass(change.before)
		if counted.n < 2 { // while a renewal is due, each pass reads
			t.Errorf("%s: the Secret was read %d times, expected another read", name, counted.n)
		}
	}
}

// A creation has about a dozen passes. Each read five Secrets again.
func TestAClusterThatStartsDoesNotReadItsSecretsInEveryPass(t *testing.T) {
	counted, s, pass := readOnce(t, budget(0))
	for range 10 {
		s.Doubt(pass(func(v *view.View) { v.Members[0].Pod = state.PodStarting }), steps.CreateMembers{}, nil, noneHangs)
	}
	if counted.n != 1 {
		t.Errorf("10 passes within %s read the Secret %d times, expected once", startingReads, counted.n)
	}
}

// judgedTwice returns the views of two passes over a cluster with the operator's certificates. It calls between after the
// first pass.
func judgedTwice(t *testing.T, between func(r *Secrets, v *view.View)) (first, second *view.View) {
	t.Helper()
	s := clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }, plantest.Secure)
	_, v := secretsBeside(t)
	v.State = s
	authority, err := material.NewCA(v.State)
	if err != nil {
		t.Fatal(err)
	}
	m := material.Material{CA: &material.Secret{Data: map[string][]byte{material.CACertKey: authority.Cert, material.CAKeyKey: authority.Key}}}
	objects := []client.Object{&corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", material.CASecret(v.State), nil), Data: m.CA.Data}}
	for _, u := range state.Usages {
		held, err := m.NewSecret(s, u, steps.WriteCertificates{})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", v.Name+u.Suffix, nil), Data: held.Data})
	}
	r, _ := secretsBeside(t, objects...)
	r.Rereads = budget(0)
	pass := func(now time.Time) *view.View {
		_, v := secretsBeside(t)
		v.State = s
		v.Now = now
		r.Keep(v)
		if err := r.Judge(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	first = pass(plantest.Noon)
	between(r, first)
	return first, pass(first.Now)
}

// Parsing and checking the certificates of an idle cluster took more than half of the time of a look.
func TestCertificatesThatDidNotChangeAreJudgedOnce(t *testing.T) {
	first, second := judgedTwice(t, func(r *Secrets, v *view.View) { r.Doubt(v, steps.Done{}, nil, noneHangs) })
	if first.TLS == nil || second.TLS != first.TLS {
		t.Error("the second look made another TLS configuration, so no TLS session resumes")
	}
	if second.Certificates != first.Certificates || second.ClientName != first.ClientName || second.Material.CA == nil {
		t.Errorf("the second look judged %+v, the first %+v", second.Certificates, first.Certificates)
	}
}

func TestCertificatesAreJudgedAgain(t *testing.T) {
	for name, between := range map[string]func(r *Secrets, v *view.View){
		"the operator wrote certificates": func(r *Secrets, v *view.View) { r.Doubt(v, steps.WriteCertificates{}, nil, noneHangs) },
		"ten minutes passed":              func(_ *Secrets, v *view.View) { v.Now = plantest.Noon.Add(judged) },
		"the spec changed":                func(r *Secrets, v *view.View) { r.Memory.OfView(v).generation-- },
	} {
		first, second := judgedTwice(t, between)
		if second.TLS == nil || second.TLS == first.TLS {
			t.Errorf("%s: the judgement of the first look was used again", name)
		}
	}
}

// A pass with members that have not answered yet ends before it marks its reads as doubtful.
func TestWhatIsWrongWithASecretIsNotForgottenWhileMembersHang(t *testing.T) {
	r, v := secretsBeside(t)
	r.Rereads = budget(0)
	v.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "absent", Member: &v1beta2.MemberSecret{ServerSecret: "absent"}}}
	for range 2 {
		v.SecretProblem = ""
		r.Keep(v)
		if err := r.Judge(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if v.SecretProblem == "" {
			t.Fatal("a Secret is missing, and a pass did not see it")
		}
	}
}

func TestAMemberThatHangsCausesNoReadsOfSecrets(t *testing.T) {
	counted, s, pass := readOnce(t, budget(0))
	for range 3 {
		v := pass(func(v *view.View) { v.Members[0].Answers = false })
		s.Doubt(v, steps.Wait{}, nil, func(_ *view.View, member string) bool { return member == v.Members[0].Name })
	}
	if counted.n != 1 {
		t.Errorf("the Secret was read %d times, expected once", counted.n)
	}
}

// A cluster whose hundred users have certificates read all its Secrets for the price of eleven.
func TestReadsOfManyObjectsAreOwed(t *testing.T) {
	r := &Secrets{Rereads: NewRereads()}
	read := 0
	const seconds = 3000
	for second := range seconds {
		if r.confirms(105, plantest.Noon.Add(time.Duration(second)*time.Second)) {
			read += 105
		}
	}
	if read > seconds+105 || read < seconds/2 {
		t.Errorf("%d objects were read in %d s, the limit is one in a second", read, seconds)
	}
}

// A cluster with cert-manager has nine objects. Reads were limited by cluster, so idle clusters with it cost 1.8 reads in a second.
func TestReadsThatOnlyConfirmAreLimitedByObject(t *testing.T) {
	r := &Secrets{Rereads: NewRereads()}
	read := map[int]int{}
	const seconds = 300
	for second := range seconds {
		for _, objects := range []int{5, 9, 5, 14} {
			if r.confirms(objects, plantest.Noon.Add(time.Duration(second)*time.Second)) {
				read[objects] += objects
			}
		}
	}
	if all := read[5] + read[9] + read[14]; all > seconds || all < seconds/2 {
		t.Errorf("%d objects were read in %d s, the limit is one in a second", all, seconds)
	}
	if r.confirms(0, plantest.Noon.Add(time.Hour)) {
		t.Error("a cluster without Secrets uses the budget")
	}
}

func TestTheSecretsOfAnEtcdClusterKeepTheirCAOnce(t *testing.T) {
	ca := strings.Repeat("a CA in PEM", minShared)
	secret := func(name, certificate string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", name, nil), Data: map[string][]byte{"ca.crt": []byte(ca), "tls.crt": []byte(certificate)}}
	}
	r, v := secretsBeside(t, secret("a", "of a"), secret("b", "of b"))
	var first *corev1.Secret
	for _, name := range []string{"a", "b", "b"} {
		got, err := r.secretOf(t.Context(), v, name)
		if err != nil || string(got.Data["ca.crt"]) != ca || string(got.Data["tls.crt"]) != "of "+name || !metav1.IsControlledBy(got, v.Cluster) {
			t.Fatalf("Secret %s is read as %+v, %v", name, got, err)
		}
		if first == nil {
			first = got
		} else if &got.Data["ca.crt"][0] != &first.Data["ca.crt"][0] {
			t.Error("the CA is kept twice")
		}
	}
	if len(r.Memory.OfView(v).objects) != 2 {
		t.Errorf("%d Secrets are kept, expected 2", len(r.Memory.OfView(v).objects))
	}
}
