// Package scale runs a hundred EtcdClusters. It checks what a busy machine cannot change: numbers of requests, and whether
// any cluster is forgotten. The times are measured by make bench-scale.
package scale

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
)

const (
	clusters = 100
	hanging  = 34
	// objectsPerCreation is the limit of writes of objects until a cluster of three members is Ready. Three of them patch the Pods of members
	// that have started, so that they never start without their data. writesPerCreation is the limit of all writes: a busy machine shows more
	// steps of a start in the status.
	objectsPerCreation = 14
	writesPerCreation  = 23
	// inFlight is the percentage of connections whose question is counted in another period than the connection.
	inFlight = 10
	// startLimit is for a machine that also compiles.
	startLimit = 4 * time.Minute
	// period is longer than the interval between two looks at a healthy cluster.
	period = 15 * time.Second
)

func TestAHundredClustersCostFewRequestsAndNoneIsForgotten(t *testing.T) {
	w := fleet.New(t, fleet.Options{})
	w.Create(0, clusters)
	if err := w.AwaitReady(clusters, startLimit); err != nil {
		t.Fatal(err)
	}
	if err := w.AwaitQuiet(2*time.Second, time.Minute); err != nil {
		t.Fatal(err)
	}
	created := usage(t, w)
	objects := float64(withoutRepeats(created)) / clusters
	all := objects + float64(created.Writes["patch EtcdCluster"])/clusters
	t.Logf("writes for each cluster: %.1f of objects, %.1f in all", objects, all)
	if objects > objectsPerCreation || all > writesPerCreation {
		t.Errorf("the operator wrote %.1f objects for each cluster, the limit is %d, and made %.1f writes in all, the limit is %d: %v", objects, objectsPerCreation, all, writesPerCreation, created.Writes)
	}
	idle(t, w, created)
	hang(t, w)
	if empty := w.EmptyWrites(); len(empty) > 0 {
		t.Errorf("the operator wrote %d times a status that did not change, of %v", len(empty), empty)
	}
}

func TestTwoOperatorsShareAKubernetesByLabel(t *testing.T) {
	const both, ofShard = 6, 2
	w := fleet.New(t, fleet.Options{TLS: true, Labels: func(n int) map[string]string {
		if n < ofShard {
			return map[string]string{v1beta2.LabelShard: "a"}
		}
		return nil
	}})
	w.Create(0, both)
	if err := w.AwaitReady(both-ofShard, startLimit); err != nil {
		t.Fatal(err)
	}
	if ready := len(w.Ready()); ready != both-ofShard {
		t.Errorf("%d clusters are Ready without an operator for the shard, expected %d", ready, both-ofShard)
	}
	shard := w.StartAnother("--shard=a")
	if err := w.AwaitReady(both, startLimit); err != nil {
		t.Fatal(err)
	}
	for operator, clusters := range map[*fleet.Program]int{w.Operator: both - ofShard, shard: ofShard} {
		used, err := operator.Usage()
		if err != nil {
			t.Fatal(err)
		}
		if created := used.Writes["create PodDisruptionBudget"]; created != clusters {
			t.Errorf("an operator created %d PodDisruptionBudgets, expected one for each of its %d clusters: %v", created, clusters, used.Writes)
		}
	}
}

// memoryLimit is for each operator, in bytes.
const memoryLimit = 50 << 20

func TestEachOperatorNeedsLittleMemoryForOneCluster(t *testing.T) {
	w := fleet.New(t, fleet.Options{TLS: true})
	w.Create(0, 1)
	if err := w.AwaitReady(1, startLimit); err != nil {
		t.Fatal(err)
	}
	programs := map[string]*fleet.Program{
		"cluster-operator": w.Operator,
		"backup-operator":  w.StartOther("backup-operator", "--spool-dir="+t.TempDir()),
		"restore-operator": w.StartOther("restore-operator"),
	}
	w.Pause(2 * period)
	for name, program := range programs {
		used := measure.Anonymous(program.PID())
		t.Logf("%s: %d MiB", name, used>>20)
		if used == 0 || used > memoryLimit {
			t.Errorf("%s uses %d MiB with one cluster, the limit is %d MiB", name, used>>20, memoryLimit>>20)
		}
	}
}

// withoutRepeats counts writes of objects. On a slow machine the operator may create a member's object twice, because its cache does not
// have the first yet.
func withoutRepeats(used fleet.Usage) (writes int) {
	for call, n := range used.Writes {
		if call == "patch EtcdCluster" {
			continue
		}
		if call == "create Pod" || call == "create PersistentVolumeClaim" {
			n = min(n, clusters*3)
		}
		writes += n
	}
	return writes
}

// idle checks what healthy clusters cost.
func idle(t *testing.T, w *fleet.World, before fleet.Usage) {
	t.Helper()
	looks, begin := w.Fleet.Count(), time.Now()
	w.Pause(period)
	now := w.Fleet.Count()
	used := usage(t, w).Since(before)
	if len(used.Writes) > 0 || used.Reads > 0 {
		t.Errorf("the operator sent requests for idle clusters: writes %v, %d reads; the newest status changes: %s", used.Writes, used.Reads, w.Changes())
	}
	if missed := w.Fleet.NotLookedAt(begin); len(missed) > 0 {
		t.Errorf("%d idle clusters were not looked at in %s", len(missed), period)
	}
	dials, asked := now.Dials-looks.Dials, now.Asked-looks.Asked
	if asked == 0 || dials*100 > asked*(100+inFlight) {
		t.Errorf("the operator made %d connections to ask members %d times, expected one each", dials, asked)
	}
}

// hang checks that members that hang keep the operator from no other cluster.
func hang(t *testing.T, w *fleet.World) {
	t.Helper()
	for n := range hanging {
		w.Fleet.Silence(w.Key(n), true)
	}
	begin := time.Now()
	w.Pause(period)
	if missed := w.Fleet.NotLookedAt(begin); len(missed) > 0 {
		t.Errorf("%d of %d clusters were not looked at in %s, while a member hung in each of %d", len(missed), clusters, period, hanging)
	}
	const limit = 10 * time.Second // a minute of 32 workers that wait would be longer
	for _, took := range w.Reactions([]int{hanging, hanging + 1, hanging + 2}, limit) {
		if took >= limit {
			t.Errorf("the operator did not replace a deleted Pod of a healthy cluster in %s", limit)
		}
	}
}

func usage(t *testing.T, w *fleet.World) fleet.Usage {
	t.Helper()
	used, err := w.Operator.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return used
}
