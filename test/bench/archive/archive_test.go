// Package archive measures what a continuous archive costs: etcd, the operator, and the store. Rounds with and without the
// archive alternate, so the ratios are meaningful even on a loaded machine:
//
//	make bench-archive         # BENCH_ROUNDS=4 BENCH_SECONDS=8 BENCH_RATE=1000 BENCH_N=100
package archive

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/test/bench/measure"
)

// round is what a load has cost.
type round struct {
	median, p99, cpu time.Duration // cpu is that of etcd
	writes           int
	took             time.Duration
}

// BenchmarkArchive reports the latency of writes and the CPU time of etcd as ratios, and the costs of the archiver. One more
// baseline is a bare watch in a process of its own, whose events are discarded: no archive can cost less than that.
func BenchmarkArchive(b *testing.B) {
	rate, length := measure.Setting(b, "BENCH_RATE", 1000), time.Duration(measure.Setting(b, "BENCH_SECONDS", 8))*time.Second
	s := newStage(b)
	s.load(rate, length/4) // the first writes of a new etcd are slow
	rounds := map[int][]round{}
	var costs []cost
	variants := []int{none, bareWatch, 1}
	for n := range measure.Setting(b, "BENCH_ROUNDS", 4) {
		for i := range variants { // another one begins in each round, because the database grows
			archivers := variants[(n+i)%len(variants)]
			if archivers == none {
				rounds[none] = append(rounds[none], s.load(rate, length))
				continue
			}
			a := s.archive(archivers)
			rounds[archivers] = append(rounds[archivers], s.load(rate, length))
			c := a.end()
			if archivers > 0 {
				costs = append(costs, c)
			}
		}
		b.Logf("round %d: without %+v, with a bare watch %+v, with the archive %+v, archiver %+v", n+1, rounds[none][n], rounds[bareWatch][n], rounds[1][n], costs[n])
	}
	ratio := func(with, without int, of func(round) time.Duration) float64 {
		return float64(measure.Median(each(rounds[with], of))) / float64(measure.Median(each(rounds[without], of)))
	}
	for name, of := range map[string]func(round) time.Duration{
		"latency-median": func(r round) time.Duration { return r.median },
		"latency-p99":    func(r round) time.Duration { return r.p99 },
		"etcd-cpu":       func(r round) time.Duration { return r.cpu / time.Duration(r.writes) },
	} {
		b.ReportMetric(ratio(1, none, of), name+"-ratio")
		b.ReportMetric(ratio(1, bareWatch, of), name+"-ratio-to-a-watch")
	}
	s.reportCosts(b, costs, "")
}

// BenchmarkArchiveOfManyClusters lets one process archive an etcd many times. For this process that is the same as so many
// clusters with the same load each, and two cores carry it.
func BenchmarkArchiveOfManyClusters(b *testing.B) {
	const rate = 100
	n, length := measure.Setting(b, "BENCH_N", 100), time.Duration(measure.Setting(b, "BENCH_SECONDS", 8))*time.Second
	s := newStage(b)
	empty := s.archive(none).end()
	a := s.archive(n)
	r := s.load(rate, 3*length)
	c := a.end()
	b.Logf("%d archivers: %+v, load %+v; without archivers: %+v", n, c, r, empty)
	b.ReportMetric(float64(c.Segments)*maxLag.Seconds()/float64(n)/c.Took.Seconds(), "segments/maxLag")
	b.ReportMetric(float64(c.Anonymous-empty.Anonymous)/float64(n)/(1<<20), "MiB-each")
	s.reportCosts(b, []cost{c}, "-together")
}

// BenchmarkArchiveOfAnIdleCluster counts the requests to the store.
func BenchmarkArchiveOfAnIdleCluster(b *testing.B) {
	s := newStage(b)
	s.load(100, time.Second)
	a := s.archive(1)
	s.load(100, time.Second)
	idle := time.NewTimer(2 * maxLag)
	<-idle.C // what was written is archived by now
	before := s.requests.Load()
	idle.Reset(4 * maxLag)
	<-idle.C
	b.ReportMetric(float64(s.requests.Load()-before), "idle-requests")
	b.Logf("%+v", a.end())
}

func each[T, R any](all []T, of func(T) R) (results []R) {
	for _, one := range all {
		results = append(results, of(one))
	}
	return results
}

// load writes at a rate and measures each write.
func (s *stage) load(rate int, length time.Duration) round {
	s.Helper()
	const writers = 16
	kv, err := clientv3.New(clientv3.Config{Endpoints: s.etcd.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		s.Fatal(err)
	}
	defer kv.Close()
	var group sync.WaitGroup
	took := make([][]time.Duration, writers)
	began, cpu := time.Now(), measure.CPU(s.etcd.Members[0].PID())
	spacing := time.Second / time.Duration(rate)
	for w := range writers {
		group.Go(func() {
			time.Sleep(time.Duration(w) * spacing) // otherwise all of them would write at the same time, and wait for each other
			took[w], err = write(s.Context(), kv, w, writers*spacing, length)
			if err != nil {
				s.Error(err)
			}
		})
	}
	group.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	if len(all) == 0 {
		s.Fatal("no write was acknowledged")
	}
	return round{
		median: all[len(all)/2], p99: all[len(all)*99/100], writes: len(all), took: time.Since(began),
		cpu: measure.CPU(s.etcd.Members[0].PID()) - cpu,
	}
}

// write writes a value of 256 bytes each interval, and returns how long each write has taken.
func write(ctx context.Context, kv *clientv3.Client, writer int, interval, length time.Duration) (took []time.Duration, err error) {
	random := rand.New(rand.NewPCG(uint64(writer), 0)) // a benchmark
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); <-ticks.C {
		key := fmt.Sprintf("/registry/pods/%02d/%05d", writer, random.IntN(1000))
		value := hex.EncodeToString(content(random))
		asked := time.Now()
		if _, err := kv.Put(ctx, key, value); err != nil {
			return took, fmt.Errorf("put %s: %w", key, err)
		}
		took = append(took, time.Since(asked))
	}
	return took, nil
}

// content returns random bytes. As hexadecimal digits, they can be compressed to a half.
func content(random *rand.Rand) (content []byte) {
	for range 16 {
		content = binary.BigEndian.AppendUint64(content, random.Uint64())
	}
	return content
}
