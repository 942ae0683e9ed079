package cluster

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// The operator's clock was set ahead between two passes. It replaced members that restarted, renewed all certificates with ones that are not
// valid yet, and created the CA of a new cluster with such a certificate.
func TestWhatCannotBeUndoneIsNotDoneIfTheClockOfTheAPIServerDiffers(t *testing.T) {
	restarting := func(v *view) {
		v.Members[1].Serving, v.Members[1].Answers, v.Members[1].PodReady, v.Members[1].UnreadySince = false, false, false, noon
	}
	managed := func(v *view) { v.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }
	for name, test := range map[string]struct {
		given func(*view)
		step  plan.Step
	}{
		"a member is replaced":            {restarting, plan.RemoveMember{ID: 2, Name: nameOf(1), Cause: "it has not served for 5m"}},
		"a learner is given up":           {restarting, plan.RemoveMember{ID: 2, Name: nameOf(1), Cause: "it is slow", TooSlow: true}},
		"a member is restarted":           {restarting, plan.DeletePod{Name: nameOf(1)}},
		"a Pod is deleted by force":       {restarting, plan.ForceDeletePod{Name: nameOf(1)}},
		"a CA is created":                 {managed, plan.CreateCA{}},
		"a CA is replaced":                {managed, plan.ReplaceCA{}},
		"the previous CA is removed":      {managed, plan.RemovePreviousCA{}},
		"a certificate is renewed":        {managed, plan.WriteCertificates{}},
		"a recovery begins":               {restarting, plan.BeginRecovery{Member: nameOf(0)}},
		"a restore fails for its seed":    {func(*view) {}, plan.FailRestore{}},
		"a volume is deleted for its age": {func(v *view) { v.SetAside = []plan.SetAside{{Name: "old", Since: noon}} }, plan.DeleteVolume{Name: "old"}},
	} {
		for _, ahead := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
			if _, deletes := test.step.(plan.DeleteVolume); deletes && ahead > 0 {
				continue // the plan deletes no volume before its time is over by the operator's clock
			}
			r, v := beside(t, &corev1.Pod{ObjectMeta: controlled("uid-example", nameOf(1), nil)})
			v.State = state(formed, members(3))
			test.given(v)
			v.Now = noon.Add(10 * time.Minute)
			r.Client = withClock(r.Client, v.Now.Add(ahead), nil)
			err := r.act(t.Context(), v, test.step)
			if !errors.Is(err, errBehind) && !errors.Is(err, errKept) {
				t.Errorf("%s although the API server is %s ahead: %v", name, ahead, err)
			}
			r.observeClock(v)
			if v.ServerAhead != ahead && !errors.Is(err, errKept) {
				t.Errorf("%s: the next pass takes the clock of the API server to be %s ahead, want %s", name, v.ServerAhead, ahead)
			}
		}
	}
}

// A CA that is replaced because nobody accepts it yet must not take the place of the previous one, which all members trust.
func TestACAThatIsNotValidYetDoesNotReplaceThePreviousOne(t *testing.T) {
	r, v := beside(t)
	v.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	good, err := pki.NewCA("good", noon, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	early, err := pki.NewCA("early", noon.Add(48*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{plan.CACertKey: early.Cert, plan.CAKeyKey: early.Key, plan.PreviousCACertKey: good.Cert, plan.PreviousCAKeyKey: good.Key}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v.CASecret()}, Data: data}
	if err := r.Client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	v.material.CA = &plan.Secret{Data: data, Version: secret.ResourceVersion}
	if err := r.replaceCA(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	if string(secret.Data[plan.PreviousCACertKey]) != string(good.Cert) || string(secret.Data[plan.CACertKey]) == string(early.Cert) {
		t.Errorf("the CA that all members trust is lost")
	}
}
