package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Labels of the metrics of the operators, of the members, and of the claims of the members, which have the names of their Pods.
const (
	ofCluster = `{namespace="$namespace",name="$cluster"}`
	ofMembers = `{namespace="$namespace",etcd_cluster="$cluster"}`
	ofClaims  = `{namespace="$namespace",persistentvolumeclaim=~"$cluster-[a-z0-9]{10}"}`
	// savesCluster selects the EtcdBackups of the cluster.
	savesCluster = ` and on (namespace, name) etcd_operator_backup_info{namespace="$namespace",cluster="$cluster"}`
)

// choice is a variable whose values are those of a label.
func choice(name, label, values string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).Label(label).Query(dashboard.StringOrMap{String: &values}).Definition(values).Datasource(source).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc)
}

func clusterBoard() board {
	return board{
		uid: clusterUID, title: "etcd / Cluster",
		about: "One EtcdCluster: its state, its members, its requests and its disks.",
		variables: []cog.Builder[dashboard.VariableModel]{
			choice("namespace", "Namespace", "label_values(etcd_operator_cluster_members_wanted, namespace)"),
			choice("cluster", "Cluster", `label_values(etcd_operator_cluster_members_wanted{namespace="$namespace"}, name)`),
		},
		sections: []section{
			{"Now", false, append(clusterTiles(), clusterMoreTiles()...)},
			{"States", false, clusterStates()},
			{"Requests", false, clusterRequests()},
			{"Disk and database", false, clusterDisks()},
			{"Network, memory and CPU", false, clusterResources()},
			{"Backups of this cluster", false, clusterBackups()},
		},
	}
}

func clusterTiles() []view {
	return []view{
		{
			title: "Status", none: "No EtcdCluster", nameOnly: true, colour: warn,
			about:   "The reason of the condition Ready. Each reason has a page in the manual: what it means, and what to do.",
			queries: []query{{"max by (reason) (etcd_operator_cluster_ready_reason" + ofCluster + ")", "{{reason}}"}},
			unlike: map[string]look{
				"Ready": {colour: good}, "Paused": {colour: calm}, "Hibernated": {colour: calm}, "ReadOnly": {colour: calm},
				"QuorumLost": {colour: bad}, "DataCorrupt": {colour: bad}, "NoSpace": {colour: bad}, "MembersUnreachable": {colour: bad},
			},
		},
		{
			title: "Quorum", none: "Unknown", alarming: warn, words: yesIsGood,
			about: "Whether a majority of the members answers. Without a quorum, clients cannot write. It is unknown while the operator cannot " +
				"reach members whose Pods are ready.",
			queries: []query{{"max(etcd_operator_cluster_has_quorum" + ofCluster + ")", ""}},
		},
		{
			title: "Members", none: "Unknown", alarming: warn,
			about: "How many members serve clients, and how many of those in the spec are missing.",
			queries: []query{
				{"max(etcd_operator_cluster_members_ready" + ofCluster + ")", "ready"},
				{"max(etcd_operator_cluster_members_wanted" + ofCluster + ") - max(etcd_operator_cluster_members_ready" + ofCluster + ")", "missing"},
			},
			limits: limits{{0, good}}, unlike: map[string]look{"missing": {limits: limits{{0, good}, {1, warn}}}},
		},
		{
			title: "Leader", none: "No leader", alarming: bad, nameOnly: true, colour: good,
			about:   "The Pod of the member that leads. Without a leader, clients cannot write.",
			queries: []query{{"max by (pod) (etcd_server_is_leader" + ofMembers + ") == 1", "{{pod}}"}},
		},
		{
			title: "Last backup", none: "No backup", alarming: warn, unit: "s", colour: good,
			about: "How old the newest verified snapshot of any EtcdBackup of this cluster is, and how many series have missed two snapshots.",
			queries: []query{
				{"time() - max(etcd_operator_backup_newest_snapshot_timestamp_seconds" + savesCluster + ")", "ago"},
				{"sum((etcd_operator_backup_overdue_timestamp_seconds < bool time())" + savesCluster + ")", "overdue"},
			},
			unlike: map[string]look{"overdue": {unit: "short", limits: limits{{0, good}, {1, bad}}}},
		},
		{
			title: "Archive lag", none: "No archive", unit: "s", limits: limits{{0, good}, {60, warn}, {615, bad}},
			about: "How old the oldest change is that no continuous archive of this cluster has. If the cluster is lost now, these changes are lost. " +
				"It is red above 10 minutes, the largest maxLag.",
			queries: []query{{"max(etcd_operator_archive_lag_seconds" + savesCluster + ")", ""}},
		},
	}
}

func clusterMoreTiles() []view {
	const quota = "max(etcd_mvcc_db_total_size_in_bytes" + ofMembers + " / etcd_server_quota_backend_bytes" + ofMembers + ")"
	return []view{
		{
			title: "Alarms", none: "Unknown",
			about:   "Members with an alarm of etcd. With NOSPACE, clients can only read and delete. With CORRUPT, data of members differs.",
			queries: []query{{"max by (alarm) (etcd_operator_cluster_alarms" + ofCluster + ")", "{{alarm}}"}},
			limits:  limits{{0, good}, {1, bad}},
		},
		{
			title: "Database of its quota", none: "No member", unit: "percentunit", limits: limits{{0, good}, {0.7, warn}, {0.85, bad}},
			about:   "Size of the largest database file, as a share of the quota. At 100 %, etcd refuses writes with the alarm NOSPACE.",
			queries: []query{{quota, ""}},
		},
		{
			title: "Fullest volume", none: "No kubelet metrics", unit: "percentunit", limits: limits{{0, good}, {0.7, warn}, {0.85, bad}},
			about: "Used share of the fullest volume of a member, measured by the kubelet. Some storage drivers do not report it, and members " +
				"that keep their data in the Pod have no volume.",
			queries: []query{{"max(kubelet_volume_stats_used_bytes" + ofClaims + " / kubelet_volume_stats_capacity_bytes" + ofClaims + ")", ""}},
		},
		{
			title: "Certificate expires in", none: "No TLS", unit: "s", limits: limits{{0, bad}, {1, warn}, {86400, good}},
			about:   "Time to the expiry of the first certificate of members and clients. The operator renews them before.",
			queries: []query{{"min(etcd_operator_cluster_certificate_expiry_timestamp_seconds" + ofCluster + ") - time()", ""}},
		},
		{
			title: "Version", none: "No member", nameOnly: true, colour: calm,
			about:   "The versions of etcd that the members run. During an upgrade there are two.",
			queries: []query{{"max by (server_version) (etcd_server_version" + ofMembers + ")", "{{server_version}}"}},
		},
		{
			title: "Leader changes in an hour", none: "No member", limits: limits{{0, good}, {2, warn}, {8, bad}},
			about:   "Each change interrupts writes for about a second. Without an upgrade, many changes mean slow disks, a slow network or too little CPU.",
			queries: []query{{"round(increase(max(etcd_server_leader_changes_seen_total" + ofMembers + ")[1h:1m]))", ""}},
		},
	}
}

func clusterStates() []view {
	condition := func(metric, legend string) query { return query{"max(" + metric + ofCluster + ")", legend} }
	return []view{
		{
			kind: states, title: "Status over time", none: "There is no such EtcdCluster in this time.", colour: calm,
			about:   "The reason of the condition Ready. Each line is one reason, and it is coloured while the reason lasted.",
			queries: []query{{"max by (reason) (etcd_operator_cluster_ready_reason" + ofCluster + ")", "{{reason}}"}},
			words:   words{{"1", " ", calm}},
			unlike: map[string]look{
				"Ready": {words: words{{"1", " ", good}}}, "QuorumLost": {words: words{{"1", " ", bad}}}, "MemberDown": {words: words{{"1", " ", warn}}},
			},
		},
		{
			kind: states, title: "Conditions", none: "There is no such EtcdCluster in this time.", words: yesIsWork,
			about: "What the operator reports. Green is as it should be, blue is work or your wish, and orange and red need attention.",
			queries: []query{
				condition("etcd_operator_cluster_has_quorum", "quorum"), condition("etcd_operator_cluster_degraded", "degraded"),
				condition("etcd_operator_cluster_stalled", "stalled"), condition("etcd_operator_cluster_progressing", "progressing"),
				condition("etcd_operator_cluster_restoring", "restoring"), condition("etcd_operator_cluster_read_only", "read-only"),
				condition("etcd_operator_cluster_hibernated", "hibernated"), condition("etcd_operator_cluster_paused", "paused"),
			},
			unlike: map[string]look{
				"quorum":   {words: yesIsGood},
				"degraded": {words: words{{"0", "no", good}, {"1", "yes", warn}}}, "stalled": {words: yesIsBad},
			},
		},
		{
			kind: states, title: "Roles of the members", none: "No member answered Prometheus in this time.",
			about:   "Which member led. A member without a leader answers no writes.",
			queries: []query{{"max by (pod) (etcd_server_is_leader" + ofMembers + " + etcd_server_has_leader" + ofMembers + ")", "{{pod}}"}},
			words:   words{{"0", "no leader", bad}, {"1", "follower", calm}, {"2", "leader", good}},
		},
		{
			kind: lines, title: "Members", none: "There is no such EtcdCluster in this time.",
			about: "How many members the spec asks for, and how many serve clients.",
			queries: []query{
				{"max(etcd_operator_cluster_members_wanted" + ofCluster + ")", "wanted"}, {"max(etcd_operator_cluster_members_ready" + ofCluster + ")", "ready"},
			},
		},
	}
}
