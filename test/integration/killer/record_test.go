//go:build record

package killer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// recordedMetrics are those of the alerts and dashboards that are not the suite's.
var recordedMetrics = regexp.MustCompile(`^(etcd_operator_\w+|etcd_server_(has_leader|is_leader|leader_changes_seen_total|proposals_failed_total|proposals_pending|quota_backend_bytes|version)|` +
	`etcd_mvcc_db_total_size_in(_use_in)?_bytes|etcd_(disk_wal_fsync|disk_backend_commit|network_peer_round_trip_time)(_duration)?_seconds_bucket|` +
	`etcd_network_client_grpc_(sent|received)_bytes_total|grpc_server_handled_total|process_(resident_memory_bytes|cpu_seconds_total)|controller_runtime_reconcile_errors_total|workqueue_depth)[{ ]`)

// tape is a recording of what Prometheus would scrape.
type tape struct {
	b   *bench
	own *prometheus.Registry
	// namespace and name are those of the cluster. b.cluster itself is written while this reads.
	namespace, name string
	began           time.Time

	mu     sync.Mutex
	ticks  int
	series map[string][]string
	steps  []string
}

// record scrapes cluster-operator and the members each second, until the test ends.
func record(b *bench) *tape {
	r := &tape{b: b, own: prometheus.NewRegistry(), namespace: b.cluster.Namespace, name: b.cluster.Name, began: time.Now(), series: map[string][]string{}}
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			r.scrape(ctx)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	b.Cleanup(func() { cancel(); <-ended })
	return r
}

// step names what begins now.
func (r *tape) step(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.b.Logf("%s: %s", time.Since(r.began).Round(time.Second), what)
	r.steps = append(r.steps, fmt.Sprintf("# %d %s", r.ticks, what))
}

func (r *tape) scrape(ctx context.Context) {
	var lines []string
	answer := httptest.NewRecorder()
	handler := promhttp.HandlerFor(prometheus.Gatherers{r.own, metrics.Registry}, promhttp.HandlerOpts{})
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(answer.Body.String()) {
		if !strings.HasPrefix(line, "process_") {
			lines = append(lines, line)
		}
	}
	for _, pod := range r.pods(ctx) {
		labels := fmt.Sprintf(`namespace=%q,etcd_cluster=%q,pod=%q`, pod.Namespace, r.name, pod.Name)
		address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(v1beta2.MetricsPort)))
		for line := range strings.Lines(scrapeMember(ctx, address)) {
			lines = append(lines, withLabels(line, labels))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range lines {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || !recordedMetrics.MatchString(line) {
			continue
		}
		r.add(strings.ReplaceAll(line[:at], r.namespace, "default"), strings.TrimSpace(line[at:]))
	}
	r.ticks++
}

// pods returns no Pod if the API server does not answer, because a failed scrape is a gap and no failure of the test.
func (r *tape) pods(ctx context.Context) []corev1.Pod {
	var pods corev1.PodList
	if err := r.b.client.List(ctx, &pods, client.InNamespace(r.namespace)); err != nil {
		return nil
	}
	return pods.Items
}

// add adds a sample. Times count from the beginning of the recording.
func (r *tape) add(series, text string) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return
	}
	if strings.Contains(series, "_timestamp_seconds") {
		value = float64(int64(value) - r.began.Unix())
	}
	for len(r.series[series]) < r.ticks {
		r.series[series] = append(r.series[series], "_")
	}
	r.series[series] = append(r.series[series], strconv.FormatFloat(value, 'f', -1, 64))
}

// scrapeMember returns nothing if the member does not answer.
func scrapeMember(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return ""
	}
	return string(body)
}

// withLabels adds the labels that Prometheus adds to the samples of a Pod.
func withLabels(line, labels string) string {
	name, rest, found := strings.Cut(line, "{")
	if found {
		return name + "{" + labels + "," + rest
	}
	name, rest, _ = strings.Cut(line, " ")
	return name + "{" + labels + "} " + rest
}

// write writes the recording in the notation of Prometheus' rule tests. It drops methods that no client called.
func (r *tape) write(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for series, values := range r.series {
		if strings.HasPrefix(series, "grpc_") && !slices.ContainsFunc(values, func(v string) bool { return v != "0" && v != "_" }) {
			continue
		}
		for len(values) < r.ticks {
			values = append(values, "_")
		}
		lines = append(lines, series+" "+runs(values))
	}
	slices.Sort(lines)
	var content bytes.Buffer
	packed, err := gzip.NewWriterLevel(&content, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("compress the recording: %w", err)
	}
	fmt.Fprintln(packed, strings.Join(append(r.steps, lines...), "\n"))
	if err := packed.Close(); err != nil {
		return fmt.Errorf("compress the recording: %w", err)
	}
	return os.WriteFile(path, content.Bytes(), 0o644)
}

// runs writes equal values as one: 1x2 is 1 1 1, and _x2 is _ _.
func runs(values []string) string {
	var parts []string
	for i := 0; i < len(values); {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		switch {
		case values[i] == "_":
			parts = append(parts, fmt.Sprintf("_x%d", n))
		case n == 1:
			parts = append(parts, values[i])
		default:
			parts = append(parts, fmt.Sprintf("%sx%d", values[i], n-1))
		}
		i += n
	}
	return strings.Join(parts, " ")
}

func TestARunOfEqualValuesIsWrittenOnce(t *testing.T) {
	t.Parallel()
	if got := runs([]string{"_", "_", "1", "1", "1", "2"}); got != "_x2 1x2 2" {
		t.Errorf("got %q", got)
	}
	if got := withLabels("a{b=\"c\"} 1", `pod="p"`) + withLabels("a 1", `pod="p"`); got != `a{pod="p",b="c"} 1a{pod="p"} 1` {
		t.Errorf("got %q", got)
	}
}
