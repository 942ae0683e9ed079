package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
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

// readOnce is a Secret with a certificate, and a pass that reads it.
func readOnce(t *testing.T, left *rate.Limiter) (counted *countedReads, pass func(change func(*view)) *view) {
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
	counted, pass := readOnce(t, budget(1))
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
		"the spec changed":                       {before: func(v *view) { v.cluster.Generation = 2 }},
		"an annotation changed":                  {before: func(v *view) { v.cluster.Annotations = map[string]string{"a": "b"} }},
		"a renewal is due":                       {before: func(v *view) { v.Now = noon.Add(601 * time.Hour) }},
		"the operator acted":                     {step: plan.WriteCertificates{}},
		"the operator failed":                    {err: errors.New("x")},
		"a Secret is wrong":                      {before: func(v *view) { v.SecretProblem = "x" }},
		"a member does not answer":               {before: func(v *view) { v.Now, v.Members[0].Answers = noon.Add(startingReads), false }},
		"a Pod starts":                           {before: func(v *view) { v.Now, v.Members[0].Pod = noon.Add(startingReads), plan.PodStarting }},
		"the operator created Pods":              {before: func(v *view) { v.Now = noon.Add(startingReads) }, step: plan.CreateMembers{}},
		"a certificate is missing":               {before: func(v *view) { v.Certificates.Missing = true }},
		"cert-manager issues one":                {before: func(v *view) { v.Certificates.Unissued = "x" }},
		"the etcd user of the operator is wrong": {before: func(v *view) { v.Authentication.Problem = "x" }},
		"the members get another CA":             {before: func(v *view) { v.Certificates.Superseded = true }},
	} {
		counted, pass := readOnce(t, budget(0))
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

// A creation has about a dozen passes. Each read five Secrets again.
func TestAClusterThatStartsDoesNotReadItsSecretsInEveryPass(t *testing.T) {
	counted, pass := readOnce(t, budget(0))
	for range 10 {
		pass(func(v *view) { v.Members[0].Pod = plan.PodStarting }).doubt(plan.CreateMembers{}, nil)
	}
	if counted.n != 1 {
		t.Errorf("10 passes within %s read the Secret %d times, expected once", startingReads, counted.n)
	}
}

// judgedTwice returns the views of two passes over a cluster with the operator's certificates. It calls between after the
// first pass.
func judgedTwice(t *testing.T, between func(r *Reconciler, v *view)) (first, second *view) {
	t.Helper()
	s := state(formed, members(3), func(s *plan.State) { s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }, secure)
	_, v := beside(t)
	v.State = s
	authority, err := v.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	m := plan.Material{CA: &plan.Secret{Data: map[string][]byte{plan.CACertKey: authority.Cert, plan.CAKeyKey: authority.Key}}}
	objects := []client.Object{&corev1.Secret{ObjectMeta: controlled("uid-example", v.CASecret(), nil), Data: m.CA.Data}}
	for _, u := range plan.Usages {
		held, err := m.NewSecret(s, u, plan.WriteCertificates{})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &corev1.Secret{ObjectMeta: controlled("uid-example", v.Name+u.Suffix, nil), Data: held.Data})
	}
	r, v := beside(t, objects...)
	r.rereads = budget(0)
	pass := func(known *remembered, now time.Time) *view {
		_, v := beside(t)
		v.State, v.known = s, known
		v.Now = now
		r.keep(v)
		if err := r.judge(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	first = pass(v.known, noon)
	between(r, first)
	return first, pass(v.known, first.Now)
}

// Parsing and checking the certificates of an idle cluster took more than half of the time of a look.
func TestCertificatesThatDidNotChangeAreJudgedOnce(t *testing.T) {
	first, second := judgedTwice(t, func(_ *Reconciler, v *view) { v.doubt(plan.Done{}, nil) })
	if first.tls == nil || second.tls != first.tls {
		t.Error("the second look made another TLS configuration, so no TLS session resumes")
	}
	if second.Certificates != first.Certificates || second.ClientName != first.ClientName || second.material.CA == nil {
		t.Errorf("the second look judged %+v, the first %+v", second.Certificates, first.Certificates)
	}
}

func TestCertificatesAreJudgedAgain(t *testing.T) {
	for name, between := range map[string]func(r *Reconciler, v *view){
		"the operator wrote certificates": func(_ *Reconciler, v *view) { v.doubt(plan.WriteCertificates{}, nil) },
		"ten minutes passed":              func(_ *Reconciler, v *view) { v.Now = noon.Add(judged) },
		"the spec changed":                func(_ *Reconciler, v *view) { v.known.kept.generation-- },
	} {
		first, second := judgedTwice(t, between)
		if second.tls == nil || second.tls == first.tls {
			t.Errorf("%s: the judgement of the first look was used again", name)
		}
	}
}

// A pass with members that have not answered yet ends before it marks its reads as doubtful.
func TestWhatIsWrongWithASecretIsNotForgottenWhileMembersHang(t *testing.T) {
	r, v := beside(t)
	r.rereads = budget(0)
	v.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "absent", Member: &v1beta2.MemberSecret{ServerSecret: "absent"}}}
	for range 2 {
		v.SecretProblem = ""
		r.keep(v)
		if err := r.judge(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if v.SecretProblem == "" {
			t.Fatal("a Secret is missing, and a pass did not see it")
		}
	}
}

func TestAMemberThatHangsCausesNoReadsOfSecrets(t *testing.T) {
	counted, pass := readOnce(t, budget(0))
	for range 3 {
		v := pass(func(v *view) { v.Members[0].Answers = false })
		v.known.questions = map[string]*question{v.Members[0].Name: {hung: true}}
		v.doubt(plan.Wait{}, nil)
	}
	if counted.n != 1 {
		t.Errorf("the Secret was read %d times, expected once", counted.n)
	}
}

// A cluster with cert-manager has nine objects. Reads were limited by cluster, so idle clusters with it cost 1.8 reads in a second.
func TestReadsThatOnlyConfirmAreLimitedByObject(t *testing.T) {
	r := &Reconciler{rereads: newRereads()}
	read := map[int]int{}
	const seconds = 300
	for second := range seconds {
		for _, objects := range []int{5, 9, 5, 14} {
			if r.confirms(objects, noon.Add(time.Duration(second)*time.Second)) {
				read[objects] += objects
			}
		}
	}
	if all := read[5] + read[9] + read[14]; all > seconds || all < seconds/2 {
		t.Errorf("%d objects were read in %d s, the limit is one in a second", all, seconds)
	}
	if r.confirms(0, noon.Add(time.Hour)) {
		t.Error("a cluster without Secrets uses the budget")
	}
}

func TestAKeptSecretIsNotChangedByThePassThatUsesIt(t *testing.T) {
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Data: map[string][]byte{"tls.crt": []byte("x")}}
	used, ok := copyOf(kept).(*corev1.Secret)
	if !ok || string(used.Data["tls.crt"]) != "x" || used.Labels["a"] != "b" {
		t.Fatalf("the copy is %+v", used)
	}
	used.Data["tls.crt"], used.Labels["a"] = []byte("y"), "c"
	if string(kept.Data["tls.crt"]) != "x" || kept.Labels["a"] != "b" {
		t.Errorf("a pass changed the kept Secret: %+v", kept)
	}
}

func TestTheSecretsOfAnEtcdClusterKeepTheirCAOnce(t *testing.T) {
	ca := strings.Repeat("a CA in PEM", minShared)
	secret := func(name, certificate string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: controlled("uid-example", name, nil), Data: map[string][]byte{"ca.crt": []byte(ca), "tls.crt": []byte(certificate)}}
	}
	r, v := beside(t, secret("a", "of a"), secret("b", "of b"))
	var first *corev1.Secret
	for _, name := range []string{"a", "b", "b"} {
		got, err := r.secretOf(t.Context(), v, name)
		if err != nil || string(got.Data["ca.crt"]) != ca || string(got.Data["tls.crt"]) != "of "+name || !metav1.IsControlledBy(got, v.cluster) {
			t.Fatalf("Secret %s is read as %+v, %v", name, got, err)
		}
		if first == nil {
			first = got
		} else if &got.Data["ca.crt"][0] != &first.Data["ca.crt"][0] {
			t.Error("the CA is kept twice")
		}
	}
	if len(v.known.kept.objects) != 2 {
		t.Errorf("%d Secrets are kept, expected 2", len(v.known.kept.objects))
	}
}
