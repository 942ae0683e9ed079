package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/backups"
	"github.com/etcd-suite/etcd-operator/internal/plugin/edit"
	"github.com/etcd-suite/etcd-operator/internal/plugin/findings"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/plugintest"
)

func TestOneShotBackupIsBesideTheFolderOfTheSeries(t *testing.T) {
	o := plugintest.Healthy()
	o.Backups[0].Spec.Compression, o.Backups[0].Spec.DeletionPolicy = "zstd", v1beta2.DeletionDelete
	series, err := backups.Series("example", "", o.Backups)
	if err != nil {
		t.Fatal(err)
	}
	got := backups.BackupLike(*series, "example", plugintest.Now)
	if want := "etcd-backups/f-on-request/ns/example/20261123-120000.db.zst"; got.Spec.S3.Path != want {
		t.Errorf("path %s, want %s", got.Spec.S3.Path, want)
	}
	if got.Spec.BackupPolicy != nil || got.Spec.DeletionPolicy != "" || got.Name != "example-20261123-120000" {
		t.Errorf("%+v", got)
	}
	if series.Spec.S3.Path != "etcd-backups/f" {
		t.Errorf("the series was changed: %s", series.Spec.S3.Path)
	}
}

// The API refuses each of these fields without a schedule.
func TestOneShotBackupHasNoFieldOfASeries(t *testing.T) {
	series := plugintest.Healthy().Backups[0]
	series.Spec.Drill, series.Spec.CopyTo = &v1beta2.DrillPolicy{}, &v1beta2.CopyTarget{}
	series.Spec.Continuous, series.Spec.FinalSnapshot = &v1beta2.ContinuousArchive{}, true
	got := backups.BackupLike(series, "example", plugintest.Now).Spec
	if got.Drill != nil || got.CopyTo != nil || got.Continuous != nil || got.FinalSnapshot {
		t.Errorf("%+v", got)
	}
	if series.Spec.Continuous == nil {
		t.Error("the series was changed")
	}
}

func TestBackupWithoutASeriesAsksForALocation(t *testing.T) {
	if _, err := backups.Series("example", "", nil); err == nil || !strings.Contains(err.Error(), "--storage") {
		t.Errorf("%v", err)
	}
}

func TestRestoreChoosesTheNewestSnapshotThatIsNotKnownToBeBad(t *testing.T) {
	all := []observed.Saved{{Snapshot: v1beta2.Snapshot{Path: "b/x/3.db", RestoreTest: v1beta2.DrillFailed}}, {Snapshot: v1beta2.Snapshot{Path: "b/x/2.db", NoQuorum: true}}, {Snapshot: v1beta2.Snapshot{Path: "b/x/1.db"}}}
	for wanted, want := range map[string]string{"": "b/x/1.db", "2.db": "b/x/2.db", "b/x/3.db": "b/x/3.db", ".db": "", "0.db": ""} {
		got, err := backups.Choose(wanted, all)
		if got.Path != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", wanted, got.Path, err)
		}
	}
}

func TestRestoreShowsWhatIsLostAndIsRefusedIfTheClusterWasReplaced(t *testing.T) {
	o := plugintest.Healthy()
	s := observed.Snapshots(o.Backups)[0]
	if text := backups.Loss(o.Cluster, s, o.Looks, plugintest.Now); !strings.Contains(text, "20 revisions written since then (now 500, 100 keys)") || !strings.Contains(text, "60m ago") {
		t.Error(text)
	}
	if text := backups.Loss(o.Cluster, s, nil, plugintest.Now); !strings.Contains(text, "unknown") {
		t.Error(text)
	}
	if r := backups.NewRestore(o.Cluster, s, false, plugintest.Now); r.Spec.Replaces != "0123456789abcdef" || r.Spec.EtcdBackup.Snapshot != s.Path {
		t.Errorf("%+v", r.Spec)
	}
}

func TestUpgradeRefusesAPathThatTheOperatorRefuses(t *testing.T) {
	c := plugintest.Healthy().Cluster
	if err := edit.Upgrade(&c, "3.8.0"); err == nil || !strings.Contains(err.Error(), "one minor version at a time") || c.Spec.Version != "3.6.16" {
		t.Errorf("%v, %s", err, c.Spec.Version)
	}
	if err := edit.Upgrade(&c, "v3.7.3"); err != nil || c.Spec.Version != "3.7.3" {
		t.Errorf("%v, %s", err, c.Spec.Version)
	}
}

func TestAskNamesOnlyMembers(t *testing.T) {
	c := plugintest.Healthy().Cluster
	if err := edit.Ask(&c, v1beta2.AnnotationReplace, "other"); err == nil {
		t.Error("a name that is no member is accepted")
	}
	for _, member := range []string{"example-a", "example-b", "example-a"} {
		if err := edit.Ask(&c, v1beta2.AnnotationReplace, member); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Annotations[v1beta2.AnnotationReplace]; got != "example-a,example-b" {
		t.Error(got)
	}
}

func TestReportHasNoPasswords(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"managedFields": "x", "annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}},
		"spec": map[string]any{
			"etcdEnv": []any{map[string]any{"name": "ETCD_LOG_LEVEL", "value": "debug"}, map[string]any{"name": "ETCD_AUTH_TOKEN", "value": "hunter2"}},
			"env":     []any{map[string]any{"name": "DB", "value": "hunter2"}},
			"args":    []any{"--db-password=hunter2", "--password", "hunter2", "https://root:hunter2@example.com"},
		},
	}
	text := strings.Join(flatten(Redact(object)), " ")
	if strings.Contains(text, "hunter2") || !strings.Contains(text, "debug") || strings.Contains(text, "last-applied") {
		t.Error(text)
	}
}

func flatten(value any) []string {
	var all []string
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			all = append(all, append(flatten(inner), key)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, flatten(inner)...)
		}
	case string:
		all = append(all, v)
	}
	return all
}

func TestLogsAreMergedByTime(t *testing.T) {
	a := ParseLog("a", "2026-11-23T12:00:00.5Z one\n2026-11-23T12:00:02Z three\n")
	b := ParseLog("b", "2026-11-23T12:00:00.51Z two\n")
	var got []string
	for _, line := range MergeLogs(a, b) {
		got = append(got, line.Member+line.Text)
	}
	if diff := cmp.Diff([]string{"aone", "btwo", "athree"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEtcdctlUsesTheFilesOfTheMember(t *testing.T) {
	pods := plugintest.Healthy().Pods
	pods[0].Spec.Containers = []corev1.Container{{Name: "etcd", Command: []string{"/usr/local/bin/etcd", "--cert-file=/c", "--peer-cert-file=/p", "--advertise-client-urls=https://a:2379"}}}
	got, err := Ctl(pods, "", []string{"member", "list"})
	if err != nil {
		t.Fatal(err)
	}
	want := Inside{Pod: "example-a", Command: []string{"etcdctl", "--cert=/c", "--endpoints=https://a:2379", "member", "list"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Ctl(nil, "", nil); err == nil {
		t.Error("no member is ready, and there is no error")
	}
}

func TestLookReadsMetricsAndAlarms(t *testing.T) {
	got := observed.ParseLook("# HELP x\netcd_server_proposals_committed_total 12\netcd_server_proposals_applied_total 1.0e+01\n", `{"health":"false","reason":"ALARM NOSPACE"}`)
	if diff := cmp.Diff(observed.Look{Committed: 12, Applied: 10, Alarms: "NOSPACE"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefragmentationBeginsOnlyIfAllServeAndEndsWithTheLeader(t *testing.T) {
	c := plugintest.Healthy().Cluster // example-a leads
	got, err := edit.DefragOrder(c)
	if diff := cmp.Diff([]string{"example-b", "example-c", "example-a"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	c.Status.MemberStatuses[2].Ready = false
	if _, err := edit.DefragOrder(c); err == nil || !strings.Contains(err.Error(), "example-c") {
		t.Errorf("a member is down, and the others are defragmented: %v", err)
	}
	if step := edit.FollowServing(c); step.Done {
		t.Error("the next member is defragmented while example-c is down")
	}
	plugintest.Set(&c, "Ready", "False", v1beta2.ReasonNoSpace, "")
	if _, err := edit.DefragOrder(c); err != nil {
		t.Errorf("the quota is used up: %v", err)
	}
	if _, err := edit.DefragOrder(v1beta2.EtcdCluster{}); err == nil {
		t.Error("a cluster without members is defragmented")
	}
}

// Ready need not be Paused then: a cluster that hibernates, or waits for a Secret, keeps its reason.
func TestPauseEndsWhenTheOperatorHasAcknowledgedIt(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1beta2.EtcdCluster)
		done   bool
	}{
		"acknowledged":               {func(*v1beta2.EtcdCluster) {}, true},
		"acknowledged, hibernates":   {func(c *v1beta2.EtcdCluster) { plugintest.Set(c, "Ready", "False", v1beta2.ReasonHibernated, "") }, true},
		"acknowledged, stalled":      {func(c *v1beta2.EtcdCluster) { plugintest.Set(c, "Stalled", "True", v1beta2.ReasonSecretMissing, "") }, true},
		"not read yet":               {func(c *v1beta2.EtcdCluster) { c.Generation = 3 }, false},
		"no operator runs":           {func(c *v1beta2.EtcdCluster) { c.Status.ControlPaused = false }, false},
		"paused before, status lost": {func(c *v1beta2.EtcdCluster) { c.Status = v1beta2.EtcdClusterStatus{} }, false},
	} {
		c := plugintest.Healthy().Cluster
		c.Generation, c.Status.ObservedGeneration, c.Status.ControlPaused = 2, 2, true
		test.change(&c)
		step := edit.FollowPaused(c, true)
		if step.Done != test.done || step.Failed || step.Line == "" {
			t.Errorf("%s: %+v", name, step)
		}
		if !step.Done && !strings.Contains(step.Line, "Check that it runs") {
			t.Errorf("%s: %q does not name what to do", name, step.Line)
		}
	}
	c := plugintest.Healthy().Cluster
	c.Status.ControlPaused = true
	if edit.FollowPaused(c, false).Done {
		t.Error("resume ends while the operator is paused")
	}
}

func TestRestoreNamesWhatItCannotKnow(t *testing.T) {
	o := plugintest.Healthy()
	s := observed.Snapshots(o.Backups)[0]
	s.NoQuorum = true
	if text := backups.Loss(o.Cluster, s, o.Looks, plugintest.Now); !strings.Contains(text, "without quorum") {
		t.Error(text)
	}
	s.ClusterID = "00000000000000ff"
	if text := backups.Loss(o.Cluster, s, o.Looks, plugintest.Now); !strings.Contains(text, "lost        the present data: revision 500, 100 keys") {
		t.Error(text)
	}
}

func TestEtcdctlIsStartedWithPathsAndNeverWithKeys(t *testing.T) {
	pods := plugintest.Healthy().Pods
	pods[1].Spec.Containers = []corev1.Container{{Name: "etcd", Args: []string{"--key-file=/etc/etcd/server/tls.key", "--peer-key-file=/p", "--initial-cluster-token=hunter2"}}}
	got, err := Ctl(pods, "example-b", []string{"get", "x"})
	want := Inside{Pod: "example-b", Command: []string{"etcdctl", "--key=/etc/etcd/server/tls.key", "get", "x"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

// Somebody who reads that a member does not serve must not have to look for the cause in its Pod.
func TestTheTroubleOfAPodExplainsAVagueCondition(t *testing.T) {
	for name, test := range map[string]struct{ reason, problem, want string }{
		"a vague condition":                   {v1beta2.ReasonMemberDown, "Member example-b does not serve: its Pod is not ready.", v1beta2.ReasonImageUnavailable},
		"a change that waits":                 {v1beta2.ReasonSettling, "Member example-b is starting.", v1beta2.ReasonImageUnavailable},
		"a condition that names the cause":    {v1beta2.ReasonPodFailing, "The Pod of member example-b failed 4 times in a row.", v1beta2.ReasonPodFailing},
		"a condition about something greater": {v1beta2.ReasonQuorumLost, "Member example-b holds data, but does not run.", v1beta2.ReasonQuorumLost},
	} {
		o := plugintest.Healthy()
		plugintest.Waiting("ImagePullBackOff", "Back-off pulling image x")(&o)
		plugintest.Degraded(test.reason, test.problem)(&o)
		first := findings.Findings(o)[0]
		if first.Reason != test.want || !strings.HasPrefix(first.Problem, test.problem) || first.Severity > findings.Degraded {
			t.Errorf("%s: %+v", name, first)
		}
		if explained := strings.Contains(first.Problem, "pulling image x"); explained != (test.want == v1beta2.ReasonImageUnavailable) {
			t.Errorf("%s: the problem is %q", name, first.Problem)
		}
	}
}

func TestAnAttemptThatWaitsForItsClusterIsNotLate(t *testing.T) {
	o := plugintest.Healthy()
	plugintest.Faults["backup-late"](&o)
	o.Backups[0].Status.Conditions = []metav1.Condition{plugintest.Condition("Ready", metav1.ConditionFalse, v1beta2.ReasonClusterNotAvailable, "The cluster hibernates.")}
	for _, f := range findings.Findings(o) {
		if strings.Contains(f.Problem, "has not begun") {
			t.Errorf("%+v", f)
		}
	}
}

func TestALostNodeIsNamedWithItsMember(t *testing.T) {
	o := plugintest.Healthy()
	plugintest.Faults["member-down"](&o)
	o.Pods[1].Spec.NodeName, o.Nodes = "node-2", map[string]string{"node-2": "Kubelet stopped posting node status."}
	want := "Member example-b does not serve: connection refused. Its node node-2 is not ready: Kubelet stopped posting node status."
	if got := findings.Findings(o)[0].Problem; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
