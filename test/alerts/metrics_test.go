package alerts

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// known are the metrics that are not the suite's: those of etcd 3.5 and newer, of its gRPC server, of Go and of controller-runtime, which
// the recording of a real run has.
var known = []string{
	"etcd_server_has_leader", "etcd_server_is_leader", "etcd_server_leader_changes_seen_total", "etcd_server_proposals_failed_total",
	"etcd_server_proposals_pending", "etcd_server_quota_backend_bytes", "etcd_server_version",
	"etcd_mvcc_db_total_size_in_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes",
	"etcd_disk_wal_fsync_duration_seconds", "etcd_disk_backend_commit_duration_seconds", "etcd_network_peer_round_trip_time_seconds",
	"etcd_network_client_grpc_received_bytes_total", "etcd_network_client_grpc_sent_bytes_total",
	"grpc_server_handled_total", "controller_runtime_reconcile_errors_total", "workqueue_depth",
}

// unrecorded are metrics that the recording cannot have: it runs without a kubelet, and in a sandbox in which a process cannot read its own
// memory and CPU time.
var unrecorded = []string{"kubelet_volume_stats_used_bytes", "kubelet_volume_stats_capacity_bytes", "process_resident_memory_bytes", "process_cpu_seconds_total"}

// metricName is the label that holds the name of a metric.
const metricName = "__name__"

// documented are the metrics of docs/reference.md.
func documented(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(etcd_operator_\\w+)`").FindAllStringSubmatch(string(page), -1) {
		found = append(found, match[1])
	}
	if len(found) < 40 {
		t.Fatalf("docs/reference.md has %d metrics", len(found))
	}
	return found
}

// check reports metrics in an expression that do not exist.
func check(t *testing.T, where, expression string, metrics []string) {
	t.Helper()
	expression = strings.NewReplacer("$namespace", "x", "$cluster", "x").Replace(expression)
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	for _, selectors := range parser.ExtractSelectors(parsed) {
		i := slices.IndexFunc(selectors, func(m *labels.Matcher) bool { return m.Name == metricName })
		if i < 0 || !slices.Contains(metrics, selectors[i].Value) && !slices.Contains(metrics, strings.TrimSuffix(selectors[i].Value, "_bucket")) {
			t.Errorf("%s names a metric that does not exist: %s", where, expression)
		}
	}
}

// exported are all metrics that alerts and dashboards may name.
func exported(t *testing.T) []string { return slices.Concat(documented(t), known, unrecorded) }

func TestAlertsNameMetricsThatExist(t *testing.T) {
	metrics := exported(t)
	for _, rule := range rules(t) {
		check(t, rule.Alert, rule.Expr, metrics)
	}
}

// Otherwise a metric that no etcd exports could be in the list above, and its panel would be empty.
func TestEtcdExportsTheMetricsThatAlertsAndDashboardsName(t *testing.T) {
	r := replay(t, nil)
	for _, name := range known {
		if !slices.ContainsFunc(r.names, func(n string) bool { return strings.TrimSuffix(n, "_bucket") == name }) {
			t.Errorf("the recording of a real run has no metric %s", name)
		}
	}
}
