package plan

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

var update = flag.Bool("update", false, "write the table of ARCHITECTURE.md anew")

func due(c *state.Certificates) { c.CA.Exists, c.Due = true, "it runs out" }

// small: a volume is smaller than the spec asks for.
func small(s *state.State) {
	volumesOf("16Gi")(s)
	holds(8, 8)(&s.Members[0])
}

// userDue has a certificate of a user expire.
func userDue(s *state.State) {
	s.UserCertificates.Due = []state.UserCertificate{{User: "shop", Cause: "it expires"}}
}

// protecting are the rules that protect data, and two that only keep the surroundings current. Each has a change of a
// state after which the rule must act, and the step that it then returns.
var protecting = []struct {
	what    string
	rule    string
	always  bool
	calls   change
	returns steps.Step
}{
	{"volumes are kept", "setRetention", true, retained, steps.KeepVolume{}},
	{"volumes grow", "requestGrowth", true, small, steps.ResizeVolume{}},
	{"certificates are renewed", "renewCertificates", true, func(s *state.State) { managed(s); due(&s.Certificates) }, steps.WriteCertificates{}},
	{"deleted Secrets are written again", "renewCertificates", true, func(s *state.State) { managed(s); due(&s.Certificates); s.Certificates.Missing = true }, steps.WriteCertificates{}},
	{"certificates of users are renewed", "certifyUsers", true, func(s *state.State) { managed(s); userDue(s) }, steps.WriteUserCertificates{}},
	{"Services are corrected", "applyServices", false, func(s *state.State) { s.Services.HeadlessCurrent = false }, steps.ApplyServices{}},
	{"drains are bounded", "applyBudget", false, func(s *state.State) { s.Budget.MinAvailable++ }, steps.ApplyBudget{}},
}

// waitingStates are states in which the plan waits or does nothing.
var waitingStates = []struct {
	name    string
	exempt  bool
	changes []change
}{
	{"the EtcdCluster is being deleted", true, []change{formed, members(3), func(s *state.State) { s.Deleting = true }}},
	{"the members are foreign", true, []change{members(3), servicesFor(0, "")}},
	{"paused", false, []change{formed, members(3), func(s *state.State) { s.Spec.Paused = true }}},
	{"paused, and the CA is due", false, []change{formed, members(3), func(s *state.State) { s.Spec.Paused = true }, certs(func(c *state.Certificates) { c.CA.ReplaceCause = "the current one expires" })}},
	{"paused, and a new CA is requested", false, []change{formed, members(3), func(s *state.State) { s.Spec.Paused = true }, certs(func(c *state.Certificates) { c.CA.ReplaceCause = "the annotation requests it" })}},
	{"hibernated", false, []change{formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), hibernating}},
	{"hibernated, and the CA is due", false, []change{formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), hibernating, certs(func(c *state.Certificates) { c.CA.ReplaceCause = "the current one expires" })}},
	{"a Secret is missing", false, []change{formed, members(3), func(s *state.State) { s.SecretProblem = "Secret tls is not there" }}},
	{"the cluster has not formed", false, []change{initial(3), begun}},
	{"no quorum answers", false, []change{formed, members(3), noQuorum}},
	{"a member is starting", false, []change{formed, members(3), with(1, pod(state.PodStarting))}},
	{"a member keeps ending", false, []change{formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing))}},
	{"a restore is under way", false, []change{formed, members(3), restored(v1beta2.RestoreSeeding), asked}},
	{"a recovery is under way", false, []change{formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting, forcing(0)}},
}

// TestWhatProtectsDataRunsInEveryState builds each state and checks whether each rule acts in it. The result is the table
// in ARCHITECTURE.md. Run the test with -update to write it.
func TestWhatProtectsDataRunsInEveryState(t *testing.T) {
	var table strings.Builder
	table.WriteString("| state |")
	for _, p := range protecting {
		table.WriteString(" " + p.what + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(protecting)) + "\n")
	for _, w := range waitingStates {
		table.WriteString("| " + w.name + " |")
		for _, p := range protecting {
			s := stateWith(append(w.changes, p.calls)...)
			acts := reflect.TypeOf(Plan(s)) == reflect.TypeOf(p.returns)
			ofVolumes := strings.HasPrefix(p.what, "volumes")
			if (p.always && !w.exempt && !acts) || (w.exempt && ofVolumes && acts) {
				t.Errorf("%s: %s acts: %v; the step is %#v", w.name, p.rule, acts, Plan(s))
			}
			table.WriteString(map[bool]string{true: " yes |", false: " no |"}[acts])
		}
		table.WriteString("\n")
	}
	compareTable(t, "../../../ARCHITECTURE.md", table.String())
}

// compareTable compares the text between the markers of a document with a table, or writes the table there.
func compareTable(t *testing.T, path, table string) {
	t.Helper()
	const begin, end = "<!-- protection: begin -->\n", "<!-- protection: end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	have, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q and %q", path, begin, end)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, have); diff != "" {
		t.Errorf("%s (-want +got); run the test with -update:\n%s", path, diff)
	}
}
