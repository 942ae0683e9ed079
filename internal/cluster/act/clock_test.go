package act

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// The operator's clock was set ahead between two passes. It replaced members that restarted, renewed all certificates with ones that are not
// valid yet, and created the CA of a new cluster with such a certificate.
func TestWhatCannotBeUndoneIsNotDoneIfTheClockOfTheAPIServerDiffers(t *testing.T) {
	restarting := func(v *view.View) {
		v.Members[1].Serving, v.Members[1].Answers, v.Members[1].PodReady, v.Members[1].UnreadySince = false, false, false, plantest.Noon
	}
	managed := func(v *view.View) { v.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }
	for name, test := range map[string]struct {
		given func(*view.View)
		step  steps.Step
	}{
		"a member is replaced":            {restarting, steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: "it has not served for 5m"}},
		"a learner is given up":           {restarting, steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: "it is slow", TooSlow: true}},
		"a member is restarted":           {restarting, steps.DeletePod{Name: plantest.NameOf(1)}},
		"a Pod is deleted by force":       {restarting, steps.ForceDeletePod{Name: plantest.NameOf(1)}},
		"a CA is created":                 {managed, steps.CreateCA{}},
		"a CA is replaced":                {managed, steps.ReplaceCA{}},
		"the previous CA is removed":      {managed, steps.RemovePreviousCA{}},
		"a certificate is renewed":        {managed, steps.WriteCertificates{}},
		"a recovery begins":               {restarting, steps.BeginRecovery{Member: plantest.NameOf(0)}},
		"a restore fails for its seed":    {func(*view.View) {}, steps.FailRestore{}},
		"a volume is deleted for its age": {func(v *view.View) { v.SetAside = []state.SetAside{{Name: "old", Since: plantest.Noon}} }, steps.DeleteVolume{Name: "old"}},
	} {
		for _, ahead := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
			if _, deletes := test.step.(steps.DeleteVolume); deletes && ahead > 0 {
				continue // the plan deletes no volume before its time is over by the operator's clock
			}
			a, v := actorBeside(t, &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", plantest.NameOf(1), nil)})
			v.State = clustertest.State(plantest.Formed, plantest.Members(3))
			test.given(v)
			v.Now = plantest.Noon.Add(10 * time.Minute)
			a.Client = clustertest.WithClock(a.Client, v.Now.Add(ahead), nil)
			err := a.Act(t.Context(), v, test.step)
			if !errors.Is(err, view.ErrBehind) && !errors.Is(err, dryrun.ErrKept) {
				t.Errorf("%s although the API server is %s ahead: %v", name, ahead, err)
			}
			a.confirmer.Times.ObserveClock(v)
			if v.ServerAhead != ahead && !errors.Is(err, dryrun.ErrKept) {
				t.Errorf("%s: the next pass takes the clock of the API server to be %s ahead, want %s", name, v.ServerAhead, ahead)
			}
		}
	}
}

// A CA that is replaced because nobody accepts it yet must not take the place of the previous one, which all members trust.
func TestACAThatIsNotValidYetDoesNotReplaceThePreviousOne(t *testing.T) {
	a, v := actorBeside(t)
	v.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	good, err := pki.NewCA("good", plantest.Noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	early, err := pki.NewCA("early", plantest.Noon.Add(48*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{material.CACertKey: early.Cert, material.CAKeyKey: early.Key, material.PreviousCACertKey: good.Cert, material.PreviousCAKeyKey: good.Key}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: material.CASecret(v.State)}, Data: data}
	if err := a.Client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	v.Material.CA = &material.Secret{Data: data, Version: secret.ResourceVersion}
	if err := a.certificates.replaceCA(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := a.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	if string(secret.Data[material.PreviousCACertKey]) != string(good.Cert) || string(secret.Data[material.CACertKey]) == string(early.Cert) {
		t.Errorf("the CA that all members trust is lost")
	}
}
