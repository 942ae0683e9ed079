package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const inNamespaces = `{namespace=~"$namespace"}`

func backupsBoard() board {
	return board{
		uid: backupsUID, title: "etcd / Backups", about: "Snapshots, continuous archives, restore tests, second locations and restores.",
		variables: []cog.Builder[dashboard.VariableModel]{
			choice("namespace", "Namespace", "label_values(etcd_operator_backup_info, namespace)").Multi(true).IncludeAll(true).AllValue(".*"),
		},
		sections: []section{
			{"Now", false, append(backupTiles(), restoreTiles()...)},
			{"Snapshots", false, backupSnapshots()},
			{"Continuous archive", false, backupArchive()},
			{"Second location", true, backupCopies()},
			{"Restores", false, backupRestores()},
			{"backup-operator", true, backupOperator()},
		},
	}
}

// each is a metric of every EtcdBackup.
func each(metric string) string { return "max by (namespace, name) (" + metric + inNamespaces + ")" }

func backupTiles() []view {
	return []view{
		{
			title: "EtcdBackups", none: "0", colour: calm,
			about:   "The number of EtcdBackups.",
			queries: []query{{"count(" + each("etcd_operator_backup_info") + ")", ""}},
		},
		{
			title: "Overdue", none: "0", limits: limits{{0, good}, {1, bad}},
			about:   "Series that have missed two snapshots.",
			queries: []query{{"count(" + each("etcd_operator_backup_overdue_timestamp_seconds") + " < time()) or vector(0)", ""}},
		},
		{
			title: "Without a snapshot", none: "0", limits: limits{{0, good}, {1, warn}},
			about:   "EtcdBackups that have no verified snapshot. A new one has none until its first attempt has succeeded.",
			queries: []query{{"count(" + each("etcd_operator_backup_has_snapshot") + " == 0) or vector(0)", ""}},
		},
		{
			title: "Oldest last backup", none: "No snapshot", unit: "s", colour: calm,
			about:   "The largest age of a newest snapshot, of all series that are not suspended.",
			queries: []query{{"max(time() - (etcd_operator_backup_newest_snapshot_timestamp_seconds" + inNamespaces + " unless on (namespace, name) etcd_operator_backup_suspended == 1))", ""}},
		},
		{
			title: "Largest archive lag", none: "No archive", unit: "s", limits: limits{{0, good}, {60, warn}, {615, bad}},
			about:   "How old the oldest change is that is not in its continuous archive. It is red above 10 minutes, the largest maxLag.",
			queries: []query{{"max(etcd_operator_archive_lag_seconds" + inNamespaces + ")", ""}},
		},
		{
			title: "Failed restore tests", none: "0", limits: limits{{0, good}, {1, bad}},
			about: "EtcdBackups whose last restore test or whose last proof of the archive failed.",
			queries: []query{{
				"count(" + each("etcd_operator_backup_last_restore_test_passed") + " == 0 or " + each("etcd_operator_archive_last_proof_passed") + " == 0) or vector(0)", "",
			}},
		},
	}
}

func restoreTiles() []view {
	return []view{
		{
			title: "Not copied", none: "No second location", limits: limits{{0, good}, {1, bad}},
			about:   "EtcdBackups whose newest snapshot is not in the second location.",
			queries: []query{{"sum(1 - " + each("etcd_operator_backup_copied") + ")", ""}},
		},
		{
			title: "Archives stopped", none: "No archive", limits: limits{{0, good}, {1, bad}},
			about:   "EtcdBackups whose continuous archive does not receive changes.",
			queries: []query{{"sum(1 - " + each("etcd_operator_archive_archiving") + ")", ""}},
		},
		{
			title: "Failed attempts in a day", none: "0", limits: limits{{0, good}, {1, warn}},
			about:   "Attempts to take a snapshot that failed. The operator repeats them.",
			queries: []query{{"round(sum(increase(etcd_operator_backup_failures_total" + inNamespaces + "[1d]))) or vector(0)", ""}},
		},
		{
			title: "Restores under way", none: "0", colour: calm,
			about:   "EtcdRestores that have neither completed nor failed.",
			queries: []query{{"sum(max by (namespace, name) (etcd_operator_restore_under_way" + inNamespaces + "))", ""}},
		},
		{
			title: "Failed restores", none: "0", limits: limits{{0, good}, {1, bad}},
			about:   "EtcdRestores that have failed and are not deleted.",
			queries: []query{{"sum(max by (namespace, name) (etcd_operator_restore_failed" + inNamespaces + "))", ""}},
		},
		{
			title: "Spool in use", none: "Unknown", unit: "percentunit", limits: limits{{0, good}, {0.8, warn}},
			about: "Reserved share of the volume in which backup-operator verifies snapshots. Other attempts wait for space.",
			queries: []query{{
				"max(etcd_operator_backup_spool_reserved_bytes / (etcd_operator_backup_spool_limit_bytes > 0))", "",
			}},
		},
	}
}
