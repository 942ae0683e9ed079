package backup

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// reportedMetrics are the values of the gauges after each of the States was reported.
func reportedMetrics(t *testing.T, states ...state.State) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		m.proven(s)
		m.reported(s, s.Status)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		values[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
	}
	return values
}

// reports sets a condition of the status.
func reports(kind string, status metav1.ConditionStatus) statetest.Change {
	return func(s *state.State) {
		s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: kind, Status: status})
	}
}

const (
	copiedMetric      = "etcd_operator_backup_copied"
	newestCopyMetric  = "etcd_operator_backup_copy_newest_snapshot_timestamp_seconds"
	copyOverdueMetric = "etcd_operator_backup_copy_overdue_timestamp_seconds"
	archivingMetric   = "etcd_operator_archive_archiving"
	maxLagMetric      = "etcd_operator_archive_max_lag_seconds"
	proofMetric       = "etcd_operator_archive_last_proof_passed"
	testMetric        = "etcd_operator_backup_last_restore_test_passed"
)

// An alert fires only for a series that exists. So a copy that never succeeded needs a series, and a suspended archive must have none.
func TestMetricsOfCopiesAndArchivesExistOnlyWhileTheSpecAsksForThem(t *testing.T) {
	suspend := func(s *state.State) { s.Spec.BackupPolicy.Suspend = true }
	limit := func(s *state.State) { s.Spec.Continuous.MaxLag = "20s" }
	proof := func(result v1beta2.ProofResult) statetest.Change {
		return func(s *state.State) { s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: result} }
	}
	newest := state.Stamp(statetest.T0.Add(-3 * time.Hour))
	copyTaken, copyOverdue := float64(statetest.T0.Add(-3*time.Hour).Unix()), float64(statetest.T0.Add(-time.Hour).Unix())
	all := []string{copiedMetric, newestCopyMetric, copyOverdueMetric, archivingMetric, maxLagMetric, proofMetric, testMetric}
	for name, test := range map[string]struct {
		states []state.State
		want   map[string]float64
	}{
		"a plain series": {[]state.State{statetest.Series(statetest.Proven(time.Minute))}, nil},
		"the first copy failed": {
			[]state.State{statetest.Series(statetest.Proven(time.Minute), statetest.Copies, reports(v1beta2.ConditionCopied, metav1.ConditionFalse))},
			map[string]float64{copiedMetric: 0},
		},
		"the second location is behind": {
			[]state.State{statetest.Series(statetest.Proven(time.Minute), statetest.Copies, statetest.CopiedAt("a", newest, time.Hour), reports(v1beta2.ConditionCopied, metav1.ConditionTrue))},
			map[string]float64{copiedMetric: 1, newestCopyMetric: copyTaken, copyOverdueMetric: copyOverdue},
		},
		"a suspended series is never behind": {
			[]state.State{statetest.Series(suspend, statetest.Proven(time.Minute), statetest.Copies, statetest.CopiedAt("a", newest, time.Hour), reports(v1beta2.ConditionCopied, metav1.ConditionTrue))},
			map[string]float64{copiedMetric: 1, newestCopyMetric: copyTaken},
		},
		"copyTo was removed": {
			[]state.State{statetest.Series(statetest.Copies, statetest.CopiedAt("a", newest, time.Hour), reports(v1beta2.ConditionCopied, metav1.ConditionFalse)), statetest.Series(statetest.Proven(time.Minute))}, nil,
		},
		"the archive is up to date": {
			[]state.State{statetest.ArchivingState(t, reports(v1beta2.ConditionArchiving, metav1.ConditionTrue), limit)},
			map[string]float64{archivingMetric: 1, maxLagMetric: 20},
		},
		"the archive never began": {
			[]state.State{statetest.ArchivingState(t, func(s *state.State) { s.Archive = nil })}, map[string]float64{archivingMetric: 0, maxLagMetric: 5},
		},
		"the archive is suspended": {[]state.State{statetest.ArchivingState(t), statetest.ArchivingState(t, suspend)}, nil},
		"continuous was removed": {
			[]state.State{statetest.ArchivingState(t, proof(v1beta2.ProofFailed)), statetest.ArchivingState(t, proof(v1beta2.ProofFailed), func(s *state.State) { s.Spec.Continuous = nil })}, nil,
		},
		"the cluster hibernates":                      {[]state.State{statetest.ArchivingState(t), statetest.ArchivingState(t, func(s *state.State) { statetest.InCluster(s, true) })}, nil},
		"the cluster is recovered from a lost quorum": {[]state.State{statetest.ArchivingState(t), statetest.ArchivingState(t, func(s *state.State) { statetest.InCluster(s, false); s.Cluster.Recovering = true })}, nil},
		"a proof failed":                              {[]state.State{statetest.ArchivingState(t, proof(v1beta2.ProofFailed))}, map[string]float64{archivingMetric: 0, maxLagMetric: 5, proofMetric: 0}},
		"a proof passed":                              {[]state.State{statetest.ArchivingState(t, proof(v1beta2.ProofPassed))}, map[string]float64{archivingMetric: 0, maxLagMetric: 5, proofMetric: 1}},
		"a proof failed after a restore test passed": {
			[]state.State{statetest.ArchivingState(t, proof(v1beta2.ProofFailed), func(s *state.State) { s.Status.LastDrill = &v1beta2.BackupDrill{Result: v1beta2.DrillPassed} })},
			map[string]float64{archivingMetric: 0, maxLagMetric: 5, proofMetric: 0, testMetric: 1},
		},
	} {
		got := reportedMetrics(t, test.states...)
		for _, metric := range all {
			value, exists := got[metric]
			want, wanted := test.want[metric]
			if exists != wanted || value != want {
				t.Errorf("%s: %s exists: %t, and is %v, want %t and %v", name, metric, exists, value, wanted, want)
			}
		}
	}
}
