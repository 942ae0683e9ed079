package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// renewal is a paused EtcdCluster whose users have Secrets that are due, because they lack a key.
type renewal struct {
	*testing.T
	r       *Reconciler
	state   state.State
	objects client.WithWatch
	// refused are the names of Secrets that the API server does not change. writes counts all changes that it made.
	refused string
	writes  int
}

func newRenewal(t *testing.T, users ...string) *renewal {
	t.Helper()
	w := &renewal{T: t, state: clustertest.State(plantest.Formed, plantest.Members(3), func(s *state.State) {
		s.UID, s.Spec.Paused, s.Spec.TLS, s.Spec.Auth = "uid-example", true, &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}, &v1beta2.AuthPolicy{}
		for _, user := range users {
			s.Spec.Auth.Users = append(s.Spec.Auth.Users, v1beta2.AuthUser{Name: user, Certificate: &v1beta2.AuthCertificate{}})
		}
	}, plantest.Secure)}
	authority, err := material.NewCA(w.state)
	if err != nil {
		t.Fatal(err)
	}
	m := material.Material{CA: &material.Secret{Data: map[string][]byte{material.CACertKey: authority.Cert, material.CAKeyKey: authority.Key}}, HandedOut: map[string]*material.Secret{}}
	objects := []client.Object{&corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", material.CASecret(w.state), nil), Data: m.CA.Data}}
	add := func(name string, held *material.Secret, err error) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", name, nil), Data: held.Data})
	}
	for _, u := range state.Usages {
		m.HandedOut[u.Name], err = m.NewSecret(w.state, u, steps.WriteCertificates{})
		add(w.state.Name+u.Suffix, m.HandedOut[u.Name], err)
	}
	for _, user := range users {
		held, err := material.NewUserSecret(m, w.state, user, steps.WriteUserCertificates{})
		delete(held.Data, material.BindingEndpointsKey)
		add(state.UserSecret(w.state, user), held, err)
	}
	api, _ := clustertest.Beside(t, objects...)
	w.objects, _ = api.Client.(client.WithWatch)
	refusing := interceptor.NewClient(w.objects, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
		if strings.Contains(w.refused, object.GetName()) {
			return policyDenies("Secret", object.GetName())
		}
		w.writes++
		return c.Update(ctx, object, options...)
	}})
	w.r = assemble(parts{Client: refusing, APIReader: refusing, rereads: rate.NewLimiter(0, 0)})
	return w
}

// pass observes the Secrets, and does what is due.
func (w *renewal) pass() *view.View {
	w.Helper()
	_, v := clustertest.Beside(w.T)
	v.State = w.state
	w.r.secrets.Keep(v)
	if err := w.r.secrets.Judge(w.Context(), v); err != nil {
		w.Fatal(err)
	}
	step, err := w.r.planAndAct(w.Context(), v)
	w.r.secrets.Doubt(v, step, cmp.Or(err, v.Obstructed), func(*view.View, string) bool { return false })
	return v
}

// One Secret of a user could not be changed. The operator did not read the others again, and failed to change them, pass after pass: it had changed them before.
func TestTheSecretOfAUserIsWrittenOnceBesideOneThatIsRefused(t *testing.T) {
	w := newRenewal(t, "a", "b")
	w.refused = "example-a-tls"
	for range 3 {
		v := w.pass()
		if v.Skipped == nil || !strings.Contains(v.Skipped.Error(), "example-a-tls") || strings.Contains(v.Skipped.Error(), "example-b-tls") {
			t.Errorf("reported is %v", v.Skipped)
		}
	}
	if w.writes != 1 {
		t.Errorf("the Secret of the other user was written %d times", w.writes)
	}
	w.refused = ""
	w.pass()
	if v := w.pass(); v.Skipped != nil || len(v.UserCertificates.Due) > 0 {
		t.Errorf("reported is %v, due are %v", v.Skipped, v.UserCertificates.Due)
	}
}

// The errors of a hundred Secrets were so long that the API server refused the status.
func TestWhyManyCertificatesOfUsersAreNotWrittenFitsIntoAStatus(t *testing.T) {
	var users []string
	for i := range 100 {
		users = append(users, fmt.Sprintf("%s-%d", strings.Repeat("u", 58), i))
	}
	w := newRenewal(t, users...)
	down := errors.New(strings.Repeat("the API server does not answer ", 10))
	failing := interceptor.NewClient(w.objects, interceptor.Funcs{Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return down }})
	w.r = assemble(parts{Client: failing, APIReader: failing, rereads: rate.NewLimiter(0, 0)})
	v := w.pass()
	if !errors.Is(v.Skipped, down) {
		t.Fatalf("reported is %v", v.Skipped)
	}
	status := plan.NewStatus(v.State, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1)
	plan.NoteRefused(&status, failure.RefusalText(v.Skipped), failure.ReasonOf(v, v.Skipped), 1, v.Now)
	if ready := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady); len(ready.Message) > 1<<10 || !strings.Contains(ready.Message, "99 more") {
		t.Errorf("the condition has %d bytes: %.200s", len(ready.Message), ready.Message)
	}
}
