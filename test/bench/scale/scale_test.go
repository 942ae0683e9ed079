package scale

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

const (
	// limit of a phase.
	limit = 15 * time.Minute
	// idleTime is longer than two intervals of looks at a healthy cluster.
	idleTime = 30 * time.Second
	// reactionLimit is the result for a Pod that was not replaced.
	reactionLimit = 30 * time.Second
	nodes         = 50
	// foreign is the number of unrelated objects: a third each are Pods, volumes and Services.
	foreign = 20_000
	mib     = 1 << 20
)

// run is one run of the benchmark.
type run struct {
	*testing.B
	world *fleet.World
	n     int
	quiet bool
	rows  []string
}

// BenchmarkScale runs many EtcdClusters with faked members, and prints a table of what the operator does and costs.
func BenchmarkScale(b *testing.B) {
	r := &run{B: b, n: measure.Setting(b, "BENCH_N", 100), quiet: true}
	r.checkQuiet()
	r.world = fleet.New(b, fleet.Options{TLS: measure.Setting(b, "BENCH_TLS", 1) == 1, Nodes: nodes})
	phases := []struct {
		name string
		run  func()
	}{
		{"creation", r.create}, {"idle", r.idle}, {"restart", r.restart}, {"hang", r.hang}, {"unrelated objects", r.unrelated}, {"node loss", r.loseNode},
	}
	for _, phase := range phases {
		if asked := os.Getenv("BENCH_PHASES"); asked != "" && phase.name != "creation" && !slices.Contains(strings.Split(asked, ","), phase.name) {
			continue
		}
		busy := startBusy()
		phase.run()
		if others := busy.others(); others > othersLimit {
			r.row(phase.name, "used by other programs", fmt.Sprintf("%.0f %% of the CPUs: the times of this phase are void", others*100))
		}
	}
	fmt.Printf("\n| phase (N = %d) | what | result |\n|---|---|---|\n", r.n)
	for _, row := range r.rows {
		fmt.Println(row)
	}
}

// checkQuiet refuses to measure on a machine that others use, unless BENCH_FORCE=1.
func (r *run) checkQuiet() {
	busy := startBusy()
	r.pause(3 * time.Second)
	others := busy.others()
	if others > othersLimit && os.Getenv("BENCH_FORCE") != "1" {
		r.Fatalf("other programs use %.0f %% of the CPUs, the limit is %.0f %%: times would be wrong. Stop them, or set BENCH_FORCE=1 to see only numbers of requests.", others*100, othersLimit*100)
	}
	r.quiet = others <= othersLimit
}

func (r *run) pause(d time.Duration) { <-time.After(d) }

func (r *run) row(phase, what, result string) {
	r.rows = append(r.rows, fmt.Sprintf("| %s | %s | %s |", phase, what, result))
	fmt.Printf("%s: %s: %s\n", phase, what, result)
}

// timing is a row with a time, which is void on a busy machine.
func (r *run) timing(phase, what string, d time.Duration) {
	if !r.quiet {
		r.row(phase, what, "void, the machine was busy")
		return
	}
	r.row(phase, what, d.Round(10*time.Millisecond).String())
}

func (r *run) usage() fleet.Usage {
	used, err := r.world.Operator.Usage()
	if err != nil {
		r.Fatal(err)
	}
	return used
}

func (r *run) memory(phase, what string) int {
	bytes := measure.Anonymous(r.world.Operator.PID())
	r.row(phase, what, fmt.Sprintf("%d MiB", bytes/mib))
	return bytes
}

func (r *run) create() {
	begin := time.Now()
	r.world.Create(0, r.n)
	if err := r.world.AwaitReady(r.n, limit); err != nil {
		r.Fatal(err)
	}
	ready := r.world.Ready()
	r.timing("creation", "first Ready", ready[0].Sub(begin))
	r.timing("creation", "half Ready", fleet.Percentile(ready50(ready, begin), 50))
	r.timing("creation", "all Ready", ready[len(ready)-1].Sub(begin))
	if err := r.world.AwaitQuiet(5*time.Second, limit); err != nil {
		r.Error(err)
	}
	used := r.usage()
	r.row("creation", "writes per cluster", fmt.Sprintf("%.1f %v", float64(used.Total())/float64(r.n), used.Writes))
	r.row("creation", "reads per cluster", fmt.Sprintf("%.1f", float64(used.Reads)/float64(r.n)))
	r.row("creation", "status writes without a change", fmt.Sprint(len(r.world.EmptyWrites())))
}

func ready50(ready []time.Time, begin time.Time) []time.Duration {
	times := make([]time.Duration, len(ready))
	for i, at := range ready {
		times[i] = at.Sub(begin)
	}
	return times
}

func (r *run) idle() {
	before, looks, cpu, begin := r.usage(), r.world.Fleet.Count(), measure.CPU(r.world.Operator.PID()), time.Now()
	r.pause(idleTime)
	took := time.Since(begin)
	used, now := r.usage().Since(before), r.world.Fleet.Count()
	r.row("idle", "writes", fmt.Sprintf("%d %v", used.Total(), used.Writes))
	r.row("idle", "reads per second", fmt.Sprintf("%.2f", float64(used.Reads)/took.Seconds()))
	r.row("idle", "connections per look at three members", fmt.Sprintf("%.2f", 3*float64(now.Dials-looks.Dials)/float64(max(1, now.Asked-looks.Asked))))
	r.row("idle", "full looks and health checks of clusters per second", fmt.Sprintf("%.1f, %.1f", float64(now.Asked-looks.Asked)/3/took.Seconds(), float64(now.Checked-looks.Checked)/3/took.Seconds()))
	r.row("idle", "CPU of one core", fmt.Sprintf("%.1f %%", 100*float64(measure.CPU(r.world.Operator.PID())-cpu)/float64(took)))
	r.memory("idle", "memory (RssAnon)")
	r.reactions("idle", 0)
}

// reactions measures how long a deleted Pod takes to be replaced, in up to 100 clusters from one on.
func (r *run) reactions(phase string, from int) {
	var clusters []int
	for n := from; n < r.n && len(clusters) < 100; n += max(1, (r.n-from)/100) {
		clusters = append(clusters, n)
	}
	times := r.world.Reactions(clusters, reactionLimit)
	r.timing(phase, "Pod deleted to new Pod, p50", fleet.Percentile(times, 50))
	r.timing(phase, "Pod deleted to new Pod, p99", fleet.Percentile(times, 99))
	late := len(times) - slices.IndexFunc(append(times, reactionLimit), func(d time.Duration) bool { return d >= reactionLimit })
	r.row(phase, fmt.Sprintf("deleted Pods without a new one in %s", reactionLimit), fmt.Sprintf("%d of %d", max(0, late), len(times)))
}

func (r *run) restart() {
	r.world.Operator.Stop()
	begin := time.Now()
	r.world.StartOperator()
	if err := r.world.AwaitLooks(begin, limit); err != nil {
		r.Error(err)
	}
	r.timing("restart", "until every cluster was looked at", time.Since(begin))
	if err := r.world.AwaitQuiet(5*time.Second, limit); err != nil {
		r.Error(err)
	}
}

// hang silences one member in 10 % and then in a third of the clusters.
func (r *run) hang() {
	silent := 0
	for _, percent := range []int{10, 34} {
		phase := fmt.Sprintf("hang in %d %%", percent)
		for ; silent < r.n*percent/100; silent++ {
			r.world.Fleet.Silence(r.world.Key(silent), true)
		}
		begin := time.Now()
		r.pause(20 * time.Second)
		r.row(phase, "clusters not looked at in 20 s", fmt.Sprint(len(r.world.Fleet.NotLookedAt(begin))))
		r.reactions(phase, silent)
		r.reactions(phase+", in a cluster with a silent member", 0)
	}
	for n := range silent {
		r.world.Fleet.Silence(r.world.Key(n), false)
	}
	if err := r.world.AwaitQuiet(5*time.Second, limit); err != nil {
		r.Error(err)
	}
}

func (r *run) unrelated() {
	before := r.memory("unrelated objects", "memory before")
	r.world.CreateUnrelated(foreign)
	r.pause(10 * time.Second)
	after := r.memory("unrelated objects", fmt.Sprintf("memory with %d more Pods, volumes and Services", foreign))
	r.row("unrelated objects", "more", fmt.Sprintf("%d MiB", (after-before)/mib))
}

func (r *run) loseNode() {
	lost := r.world.LoseNode(1)
	begin := time.Now()
	r.pause(20 * time.Second)
	r.row("node loss", "silent members", fmt.Sprint(lost))
	r.row("node loss", "clusters not looked at in 20 s", fmt.Sprint(len(r.world.Fleet.NotLookedAt(begin))))
	r.reactions("node loss", 0)
}
