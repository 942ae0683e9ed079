package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A user created a cluster with a certificate that its CA had not signed, and corrected the Secrets. etcd reads CAs only when it starts, so the cluster never formed.
func TestTheMembersOfANewClusterRestartForACorrectedCA(t *testing.T) {
	wrong := func(changes ...func(*state.Member)) change {
		return func(s *state.State) {
			noQuorum(s)
			s.ClusterID, s.Incarnation, s.KnownVoters = "", 1, nil
			for i := range s.Members {
				m := &s.Members[i]
				m.InitialSize, m.InMembership, m.Trust, m.Answers, m.Pod, m.PodReady, m.UnreadySince = 3, false, "wrong", false, state.PodRunning, false, noon.Add(-time.Hour)
				for _, c := range changes {
					c(m)
				}
			}
		}
	}
	s := stateWith(members(3), managed, wrong())
	if stopped := stops(s); stopped != nameOf(0) {
		t.Errorf("%q is stopped, want %s: %s", stopped, nameOf(0), steps.Describe(s, Plan(s)).Message)
	}
	for name, change := range map[string]func(*state.Member){
		"it trusts the present CA":        func(m *state.Member) { m.Trust = "trust" },
		"it has just started":             func(m *state.Member) { m.UnreadySince = noon.Add(-time.Second) },
		"its data is in the Pod":          func(m *state.Member) { m.DataInPod = true },
		"its Pod is ready, and may serve": func(m *state.Member) { m.PodReady, m.UnreadySince = true, time.Time{} },
	} {
		s := stateWith(members(3), managed, wrong(change))
		if stopped := stops(s); stopped != "" {
			t.Errorf("%s: %s is stopped", name, stopped)
		}
		if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, "other CAs than their Secrets hold") && name != "it trusts the present CA" {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// The Secrets of members and clients were deleted after the current CA had expired. The one before is valid and signs, but the new Secrets did not hold it.
func TestNewSecretsHoldTheCAThatSignsTheirCertificates(t *testing.T) {
	w := newRotation(t, 1, managedFor(time.Hour))
	before, err := pki.NewCA("before", w.s.Now, 10000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	expired, err := pki.NewCA("current", w.s.Now.Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.m.CA.Data = map[string][]byte{
		material.CACertKey: expired.Cert, material.CAKeyKey: expired.Key, material.PreviousCACertKey: before.Cert, material.PreviousCAKeyKey: before.Key,
	}
	w.m.HandedOut = map[string]*material.Secret{}
	for _, u := range state.Usages {
		made, err := w.m.NewSecret(w.s, u, steps.WriteCertificates{})
		if err != nil {
			t.Fatal(err)
		}
		if leaf, err := pki.ParseCertificate(made.Get(u.CertKey)); err != nil || len(pki.ParseBundle(made.Get(u.CaKey)).Signers(leaf, nil, pki.NewChecks(100))) == 0 {
			t.Errorf("%s: no CA of the Secret has signed its certificate (%v)", u.Name, err)
		}
	}
}
