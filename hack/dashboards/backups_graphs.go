package main

const label = "{{namespace}}/{{name}}"

func backupSnapshots() []view {
	return []view{
		{
			kind: rows, title: "All EtcdBackups", none: "There is no EtcdBackup.", width: 24,
			about: "Each EtcdBackup. Click on the cluster for its dashboard. An empty field means that the EtcdBackup has no such part, for example no second location.",
			queries: []query{
				{"max by (namespace, name, cluster) (etcd_operator_backup_info" + inNamespaces + ")", ""},
				{"time() - " + each("etcd_operator_backup_newest_snapshot_timestamp_seconds"), ""}, {each("etcd_operator_backup_newest_snapshot_bytes"), ""},
				{each("etcd_operator_backup_overdue_timestamp_seconds") + " < bool time()", ""}, {each("etcd_operator_backup_last_restore_test_passed"), ""},
				{each("etcd_operator_backup_copied"), ""}, {each("etcd_operator_archive_lag_seconds"), ""},
			},
			hidden: []string{"Value #A"},
			columns: []column{
				{"namespace", "Namespace"}, {"name", "EtcdBackup"}, {"cluster", "Cluster"}, {"Value #B", "Last backup"}, {"Value #C", "Size"},
				{"Value #D", "Overdue"}, {"Value #E", "Restore test passed"}, {"Value #F", "Copied"}, {"Value #G", "Archive lag"},
			},
			unlike: map[string]look{
				"Cluster": {link: toCluster, linkTitle: "Open the dashboard of this cluster"}, "Last backup": {unit: "s"}, "Size": {unit: "bytes"},
				"Overdue": {words: yesIsBad, wide: 90}, "Restore test passed": {words: yesIsGood, wide: 160}, "Copied": {words: yesIsGood, wide: 90},
				"Archive lag": {unit: "s", wide: 110},
			},
		},
		{
			kind: lines, title: "Age of the newest snapshot", none: "No EtcdBackup has a snapshot.", unit: "s",
			about:   "It grows until the next snapshot is verified. A line that keeps growing is a series that fails.",
			queries: []query{{"time() - " + each("etcd_operator_backup_newest_snapshot_timestamp_seconds"), label}},
		},
		{
			kind: lines, title: "Failed attempts in an hour", none: "No attempt failed in this time.",
			about:   "Attempts to take a snapshot that failed, by the reason in the status.",
			queries: []query{{"sum by (namespace, name, reason) (increase(etcd_operator_backup_failures_total" + inNamespaces + "[1h])) > 0", label + " {{reason}}"}},
		},
		{
			kind: states, title: "Restore tests", none: "No snapshot had a restore test in this time.",
			about:   "Whether the last restore test of each EtcdBackup passed. If it failed, do not rely on the newest snapshot.",
			queries: []query{{each("etcd_operator_backup_last_restore_test_passed"), label}},
			words:   words{{"1", "passed", good}, {"0", "failed", bad}},
		},
		{
			kind: lines, title: "Size of the newest snapshot", none: "No EtcdBackup has a snapshot.", unit: "bytes",
			about:   "A sudden drop may mean that somebody deleted data.",
			queries: []query{{each("etcd_operator_backup_newest_snapshot_bytes"), label}},
		},
		{
			kind: lines, title: "Duration of snapshots, 95th percentile", none: "No snapshot was taken in this time.", unit: "s",
			about: "How long the attempts took that ended with a verified snapshot.",
			queries: []query{{
				"histogram_quantile(0.95, sum by (namespace, name, le) (rate(etcd_operator_backup_duration_seconds_bucket" + inNamespaces + "[1h]))) >= 0", label,
			}},
		},
		{
			kind: states, title: "Overdue", none: "No EtcdBackup has a schedule.",
			about:   "When a series had missed two snapshots.",
			queries: []query{{each("etcd_operator_backup_overdue_timestamp_seconds") + " < bool time()", label}},
			words:   words{{"0", "on time", good}, {"1", "overdue", bad}},
		},
	}
}

func backupArchive() []view {
	const none = "No EtcdBackup has a continuous archive."
	return []view{
		{
			kind: lines, title: "Lag of the continuous archive", none: none, unit: "s",
			about: "How old the oldest change is that is not in the archive. If the cluster is lost now, these changes are lost.",
			queries: []query{{
				each("etcd_operator_archive_lag_seconds") + " and on (namespace, name) etcd_operator_archive_max_lag_seconds", label,
			}},
		},
		{
			kind: lines, title: "Archived bytes", none: none, unit: "Bps",
			about:   "Size of the objects with changes that the operator stores in a second.",
			queries: []query{{"sum by (namespace, name) (rate(etcd_operator_archive_bytes_total" + inNamespaces + "[5m]))", label}},
		},
		{
			kind: states, title: "Archiving", none: none,
			about:   "Whether the archive receives the changes of its cluster.",
			queries: []query{{each("etcd_operator_archive_archiving"), label}},
			words:   words{{"1", "archiving", good}, {"0", "stopped", bad}},
		},
		{
			kind: states, title: "Proofs of the archive", none: none,
			about:   "Whether the last replay of the archive matched the next snapshot. If it failed, some points of the archive are not restorable.",
			queries: []query{{each("etcd_operator_archive_last_proof_passed"), label}},
			words:   words{{"1", "passed", good}, {"0", "failed", bad}},
		},
	}
}

func backupCopies() []view {
	const none = "No EtcdBackup has a second location."
	return []view{
		{
			kind: lines, title: "Age of the newest snapshot in the second location", none: none, unit: "s",
			about:   "How much of the past is lost if the first location and the cluster are lost together.",
			queries: []query{{"time() - " + each("etcd_operator_backup_copy_newest_snapshot_timestamp_seconds"), label}},
		},
		{
			kind: states, title: "Copied", none: none,
			about: "Whether the second location has the newest snapshot, and all changes of the archive.",
			queries: []query{
				{each("etcd_operator_backup_copied"), label + ", snapshot"}, {each("etcd_operator_archive_copied"), label + ", archive"},
			},
			words: words{{"1", "copied", good}, {"0", "not copied", bad}},
		},
		{
			kind: lines, title: "Lag of the archive in the second location", none: "No EtcdBackup copies a continuous archive.", unit: "s", width: 24,
			about:   "How old the oldest change is that is not in the copy of the archive.",
			queries: []query{{each("etcd_operator_archive_copy_lag_seconds"), label}},
		},
	}
}

func backupRestores() []view {
	return []view{
		{
			kind: states, title: "Restores under way", none: "No EtcdRestore was under way in this time.", colour: calm,
			about:   "What each EtcdRestore did, by the reason in its status.",
			queries: []query{{"max by (namespace, name, reason) (etcd_operator_restore_under_way" + inNamespaces + ") == 1", label + " {{reason}}"}},
			words:   words{{"1", " ", calm}},
		},
		{
			kind: rows, title: "Failed restores", none: "No EtcdRestore has failed.",
			about:   "EtcdRestores that have failed, until they are deleted. Each reason has a page in the manual.",
			queries: []query{{"max by (namespace, name, reason, dry_run) (etcd_operator_restore_failed" + inNamespaces + ") == 1", ""}},
			columns: []column{{"namespace", "Namespace"}, {"name", "EtcdRestore"}, {"reason", "Reason"}, {"dry_run", "Dry run"}},
			hidden:  []string{"Value"},
		},
	}
}

func backupOperator() []view {
	const none = "backup-operator did not answer Prometheus. Is monitoring.serviceMonitor enabled?"
	return []view{
		{
			kind: lines, title: "Queue", none: none,
			about: "Attempts that wait for a worker of the operator, and attempts that run, by lane.",
			queries: []query{
				{"max by (lane) (etcd_operator_backup_queue_length)", "waiting, {{lane}}"}, {"max by (lane) (etcd_operator_backup_running)", "running, {{lane}}"},
			},
		},
		{
			kind: lines, title: "Spool", none: none, unit: "bytes",
			about: "Bytes of the spool volume that running attempts have reserved, and how many there can be.",
			queries: []query{
				{"max(etcd_operator_backup_spool_reserved_bytes)", "reserved"}, {"max(etcd_operator_backup_spool_limit_bytes)", "limit"},
			},
		},
	}
}
