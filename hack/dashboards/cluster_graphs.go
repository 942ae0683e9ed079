package main

const noMembers = "No member answered Prometheus in this time. Is monitoring.podMonitor enabled?"

// slowest is the 99th percentile of a histogram of each member.
func slowest(histogram string) []query {
	return []query{{"histogram_quantile(0.99, sum by (pod, le) (rate(" + histogram + "_bucket" + ofMembers + "[5m])))", "{{pod}}"}}
}

func clusterRequests() []view {
	return []view{
		{
			kind: lines, title: "Requests", none: noMembers, unit: "reqps",
			about: "Answered requests by method, of all members together.",
			queries: []query{{
				`sum by (grpc_method) (rate(grpc_server_handled_total{namespace="$namespace",etcd_cluster="$cluster",grpc_type="unary"}[5m]))`, "{{grpc_method}}",
			}},
		},
		{
			kind: lines, title: "Failed requests", none: "No request failed.", unit: "reqps",
			about: "Requests that did not succeed, by method and code. Codes such as NotFound may be normal for an application.",
			queries: []query{{
				`sum by (grpc_method, grpc_code) (rate(grpc_server_handled_total{namespace="$namespace",etcd_cluster="$cluster",grpc_type="unary",grpc_code!="OK"}[5m])) > 0`,
				"{{grpc_method}}: {{grpc_code}}",
			}},
		},
		{
			kind: lines, title: "Proposals", none: noMembers, unit: "ops",
			about: "Writes that failed in a second, by member, and writes that wait for a majority. Both are 0 on a good day.",
			queries: []query{
				{"sum by (pod) (rate(etcd_server_proposals_failed_total" + ofMembers + "[5m]))", "{{pod}}, failed"},
				{"max(etcd_server_proposals_pending" + ofMembers + ")", "waiting"},
			},
			unlike: map[string]look{"waiting": {unit: "short"}},
		},
		{
			kind: lines, title: "Leader changes in 15 minutes", none: noMembers,
			about:   "Each change interrupts writes for about a second.",
			queries: []query{{"increase(max(etcd_server_leader_changes_seen_total" + ofMembers + ")[15m:1m])", "changes"}},
		},
	}
}

func clusterDisks() []view {
	return []view{
		{
			kind: lines, title: "Sync of the write-ahead log, 99th percentile", none: noMembers, unit: "s",
			about:   "Each write waits for this. A good disk stays below 10 ms. The alert EtcdFsyncSlow fires above 500 ms.",
			queries: slowest("etcd_disk_wal_fsync_duration_seconds"),
		},
		{
			kind: lines, title: "Commit of the database, 99th percentile", none: noMembers, unit: "s",
			about:   "How long etcd writes a batch of changes into its database file. A good disk needs less than 25 ms.",
			queries: slowest("etcd_disk_backend_commit_duration_seconds"),
		},
		{
			kind: lines, title: "Database", none: noMembers, unit: "bytes",
			about: "Size of the database file of each member, and how much of it is in use. Defragmentation gives the difference back to the disk.",
			queries: []query{
				{"etcd_mvcc_db_total_size_in_bytes" + ofMembers, "{{pod}}, file"}, {"etcd_mvcc_db_total_size_in_use_in_bytes" + ofMembers, "{{pod}}, in use"},
			},
		},
		{
			kind: lines, title: "Volumes", none: "The kubelet reports no volume of these members.", unit: "bytes",
			about: "Used bytes of the volume of each member, measured by the kubelet, and the size of the smallest volume. A volume has the " +
				"database, the write-ahead log and snapshots of etcd.",
			queries: []query{
				{"max by (persistentvolumeclaim) (kubelet_volume_stats_used_bytes" + ofClaims + ")", "{{persistentvolumeclaim}}, used"},
				{"max(etcd_operator_cluster_volume_bytes" + ofCluster + ")", "smallest volume"},
			},
		},
	}
}

func clusterResources() []view {
	return []view{
		{
			kind: lines, title: "Round trip between members, 99th percentile", none: "Members report this once there are two of them.", unit: "s",
			about:   "How long a message between two members takes. Above 50 ms, raise the election timeout.",
			queries: slowest("etcd_network_peer_round_trip_time_seconds"),
		},
		{
			kind: lines, title: "Traffic of clients", none: noMembers, unit: "Bps",
			about: "Bytes that clients sent and received, of all members together.",
			queries: []query{
				{"sum(rate(etcd_network_client_grpc_received_bytes_total" + ofMembers + "[5m]))", "from clients"},
				{"sum(rate(etcd_network_client_grpc_sent_bytes_total" + ofMembers + "[5m]))", "to clients"},
			},
		},
		{
			kind: lines, title: "Memory", none: "The members report no memory.", unit: "bytes",
			about:   "Resident memory of each member.",
			queries: []query{{"process_resident_memory_bytes" + ofMembers, "{{pod}}"}},
		},
		{
			kind: lines, title: "CPU", none: "The members report no CPU time.", unit: "short",
			about:   "CPU cores that each member uses.",
			queries: []query{{"rate(process_cpu_seconds_total" + ofMembers + "[5m])", "{{pod}}"}},
		},
	}
}

func clusterBackups() []view {
	return []view{
		{
			kind: lines, title: "Age of the newest snapshot", none: "No EtcdBackup of this cluster has a snapshot.", unit: "s",
			about:   "How much of the past is lost if the cluster is lost now and there is no continuous archive.",
			queries: []query{{"time() - max by (name) (etcd_operator_backup_newest_snapshot_timestamp_seconds" + savesCluster + ")", "{{name}}"}},
		},
		{
			kind: lines, title: "Lag of the continuous archive", none: "No EtcdBackup of this cluster has a continuous archive.", unit: "s",
			about: "How old the oldest change is that is not in the archive, and not in its copy in the second location.",
			queries: []query{
				{"max by (name) (etcd_operator_archive_lag_seconds" + savesCluster + ")", "{{name}}"},
				{"max by (name) (etcd_operator_archive_copy_lag_seconds" + savesCluster + ")", "{{name}}, second location"},
			},
		},
	}
}
