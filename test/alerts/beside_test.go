package alerts

import "fmt"

// beside are series that the recording cannot have, because it has no kubelet and no backup-operator: each member has a volume, and the
// cluster has a nightly EtcdBackup with a continuous archive and a second location. The values are made.
func beside(pods []string, ticks int) map[string]string {
	const nightly = `{namespace="default",name="nightly"}`
	constant := func(value string) string { return fmt.Sprintf("%sx%d", value, ticks) }
	saw := "" // the lag of an archive that stores every five seconds
	for range ticks / 3 {
		saw += "1 3 2 "
	}
	series := map[string]string{
		`etcd_operator_backup_info{namespace="default",name="nightly",cluster="example"}`: constant("1"),
		`etcd_operator_build_info{operator="backup-operator",version="0.1.0"}`:            constant("1"),
		"etcd_operator_backup_has_snapshot" + nightly:                                     constant("1"),
		"etcd_operator_backup_failed" + nightly:                                           constant("0"),
		"etcd_operator_backup_suspended" + nightly:                                        constant("0"),
		"etcd_operator_backup_newest_snapshot_timestamp_seconds" + nightly:                constant("-20000"),
		"etcd_operator_backup_newest_snapshot_bytes" + nightly:                            constant("41943040"),
		"etcd_operator_backup_overdue_timestamp_seconds" + nightly:                        constant("150000"),
		"etcd_operator_backup_last_restore_test_passed" + nightly:                         constant("1"),
		"etcd_operator_backup_copied" + nightly:                                           constant("1"),
		"etcd_operator_backup_copy_newest_snapshot_timestamp_seconds" + nightly:           constant("-20000"),
		"etcd_operator_archive_copied" + nightly:                                          constant("1"),
		"etcd_operator_archive_archiving" + nightly:                                       constant("1"),
		"etcd_operator_archive_last_proof_passed" + nightly:                               constant("1"),
		"etcd_operator_archive_max_lag_seconds" + nightly:                                 constant("5"),
		"etcd_operator_archive_lag_seconds" + nightly:                                     saw,
		"etcd_operator_archive_copy_lag_seconds" + nightly:                                saw,
		"etcd_operator_archive_bytes_total" + nightly:                                     fmt.Sprintf("0+4096x%d", ticks),
		"etcd_operator_backup_spool_limit_bytes":                                          constant("21474836480"),
		"etcd_operator_backup_spool_reserved_bytes":                                       constant("134217728"),
		`etcd_operator_backup_queue_length{lane="snapshot"}`:                              constant("0"),
		`etcd_operator_backup_running{lane="snapshot"}`:                                   constant("1"),
	}
	for i, le := range []string{"1", "5", "+Inf"} {
		series[fmt.Sprintf(`etcd_operator_backup_duration_seconds_bucket{namespace="default",name="nightly",le=%q}`, le)] = fmt.Sprintf("0+%dx%d", min(i, 1), ticks)
	}
	for i, pod := range pods {
		claim := fmt.Sprintf(`{namespace="default",persistentvolumeclaim=%q}`, pod)
		series["kubelet_volume_stats_used_bytes"+claim] = fmt.Sprintf("%d+40000x%d", 180_000_000+i*3_000_000, ticks)
		series["kubelet_volume_stats_capacity_bytes"+claim] = constant("1073741824")
	}
	return series
}

// troubled are series of a bad day, so that the panels that are quiet on a good one have something to show.
var troubled = map[string]string{
	`etcd_operator_cluster_degraded{namespace="default",name="example"}`:                                                                        "1x400",
	`etcd_operator_backup_failures_total{namespace="default",name="nightly",reason="StoreUnavailable"}`:                                         "0+1x400",
	`etcd_operator_restore_failed{namespace="default",name="r",reason="SeedFailed",dry_run="false"}`:                                            "1x400",
	`etcd_operator_restore_under_way{namespace="default",name="r2",reason="VerifyingSnapshot"}`:                                                 "1x400",
	`grpc_server_handled_total{namespace="default",etcd_cluster="example",pod="p",grpc_type="unary",grpc_method="Put",grpc_code="Unavailable"}`: "0+1x400",
}
