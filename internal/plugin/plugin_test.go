package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func TestOneShotBackupIsBesideTheFolderOfTheSeries(t *testing.T) {
	o := healthy()
	o.Backups[0].Spec.Compression, o.Backups[0].Spec.DeletionPolicy = "zstd", v1beta2.DeletionDelete
	series, err := Series("example", "", o.Backups)
	if err != nil {
		t.Fatal(err)
	}
	got := BackupLike(*series, "example", now)
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

func TestBackupWithoutASeriesAsksForALocation(t *testing.T) {
	if _, err := Series("example", "", nil); err == nil || !strings.Contains(err.Error(), "--storage") {
		t.Errorf("%v", err)
	}
}

func TestRestoreChoosesTheNewestSnapshotThatIsNotKnownToBeBad(t *testing.T) {
	all := []Saved{{Snapshot: v1beta2.Snapshot{Path: "b/x/3.db", RestoreTest: v1beta2.DrillFailed}}, {Snapshot: v1beta2.Snapshot{Path: "b/x/2.db", NoQuorum: true}}, {Snapshot: v1beta2.Snapshot{Path: "b/x/1.db"}}}
	for wanted, want := range map[string]string{"": "b/x/1.db", "2.db": "b/x/2.db", "b/x/3.db": "b/x/3.db", ".db": "", "0.db": ""} {
		got, err := Choose(wanted, all)
		if got.Path != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", wanted, got.Path, err)
		}
	}
}

func TestRestoreShowsWhatIsLostAndIsRefusedIfTheClusterWasReplaced(t *testing.T) {
	o := healthy()
	s := Snapshots(o.Backups)[0]
	if text := Loss(o.Cluster, s, o.Looks, now); !strings.Contains(text, "20 revisions written since then (now 500, 100 keys)") || !strings.Contains(text, "60m ago") {
		t.Error(text)
	}
	if text := Loss(o.Cluster, s, nil, now); !strings.Contains(text, "unknown") {
		t.Error(text)
	}
	if r := NewRestore(o.Cluster, s, false, now); r.Spec.Replaces != "0123456789abcdef" || r.Spec.EtcdBackup.Snapshot != s.Path {
		t.Errorf("%+v", r.Spec)
	}
}

func TestUpgradeRefusesAPathThatTheOperatorRefuses(t *testing.T) {
	c := healthy().Cluster
	if err := Upgrade(&c, "3.8.0"); err == nil || !strings.Contains(err.Error(), "one minor version at a time") || c.Spec.Version != "3.6.16" {
		t.Errorf("%v, %s", err, c.Spec.Version)
	}
	if err := Upgrade(&c, "v3.7.3"); err != nil || c.Spec.Version != "3.7.3" {
		t.Errorf("%v, %s", err, c.Spec.Version)
	}
}

func TestAskNamesOnlyMembers(t *testing.T) {
	c := healthy().Cluster
	if err := Ask(&c, v1beta2.AnnotationReplace, "other"); err == nil {
		t.Error("a name that is no member is accepted")
	}
	for _, member := range []string{"example-a", "example-b", "example-a"} {
		if err := Ask(&c, v1beta2.AnnotationReplace, member); err != nil {
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
	pods := healthy().Pods
	pods[0].Spec.Containers = []corev1.Container{{Name: "etcd", Command: []string{"/usr/local/bin/etcd", "--cert-file=/c", "--peer-cert-file=/p", "--advertise-client-urls=https://a:2379"}}}
	got, err := Ctl(pods, "", []string{"member", "list"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"example-a", "--container", "etcd", "--", "etcdctl", "--cert=/c", "--endpoints=https://a:2379", "member", "list"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Ctl(nil, "", nil); err == nil {
		t.Error("no member is ready, and there is no error")
	}
}

func TestLookReadsMetricsAndAlarms(t *testing.T) {
	got := ParseLook("# HELP x\netcd_server_proposals_committed_total 12\netcd_server_proposals_applied_total 1.0e+01\n", `{"health":"false","reason":"ALARM NOSPACE"}`)
	if diff := cmp.Diff(Look{Committed: 12, Applied: 10, Alarms: "NOSPACE"}, got); diff != "" {
		t.Error(diff)
	}
}
