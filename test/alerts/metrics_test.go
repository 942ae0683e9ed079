package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// known are the metrics that are not the suite's: those of etcd 3.5 and newer, of its gRPC server, of Go and of controller-runtime.
var known = []string{
	"etcd_server_has_leader", "etcd_server_leader_changes_seen_total", "etcd_server_proposals_failed_total", "etcd_server_quota_backend_bytes",
	"etcd_mvcc_db_total_size_in_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes",
	"etcd_disk_wal_fsync_duration_seconds", "etcd_disk_backend_commit_duration_seconds", "etcd_network_peer_round_trip_time_seconds",
	"grpc_server_handled_total", "process_resident_memory_bytes", "controller_runtime_reconcile_errors_total", "workqueue_depth",
}

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

func TestAlertsNameMetricsThatExist(t *testing.T) {
	metrics := append(documented(t), known...)
	for _, rule := range rules(t) {
		check(t, rule.Alert, rule.Expr, metrics)
	}
}

// A dashboard is the part of Grafana's JSON that matters here.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []panel
}

type panel struct {
	ID          int
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ Expr, RefID, LegendFormat string }
}

func TestPanelsNameMetricsThatExist(t *testing.T) {
	metrics := append(documented(t), known...)
	paths, err := filepath.Glob(files + "dashboards/*.json")
	if err != nil || len(paths) != 3 {
		t.Fatalf("found the dashboards %v, error %v", paths, err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.UID == "" || d.Title == "" || len(d.Panels) < 8 {
			t.Errorf("%s is not a whole dashboard: %+v", path, d)
		}
		places := map[[2]int]string{}
		for _, p := range d.Panels {
			where, place := d.Title+": "+p.Title, [2]int{p.GridPos.X, p.GridPos.Y}
			if places[place] != "" || p.GridPos.X+p.GridPos.W > 24 || len(p.Targets) == 0 {
				t.Errorf("%s overlaps %q, is too wide, or has no query", where, places[place])
			}
			places[place] = p.Title
			for _, target := range p.Targets {
				check(t, where, target.Expr, metrics)
			}
		}
		for _, v := range d.Templating.List {
			if metric, ok := strings.CutPrefix(v.Query, "label_values("); ok {
				check(t, d.Title+": "+v.Name, strings.SplitN(strings.SplitN(metric, ", ", 2)[0], ")", 2)[0], metrics)
			}
		}
	}
}
