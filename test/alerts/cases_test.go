package alerts

import "maps"

// Series of one cluster "c" with one EtcdBackup "b" and one EtcdRestore. Runs begin at the time 0.
const (
	cluster  = `{namespace="ns",name="c"}`
	backup   = `{namespace="ns",name="b"}`
	member   = `{namespace="ns",etcd_cluster="c",pod="c-1"}`
	noSpace  = `etcd_operator_cluster_alarms{namespace="ns",name="c",alarm="NOSPACE"}`
	corrupt  = `etcd_operator_cluster_alarms{namespace="ns",name="c",alarm="CORRUPT"}`
	ofBackup = `etcd_operator_backup_info{namespace="ns",name="b",cluster="c"}`
	up       = `etcd_operator_build_info{operator="cluster-operator",version="1"}`
	queue    = `workqueue_depth{name="cluster-operator"}`
	lane     = `etcd_operator_backup_queue_length{lane="snapshot"}`
	failures = `controller_runtime_reconcile_errors_total{controller="cluster-operator"}`
	// Second location and continuous archive of the EtcdBackup.
	copied        = "etcd_operator_backup_copied" + backup
	archiveCopied = "etcd_operator_archive_copied" + backup
	copyOverdue   = "etcd_operator_backup_copy_overdue_timestamp_seconds" + backup
	archiving     = "etcd_operator_archive_archiving" + backup
	archiveLag    = "etcd_operator_archive_lag_seconds" + backup
	archiveMaxLag = "etcd_operator_archive_max_lag_seconds" + backup
	archiveGaps   = "etcd_operator_archive_gaps_total" + backup
	archiveProof  = "etcd_operator_archive_last_proof_passed" + backup
	// Buckets of a histogram: all below le="0.1" are fast.
	fsync  = `etcd_disk_wal_fsync_duration_seconds_bucket{namespace="ns",etcd_cluster="c",pod="c-1",`
	commit = `etcd_disk_backend_commit_duration_seconds_bucket{namespace="ns",etcd_cluster="c",pod="c-1",`
)

var healthy = map[string]string{
	"etcd_operator_cluster_members_wanted" + cluster: "3x45",
	"etcd_operator_cluster_members_ready" + cluster:  "3x45",
	"etcd_operator_cluster_has_quorum" + cluster:     "1x45",
	"etcd_operator_cluster_quorum_lost" + cluster:    "0x45",
	"etcd_operator_cluster_paused" + cluster:         "0x45",
	"etcd_operator_cluster_hibernated" + cluster:     "0x45",
	"etcd_operator_cluster_starting" + cluster:       "0x45",
	"etcd_operator_cluster_restoring" + cluster:      "0x45",
	"etcd_operator_cluster_progressing" + cluster:    "0x45",
	"etcd_operator_cluster_stalled" + cluster:        "0x45",
	"etcd_operator_cluster_degraded" + cluster:       "0x45",
	"etcd_operator_cluster_database_bytes" + cluster: "100x45",
	"etcd_operator_cluster_volume_bytes" + cluster:   "1000x45",
	noSpace: "0x45",
	corrupt: "0x45",
	"etcd_operator_cluster_certificate_expiry_timestamp_seconds" + cluster: "864000x45",
	"etcd_operator_cluster_certificate_lifetime_seconds" + cluster:         "7776000x45",
	"etcd_server_has_leader" + member:                                      "1x45",
	"etcd_server_leader_changes_seen_total" + member:                       "1x45",
	"etcd_server_proposals_failed_total" + member:                          "0x45",
	"etcd_mvcc_db_total_size_in_bytes" + member:                            "100x45",
	"etcd_server_quota_backend_bytes" + member:                             "1000x45",
	fsync + `le="0.1"}`:  "0+100x45",
	fsync + `le="1"}`:    "0+100x45",
	fsync + `le="+Inf"}`: "0+100x45",
	commit + `le="0.1"}`: "0+100x45", commit + `le="1"}`: "0+100x45", commit + `le="+Inf"}`: "0+100x45",
	ofBackup: "1x45",
	"etcd_operator_backup_has_snapshot" + backup:              "1x45",
	"etcd_operator_backup_overdue_timestamp_seconds" + backup: "86400x45",
	"etcd_operator_backup_suspended" + backup:                 "0x45",
	"etcd_operator_backup_failed" + backup:                    "0x45",
	"etcd_operator_backup_last_restore_test_passed" + backup:  "1x45",
	copied:        "1x45",
	archiveCopied: "1x45",
	copyOverdue:   "86400x45",
	archiving:     "1x45",
	archiveLag:    "3x45",
	archiveMaxLag: "5x45",
	archiveGaps:   "0x45",
	archiveProof:  "1x45",
	up:            "1x45", queue: "0x45", lane: "0x45", failures: "0x45",
}

// problems are what must make each alert fire.
var problems = map[string]map[string]string{
	"EtcdClusterQuorumLost": {"etcd_operator_cluster_quorum_lost" + cluster: "1x45"},
	"EtcdClusterNoQuorum":   {"etcd_operator_cluster_has_quorum" + cluster: "0x45"},
	"EtcdClusterUnreachable": {
		"etcd_operator_cluster_has_quorum" + cluster: "", "etcd_operator_cluster_degraded" + cluster: "",
	},
	"EtcdClusterDegraded":    {"etcd_operator_cluster_degraded" + cluster: "1x45"},
	"EtcdClusterStalled":     {"etcd_operator_cluster_stalled" + cluster: "1x45"},
	"EtcdClusterCorrupt":     {corrupt: "0x43 1x1"},
	"EtcdClusterNoSpace":     {noSpace: "1x45"},
	"EtcdVolumeNearlyFull":   {"etcd_operator_cluster_database_bytes" + cluster: "900x45"},
	"EtcdCertificateExpires": {"etcd_operator_cluster_certificate_expiry_timestamp_seconds" + cluster: "500000x100"},
	"EtcdNoLeader":           {"etcd_server_has_leader" + member: "0x45"},
	"EtcdLeaderChanges":      {"etcd_server_leader_changes_seen_total" + member: "0+1x45"},
	"EtcdFsyncSlow":          {fsync + `le="0.1"}`: "0+1x45"},
	"EtcdCommitSlow":         {commit + `le="0.1"}`: "0+1x45"},
	"EtcdProposalsFail":      {"etcd_server_proposals_failed_total" + member: "0+10x45"},
	"EtcdQuotaNearlyFull":    {"etcd_mvcc_db_total_size_in_bytes" + member: "900x45"},
	"EtcdBackupTooOld":       {"etcd_operator_backup_overdue_timestamp_seconds" + backup: "600x45"},
	"EtcdBackupNeverSucceeded": {
		"etcd_operator_backup_overdue_timestamp_seconds" + backup: "600x45", "etcd_operator_backup_has_snapshot" + backup: "0x45",
	},
	"EtcdBackupFailed":            {"etcd_operator_backup_failed" + backup: "1x45"},
	"EtcdRestoreTestFailed":       {"etcd_operator_backup_last_restore_test_passed" + backup: "0x45"},
	"EtcdBackupNotCopied":         {copied: "0x45"},
	"EtcdArchiveNotCopied":        {archiveCopied: "0x45"},
	"EtcdArchiveDelayed":          {archiveLag: "60x45", archiving: "0x45"},
	"EtcdArchiveFailed":           {archiving: "0x45"},
	"EtcdArchiveGap":              {archiveGaps: "0x10 1x34"},
	"EtcdArchiveProofFailed":      {archiveProof: "0x45"},
	"EtcdRestoreFailed":           {`etcd_operator_restore_failed{namespace="ns",name="r",reason="SeedFailed",dry_run="false"}`: "1x45"},
	"EtcdRestoreDryRunFailed":     {`etcd_operator_restore_failed{namespace="ns",name="r",reason="SnapshotCorrupt",dry_run="true"}`: "1x45"},
	"EtcdStandbyBehind":           {`etcd_operator_restore_following{namespace="ns",name="r"}`: "0x45"},
	"EtcdBackupQueueTooLong":      {lane: "50x45"},
	"EtcdOperatorDown":            {up: "1x5 _x40"},
	"EtcdOperatorReconcileErrors": {failures: "0+60x45"},
	"EtcdOperatorQueueTooLong":    {queue: "500x45"},
}

// precise are problems that must fire these alerts and no other.
var precise = map[string]struct {
	changes map[string]string
	want    []string
}{
	"a paused cluster whose members are stopped: clients are not served, but the operator is to do nothing": {map[string]string{
		"etcd_operator_cluster_paused" + cluster: "1x45", "etcd_operator_cluster_has_quorum" + cluster: "0x45",
		"etcd_operator_cluster_degraded" + cluster: "1x45", "etcd_operator_cluster_stalled" + cluster: "1x45",
		"etcd_operator_cluster_members_ready" + cluster: "0x45",
	}, []string{"EtcdClusterNoQuorum"}},
	"a dry run that failed has restored nothing, so it is only a warning":    {problems["EtcdRestoreDryRunFailed"], []string{"EtcdRestoreDryRunFailed"}},
	"a second location that never got a copy":                                {map[string]string{copied: "0x45", copyOverdue: ""}, []string{"EtcdBackupNotCopied"}},
	"copies that wait for a worker, and have not failed":                     {map[string]string{copyOverdue: "600x45"}, []string{"EtcdBackupNotCopied"}},
	"a series without new snapshots, so that there is nothing to copy":       {map[string]string{"etcd_operator_backup_overdue_timestamp_seconds" + backup: "600x45", copyOverdue: "600x45"}, []string{"EtcdBackupTooOld"}},
	"an archive that is delayed":                                             {problems["EtcdArchiveDelayed"], []string{"EtcdArchiveDelayed"}},
	"an archive that has stopped, so that its lag grows":                     {map[string]string{archiveLag: "60+60x45", archiving: "0x45"}, []string{"EtcdArchiveDelayed"}},
	"an archive that never began":                                            {map[string]string{archiveLag: "", archiving: "0x45"}, []string{"EtcdArchiveFailed"}},
	"an archive that is stored, but cannot be restored":                      {problems["EtcdArchiveFailed"], []string{"EtcdArchiveFailed"}},
	"a gap after the operator was scraped":                                   {problems["EtcdArchiveGap"], []string{"EtcdArchiveGap"}},
	"a gap right after the start of the operator, before it was scraped":     {map[string]string{archiveGaps: "_x10 1x34"}, []string{"EtcdArchiveGap"}},
	"a proof that failed, while the snapshots of the series can be restored": {problems["EtcdArchiveProofFailed"], []string{"EtcdArchiveProofFailed"}},
}

// unsafe is an EtcdBackup all of whose alerts about the second location and the archive fire.
var unsafe = map[string]string{
	copied: "0x45", archiveCopied: "0x45", copyOverdue: "600x45", archiving: "0x45", archiveLag: "60x45", archiveGaps: "0x10 1x34", archiveProof: "0x45",
}

// but returns other changes than those of unsafe. An empty value removes a series.
func but(changes map[string]string) map[string]string {
	all := maps.Clone(unsafe)
	maps.Copy(all, changes)
	return all
}

// quiet is what must make no alert fire.
var quiet = map[string]map[string]string{
	"a paused cluster of which a member is stopped": {
		"etcd_operator_cluster_paused" + cluster: "1x45", "etcd_operator_cluster_degraded" + cluster: "1x45",
		"etcd_operator_cluster_stalled" + cluster: "1x45", "etcd_operator_cluster_members_ready" + cluster: "2x45",
	},
	"a paused cluster whose members a network policy hides": {
		"etcd_operator_cluster_paused" + cluster: "1x45", "etcd_operator_cluster_has_quorum" + cluster: "", "etcd_operator_cluster_degraded" + cluster: "",
	},
	"a hibernated cluster, whose snapshots grow old": {
		"etcd_operator_cluster_hibernated" + cluster: "1x45", "etcd_operator_cluster_has_quorum" + cluster: "0x45",
		"etcd_operator_cluster_members_ready" + cluster: "0x45", "etcd_server_has_leader" + member: "1x5 0 0 _x38",
		"etcd_operator_backup_overdue_timestamp_seconds" + backup: "600x45",
	},
	"a suspended series with a second location and an archive": but(map[string]string{
		"etcd_operator_backup_suspended" + backup: "1x45", "etcd_operator_backup_overdue_timestamp_seconds" + backup: "",
		copyOverdue: "", archiving: "", archiveMaxLag: "",
	}),
	"a series of a hibernated cluster":                                      but(map[string]string{"etcd_operator_cluster_hibernated" + cluster: "1x45"}),
	"an archive that never began, of a hibernated cluster":                  but(map[string]string{archiveLag: "", "etcd_operator_cluster_hibernated" + cluster: "1x45"}),
	"a series of a cluster that is restored":                                but(map[string]string{"etcd_operator_cluster_restoring" + cluster: "1x45"}),
	"an archive that never began, of a cluster that is restored":            but(map[string]string{archiveLag: "", "etcd_operator_cluster_restoring" + cluster: "1x45"}),
	"a series of a cluster that starts":                                     but(map[string]string{"etcd_operator_cluster_starting" + cluster: "1x45"}),
	"an archive that never began, of a cluster that starts":                 but(map[string]string{archiveLag: "", "etcd_operator_cluster_starting" + cluster: "1x45"}),
	"an archive that never began, of a suspended series":                    {archiveLag: "", archiving: "0x45", "etcd_operator_backup_suspended" + backup: "1x45"},
	"a series without copyTo and continuous":                                but(map[string]string{copied: "", archiveCopied: "", copyOverdue: "", archiving: "", archiveMaxLag: "", archiveProof: ""}),
	"an archive that is late by less than maxLag and the time of an upload": {archiveLag: "19x45"},
	"an archive with a longer maxLag":                                       {archiveLag: "60x45", archiveMaxLag: "60x45"},
	"an operator that restarts, so that its counters begin at 0":            {archiveGaps: "_x10 0x34"},
	"a suspended series, which is never overdue":                            {"etcd_operator_backup_overdue_timestamp_seconds" + backup: ""},
	"a starting cluster": {
		"etcd_operator_cluster_starting" + cluster: "1x45", "etcd_operator_cluster_has_quorum" + cluster: "0x45",
		"etcd_operator_cluster_progressing" + cluster: "1x45", "etcd_operator_cluster_members_ready" + cluster: "0x45",
		"etcd_server_has_leader" + member: "0x45", "etcd_operator_backup_has_snapshot" + backup: "0x45",
	},
	"a cluster that scales to five members": {
		"etcd_operator_cluster_members_wanted" + cluster: "5x45", "etcd_operator_cluster_progressing" + cluster: "1x45",
		"etcd_operator_cluster_degraded" + cluster: "0x5 1x4 0x35",
	},
	"a cluster whose members are upgraded one after the other": {
		"etcd_operator_cluster_progressing" + cluster: "1x45", "etcd_operator_cluster_degraded" + cluster: "0x5 1x3 0x3 1x3 0x3 1x3 0x25",
		"etcd_server_leader_changes_seen_total" + member: "9x5 1 2 3 4 5 5x35", "etcd_server_proposals_failed_total" + member: "0x10 20x35",
		"etcd_server_has_leader" + member: "1x10 0 1x34",
	},
	"a certificate that lives for a day":            {"etcd_operator_cluster_certificate_expiry_timestamp_seconds" + cluster: "43200x45", "etcd_operator_cluster_certificate_lifetime_seconds" + cluster: "86400x45"},
	"an operator that restarts within five minutes": {up: "1x10 _x4 1x31"},
}
