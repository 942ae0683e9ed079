package main

// ofEtcd keeps what belongs to an EtcdCluster.
const ofEtcd = " and on (namespace, name) etcd_operator_cluster_members_wanted"

// fullest is the used share of the fullest volume of each cluster. A claim has the name of its cluster and ten characters.
const fullest = `max by (namespace, name) (label_replace(kubelet_volume_stats_used_bytes / kubelet_volume_stats_capacity_bytes, ` +
	`"name", "$1", "persistentvolumeclaim", "(.+)-[a-z0-9]{10}"))` + ofEtcd

// withoutQuorum are the clusters that lack a quorum against the user's wish.
const withoutQuorum = "(max by (namespace, name) (etcd_operator_cluster_has_quorum) == 0 unless on (namespace, name) " +
	"(etcd_operator_cluster_hibernated == 1 or etcd_operator_cluster_starting == 1))"

// toCluster opens the dashboard of the cluster of a row.
const toCluster = "/d/" + clusterUID + "?var-namespace=${__data.fields.Namespace}&var-cluster=${__data.fields.Cluster}&${__url_time_range}"

func fleetBoard() board {
	return board{
		uid: fleetUID, title: "etcd / Fleet", about: "All EtcdClusters, and the operators.",
		sections: []section{
			{"Now", false, fleetTiles()},
			{"Clusters", false, fleetClusters()},
			{"Largest and fullest", false, fleetSizes()},
			{"Operators", false, fleetOperators()},
		},
	}
}

func fleetTiles() []view {
	return []view{
		{
			title: "Clusters", none: "0", colour: calm,
			about:   "The number of EtcdClusters.",
			queries: []query{{"count(max by (namespace, name) (etcd_operator_cluster_members_wanted))", ""}},
		},
		{
			title: "Without a quorum", none: "Unknown", alarming: warn, limits: limits{{0, good}, {1, bad}},
			about:   "Clusters whose clients cannot write, without those that are hibernated or being created.",
			queries: []query{{"count(" + withoutQuorum + ") or vector(0)", ""}},
		},
		{
			title: "Need action", none: "Unknown", alarming: warn, limits: limits{{0, good}, {1, bad}},
			about:   "Clusters that wait until a person acts. Their condition Stalled has the reason.",
			queries: []query{{"sum(max by (namespace, name) (etcd_operator_cluster_stalled))", ""}},
		},
		{
			title: "Degraded", none: "Unknown", limits: limits{{0, good}, {1, warn}},
			about:   "Clusters with a member that is missing or does not serve. The operator replaces it, unless the cluster needs action, too.",
			queries: []query{{"sum(max by (namespace, name) (etcd_operator_cluster_degraded))", ""}},
		},
		{
			title: "Backups overdue", none: "0", limits: limits{{0, good}, {1, bad}},
			about:   "Series of backups that have missed two snapshots.",
			queries: []query{{"count(max by (namespace, name) (etcd_operator_backup_overdue_timestamp_seconds) < time()) or vector(0)", ""}},
		},
		{
			title: "Largest archive lag", none: "No archive", unit: "s", limits: limits{{0, good}, {60, warn}, {615, bad}},
			about:   "How old the oldest change is that is in no continuous archive. It is red above 10 minutes, the largest maxLag.",
			queries: []query{{"max(etcd_operator_archive_lag_seconds)", ""}},
		},
	}
}

func fleetClusters() []view {
	of := func(metric string) query { return query{"max by (namespace, name) (" + metric + ")", ""} }
	share := look{unit: "percentunit", limits: limits{{0, good}, {0.7, warn}, {0.85, bad}}, wide: 110}
	return []view{
		{
			kind: rows, title: "All clusters", none: "There is no EtcdCluster.", width: 24,
			about: "Each EtcdCluster. Click on its name for its dashboard. Volume is the used share of its fullest volume, measured by the kubelet.",
			queries: []query{
				{"max by (namespace, name, reason) (etcd_operator_cluster_ready_reason)", ""}, of("etcd_operator_cluster_members_ready"),
				of("etcd_operator_cluster_members_wanted"), of("etcd_operator_cluster_has_quorum"), of("etcd_operator_cluster_database_bytes"),
				{fullest, ""}, {"min by (namespace, name) (etcd_operator_cluster_certificate_expiry_timestamp_seconds) - time()", ""},
			},
			hidden: []string{"Value #A"},
			columns: []column{
				{"namespace", "Namespace"}, {"name", "Cluster"}, {"reason", "Status"}, {"Value #B", "Ready"}, {"Value #C", "Wanted"}, {"Value #D", "Quorum"},
				{"Value #E", "Database"}, {"Value #F", "Volume"}, {"Value #G", "Certificate expires in"},
			},
			unlike: map[string]look{
				"Cluster": {link: toCluster, linkTitle: "Open the dashboard of this cluster"}, "Ready": {wide: 80}, "Wanted": {wide: 80},
				"Quorum": {words: yesIsGood, wide: 90}, "Database": {unit: "bytes", wide: 110}, "Volume": share,
				"Certificate expires in": {unit: "s", wide: 170},
				"Status":                 {words: words{{"Ready", "Ready", good}, {"Paused", "Paused", calm}, {"Hibernated", "Hibernated", calm}, {"QuorumLost", "QuorumLost", bad}}},
			},
		},
		{
			kind: states, title: "Clusters with a problem", none: "No cluster was degraded, stalled or without a quorum in this time.",
			about: "When a cluster was degraded, needed action, or had no quorum. Clusters without a problem have no line.",
			queries: []query{{
				"4 * (" + withoutQuorum + " == bool 0) or 2 * (max by (namespace, name) (etcd_operator_cluster_stalled) > 0)" +
					" or max by (namespace, name) (etcd_operator_cluster_degraded) > 0",
				"{{namespace}}/{{name}}",
			}},
			words: words{{"1", "degraded", warn}, {"2", "needs action", bad}, {"4", "no quorum", bad}},
		},
		{
			kind: lines, title: "Clusters by status", none: "There is no EtcdCluster.",
			about:   "How many clusters have each reason of the condition Ready.",
			queries: []query{{"count by (reason) (max by (namespace, name, reason) (etcd_operator_cluster_ready_reason))", "{{reason}}"}},
		},
	}
}

func fleetSizes() []view {
	return []view{
		{
			kind: lines, title: "Largest databases", none: "No member has a database.", unit: "bytes",
			about:   "The ten largest database files. etcd recommends 8 GiB at most.",
			queries: []query{{"topk(10, max by (namespace, name) (etcd_operator_cluster_database_bytes))", "{{namespace}}/{{name}}"}},
		},
		{
			kind: lines, title: "Fullest volumes", none: "The kubelet reports no volume of a member.", unit: "percentunit",
			about:   "The ten clusters with the fullest volume, as the kubelet measures it.",
			queries: []query{{"topk(10, " + fullest + ")", "{{namespace}}/{{name}}"}},
		},
	}
}

func fleetOperators() []view {
	return []view{
		{
			kind: lines, title: "Failed passes", none: "No operator answered Prometheus. Is monitoring.serviceMonitor enabled?", unit: "ops",
			about: "Passes of an operator that ended with an error. Each is tried again. Some are normal, for example while the API server restarts.",
			queries: []query{{
				`sum by (controller) (rate(controller_runtime_reconcile_errors_total{controller=~"cluster-operator|etcdbackup|restore-operator"}[5m]))`, "{{controller}}",
			}},
		},
		{
			kind: lines, title: "Waiting objects", none: "No operator answered Prometheus. Is monitoring.serviceMonitor enabled?",
			about:   "Objects that wait for a worker of their operator. It returns to 0 if the operator keeps up.",
			queries: []query{{`max by (name) (workqueue_depth{name=~"cluster-operator|etcdbackup|restore-operator"})`, "{{name}}"}},
		},
		{
			kind: lines, title: "Writes to the Kubernetes API", none: "cluster-operator has written nothing.", unit: "ops",
			about:   "Writes of cluster-operator, by verb and kind. An idle fleet writes almost nothing.",
			queries: []query{{"sum by (verb, kind) (rate(etcd_operator_cluster_api_writes_total[5m]))", "{{verb}} {{kind}}"}},
		},
		{
			kind: rows, title: "Versions of the operators", none: "No operator answered Prometheus. Is monitoring.serviceMonitor enabled?",
			about:   "How many Pods of each operator run each version.",
			queries: []query{{"count by (operator, version) (etcd_operator_build_info)", ""}},
			columns: []column{{"operator", "Operator"}, {"version", "Version"}, {"Value", "Pods"}},
		},
	}
}
