package cluster

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// Each test here fails on purpose: it proves a finding of a reader.

func TestReaderAUsersSecretWithTheNameOfTheOperatorsStopsNothing(t *testing.T) {
	// A cluster of an earlier release: its own Secrets exist, and the user has one with the name that this release adds.
	s := state(formed, members(3), func(s *plan.State) { s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}} }, secure)
	users := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example" + v1beta2.OperatorSecretSuffix}, Data: map[string][]byte{"tls.crt": []byte("x")}}
	var objects []client.Object
	m := plan.Material{HandedOut: map[string]*plan.Secret{}}
	r, v := beside(t)
	v.State = s
	authority, err := r.newCA(v)
	if err != nil {
		t.Fatal(err)
	}
	m.CA = &plan.Secret{Data: map[string][]byte{plan.CACertKey: authority.Cert, plan.CAKeyKey: authority.Key}}
	objects = append(objects, users, &corev1.Secret{ObjectMeta: controlled("uid-example", v.CASecret(), nil), Data: m.CA.Data})
	for _, u := range plan.Usages[:3] {
		held, err := m.NewSecret(s, u, plan.WriteCertificates{})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, &corev1.Secret{ObjectMeta: controlled("uid-example", v.Name+u.Suffix, nil), Data: held.Data})
	}
	r, v = beside(t, objects...)
	v.State = s
	v.Members = slices.Clone(s.Members)
	v.Members[1].Pod, v.Members[1].Serving, v.Members[1].Answers = plan.PodNone, false, false
	if err := r.observeSecrets(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	for i := range v.Members {
		v.Members[i].Trust, v.Members[i].Loaded = v.Certificates.Trust, v.Certificates.Loaded
	}
	if v.tls == nil {
		t.Error("the operator has no client certificate any more, although that of clients is there")
	}
	if step, is := plan.Plan(v.State).(plan.CreateMember); !is {
		t.Errorf("a Pod is missing, and the plan is %+v", plan.Plan(v.State))
	} else {
		t.Logf("%+v", step)
	}
}

func TestReaderALearnerThatStartsAgainWithoutAQuorumIsNotSelectedByTheService(t *testing.T) {
	s := state(formed, members(3))
	s.MembershipKnown = false
	name := s.InitialNames(1, 4)[3]
	// What observe knows of a learner whose Pod is gone while no quorum answers: its volume. KnownVoters has the others.
	s.Members = append(s.Members, plan.Member{Name: name, Incarnation: 1, Volume: plan.VolumePresent})
	step := plan.Plan(s)
	create, is := step.(plan.CreateMember)
	if !is || create.Name != name {
		t.Fatalf("the plan is %+v", step)
	}
	if pod := newPod(s, create, ""); pod.Labels[labelVoter] != "" {
		t.Errorf("known voters are %v, and the Pod of learner %s has the label %s", s.KnownVoters, name, labelVoter)
	}
}

func TestReaderTheZoneOfANodeThatGetsItsLabelLaterIsSeen(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host"}}
	r, v := beside(t, node)
	v.Members = []plan.Member{{Name: "m", Node: "host"}}
	if err := r.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	node.Labels = map[string]string{corev1.LabelTopologyZone: "a"} // the cloud's controller sets it
	if err := r.Client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	if err := r.observeZones(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if v.Members[0].Zone != "a" {
		t.Errorf("the zone is %q until the operator restarts", v.Members[0].Zone)
	}
}
