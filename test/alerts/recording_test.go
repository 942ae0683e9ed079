package alerts

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
)

// scrapeInterval is the time between two samples of the replay. They were recorded one second apart. A cluster of the tests does in
// seconds what takes minutes on a real disk, so the replay is slower than the recording.
const scrapeInterval = 5 * time.Second

// A recording has the metrics of a real cluster-operator and of real members. make record makes it.
type recording struct {
	storage storage.Queryable
	// steps are what was done, and when it began.
	steps []step
	end   time.Duration
	// names are those of the metrics, and pods those of the members.
	names, pods []string
}

// afterLastStep is for how many seconds the recording lasts at least after its last step.
const afterLastStep = 45

type step struct {
	name  string
	began time.Duration
}

// replay reads the recording, and adds series to it.
func replay(t *testing.T, more map[string]string) recording {
	t.Helper()
	file, err := os.Open("testdata/recording.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	series, ticks := map[string]string{}, 0
	lines := bufio.NewScanner(unpacked)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "# "); ok {
			var tick int
			at, name, _ := strings.Cut(text, " ")
			if _, err := fmt.Sscan(at, &tick); err != nil {
				t.Fatalf("step %q: %v", line, err)
			}
			r.steps, ticks = append(r.steps, step{name, time.Duration(tick) * scrapeInterval}), tick
			continue
		}
		if name, values, ok := strings.Cut(line, "} "); ok {
			series[name+"}"] = values
		} else if name, values, ok := strings.Cut(line, " "); ok {
			series[name] = values
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for name := range series {
		metric, labels, _ := strings.Cut(name, "{")
		r.names = append(r.names, metric)
		if _, pod, ok := strings.Cut(labels, `pod="`); ok {
			r.pods = append(r.pods, pod[:strings.IndexByte(pod, '"')])
		}
	}
	slices.Sort(r.pods)
	r.pods = slices.Compact(r.pods)
	maps.Copy(series, beside(r.pods, ticks+afterLastStep))
	maps.Copy(series, more)
	r.storage, r.end = newStorage(t, series, scrapeInterval), time.Duration(ticks+afterLastStep)*scrapeInterval
	return r
}

// at returns the step of a time.
func (r recording) at(elapsed time.Duration) string {
	name := ""
	for _, s := range r.steps {
		if s.began <= elapsed {
			name = s.name
		}
	}
	return name
}

// fired returns the alerts of each step.
func (r recording) fired(t *testing.T) map[string][]string {
	t.Helper()
	engine, fired := newEngine(5*time.Minute), map[string][]string{}
	const evaluation = 15 * time.Second
	for _, rule := range rules(t) {
		pending := map[uint64]int{}
		for elapsed := time.Duration(0); elapsed <= r.end; elapsed += evaluation {
			query, err := engine.NewInstantQuery(t.Context(), r.storage, nil, rule.Expr, time.Unix(0, 0).Add(elapsed))
			if err != nil {
				t.Fatalf("%s: %v", rule.Alert, err)
			}
			vector, err := query.Exec(t.Context()).Vector()
			if err != nil {
				t.Fatalf("%s: %v", rule.Alert, err)
			}
			if held(vector, pending) > int(time.Duration(rule.For)/evaluation) {
				if at := r.at(elapsed); !slices.Contains(fired[at], rule.Alert) {
					fired[at] = append(fired[at], rule.Alert)
				}
			}
			query.Close()
		}
	}
	return fired
}

func TestNoAlertFiresInARealRunUntilTheQuorumIsLost(t *testing.T) {
	r := replay(t, nil)
	var names []string
	for _, s := range r.steps {
		names = append(names, s.name)
	}
	want := []string{"create", "serve", "upgrade", "scale up", "scale down", "hibernate", "wake", "pause", "resume", "lose quorum"}
	if !slices.Equal(names, want) {
		t.Fatalf("the recording has the steps %q, want %q", names, want)
	}
	fired := r.fired(t)
	for _, name := range want[:len(want)-1] {
		if len(fired[name]) > 0 {
			t.Errorf("in the step %q %v fire", name, fired[name])
		}
	}
	for _, alert := range []string{"EtcdClusterQuorumLost", "EtcdNoLeader"} {
		if !slices.Contains(fired["lose quorum"], alert) {
			t.Errorf("%s does not fire although the quorum is lost, but %v", alert, fired["lose quorum"])
		}
	}
}

// before is the recording until a step began.
func (r recording) before(name string) recording {
	i := slices.IndexFunc(r.steps, func(s step) bool { return s.name == name })
	r.end, r.steps = r.steps[i].began-scrapeInterval, r.steps[:i]
	return r
}

// query evaluates an expression from one time of the recording to its end.
func (r recording) query(t *testing.T, engine *promql.Engine, expression string, from, interval time.Duration) promql.Matrix {
	t.Helper()
	query, err := engine.NewRangeQuery(t.Context(), r.storage, nil, expression, time.Unix(0, 0).Add(from), time.Unix(0, 0).Add(r.end), interval)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	defer query.Close()
	matrix, err := query.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	copied := make(promql.Matrix, len(matrix))
	for i, series := range matrix {
		copied[i] = promql.Series{Metric: series.Metric, Floats: slices.Clone(series.Floats)}
	}
	return copied
}
