package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A verified EtcdRestore stayed at "the cluster has not started the restore", and no status said why.
func TestAVerifiedRestoreBeginsOrTheStatusSaysWhyNot(t *testing.T) {
	tooNew := func(s *state.State) { asked(s); s.Request.StorageVersion = "3.9.0"; s.RestorePending = s.Request.Name }
	for name, test := range map[string]struct {
		changes []change
		has     string
	}{
		"its snapshot is too new":                      {[]change{formed, members(3), tooNew}, "does not start EtcdRestore back: its snapshot has the format of etcd 3.9.0"},
		"its snapshot is too new for a new cluster":    {[]change{tooNew}, "does not start EtcdRestore back"},
		"a Secret is missing":                          {[]change{formed, members(3), asked, func(s *state.State) { s.SecretProblem = "Secret tls is not there." }}, "Secret tls"},
		"the cluster is paused":                        {[]change{formed, members(3), asked, func(s *state.State) { s.Spec.Paused = true }}, "spec.paused"},
		"the cluster hibernates":                       {[]change{formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), hibernating, asked}, "hibernates"},
		"TLS is changed":                               {[]change{formed, members(3), asked, func(s *state.State) { s.Spec.TLS = managedFor(time.Hour) }}, ""},
		"a Service has the name of the cluster's":      {[]change{formed, members(3), asked, func(s *state.State) { s.Foreign = []state.ForeignObject{{Kind: "Service", Name: s.Name}} }}, ""},
		"the cluster is healthy":                       {[]change{formed, members(3), asked}, ""},
		"quorum is lost":                               {[]change{formed, members(3), noQuorum, with(1, gone), with(2, gone), asked}, ""},
		"a new member finds no node":                   {[]change{formed, members(3), size(4), with(3, waitsForNodes), asked}, ""},
		"the version of the spec cannot be reached":    {[]change{formed, members(3), asked, func(s *state.State) { s.Spec.Version = "3.9.0" }}, ""},
		"a recovery from a lost quorum is being ended": {[]change{formed, members(3), asked, consenting, forcing(1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(test.changes...)
			step := Plan(s)
			message := steps.Describe(s, step).Message
			switch step := step.(type) {
			case steps.BeginRestore, steps.Idle, steps.Hibernating:
			case steps.Wait:
				if !step.Stalled {
					t.Errorf("nobody is told to look: %+v", step)
				}
			case steps.CancelRecovery, steps.ApplyServices: // the next pass goes on
			default:
				t.Errorf("the plan returns %T %+v", step, step)
			}
			if !strings.Contains(message, test.has) {
				t.Errorf("the status says %q, want %q", message, test.has)
			}
		})
	}
}
