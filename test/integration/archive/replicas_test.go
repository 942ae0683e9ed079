package archive_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// replicas is a service of two processes of backup-operator. One of them has the Lease and archives, the other one is on standby.
type replicas struct {
	*world
	installed fleet.Installed
	namespace string
	source    v1beta2.RestoreSource
	secret    map[string][]byte
	spools    [2]string
	files     map[string]string // base snapshots that were downloaded, by key

	turn     sync.Mutex // held while processes are killed and started
	programs [2]*fleet.Program

	counting sync.Mutex
	done     map[string]int // disturbances
}

// segments are the links that a run has at least.
const segments = 8

// A disturbance is what happens to the processes. It returns when one archives again.
type disturbance struct {
	name string
	do   func(r *replicas, ctx context.Context, random *rand.Rand)
}

var disturbances = []disturbance{
	{"the leader was killed", (*replicas).killLeader},
	{"the leader was frozen and woke up beside its successor", (*replicas).freezeLeader},
	{"both were killed", (*replicas).killBoth},
}

func (r *replicas) archive(ctx context.Context, random *rand.Rand) {
	r.startAll()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(500+random.IntN(4000)) * time.Millisecond):
		}
		d := disturbances[n%len(disturbances)] // in turn, so that a short run has all
		r.turn.Lock()
		d.do(r, ctx, random)
		r.turn.Unlock()
		r.counting.Lock()
		r.done[d.name]++
		r.counting.Unlock()
	}
}

func (r *replicas) startAll() {
	for i := range r.programs {
		r.start(i)
	}
}

// start starts a replica, as Kubernetes starts the container of a killed Pod again.
func (r *replicas) start(i int) {
	r.programs[i] = r.installed.Start(r.t, "--leader-elect=true", "--leader-election-namespace="+r.namespace,
		"--watch-namespaces="+r.namespace, "--spool-dir="+r.spools[i])
}

// leader returns the index of a replica that leads. Two may believe that they do.
func (r *replicas) leader(ctx context.Context) int {
	found := -1
	r.until(ctx, "one replica leads", func() bool {
		found = slices.IndexFunc(r.programs[:], (*fleet.Program).Leads)
		return found >= 0
	})
	return max(0, found)
}

// until waits on a condition, or until ctx ends.
func (r *replicas) until(ctx context.Context, what string, met func() bool) {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-limited.Done():
			if ctx.Err() == nil {
				r.t.Errorf("within a minute, this did not happen: %s", what)
			}
			return
		}
	}
}

func (r *replicas) killLeader(ctx context.Context, random *rand.Rand) {
	i := r.leader(ctx)
	r.programs[i].Kill()
	if !*patient || random.IntN(2) == 0 {
		r.expire()
	}
	r.until(ctx, "the standby takes over", r.programs[1-i].Leads)
	r.start(i)
}

// freezeLeader stops a leader until the other replica leads. Then both archive, until the first one sees that it lost the Lease.
func (r *replicas) freezeLeader(ctx context.Context, _ *rand.Rand) {
	i := r.leader(ctx)
	r.programs[i].Signal(syscall.SIGSTOP)
	r.expire()
	r.until(ctx, "the standby takes over", r.programs[1-i].Leads)
	r.programs[i].Signal(syscall.SIGCONT)
}

func (r *replicas) killBoth(context.Context, *rand.Rand) {
	r.killAll()
	r.startAll()
}

func (r *replicas) killAll() {
	for _, p := range r.programs {
		p.Kill()
	}
	r.expire()
}

// expire deletes the Lease, so that a test need not wait for its 15 seconds.
func (r *replicas) expire() {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: backup.Name + "." + v1beta2.Group}}
	if err := kubetest.Client(r.t).Delete(context.Background(), lease); client.IgnoreNotFound(err) != nil {
		r.t.Errorf("delete the Lease: %v", err)
	}
}

func (r *replicas) pause() (resume func()) {
	r.turn.Lock()
	r.killAll()
	return func() {
		r.startAll()
		r.turn.Unlock()
	}
}

func (r *replicas) begun() bool { return r.newest() != nil }

// newest returns the newest timeline in the store; nil if there is none.
func (r *replicas) newest() *archive.Names {
	all, release, err := archive.List(r.t.Context(), r.store, r.root)
	if err != nil {
		r.t.Errorf("list the archive: %v", err)
		return nil
	}
	release()
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

func (r *replicas) stored() int64 {
	names := r.newest()
	if names == nil || len(names.Links) == 0 {
		return 0
	}
	h, err := archive.ReadHeader(r.t.Context(), r.store, r.root, names.Links[len(names.Links)-1].Key(r.root))
	if err != nil {
		r.t.Errorf("read the newest segment: %v", err)
	}
	return h.Last
}

func (r *replicas) tested() bool {
	r.counting.Lock()
	defer r.counting.Unlock()
	names := r.newest()
	return len(r.done) == len(disturbances) && names != nil && len(names.Links) >= segments
}

func (r *replicas) report() string {
	r.counting.Lock()
	defer r.counting.Unlock()
	var counted []string
	for _, name := range slices.Sorted(maps.Keys(r.done)) {
		counted = append(counted, fmt.Sprintf("%d times %s", r.done[name], name))
	}
	return strings.Join(counted, ", ")
}

// find uses the code of restore-operator.
func (r *replicas) find(ctx context.Context, target archive.Target) (plan, error) {
	choice := source.Choice{Folder: true, Revision: target.Revision}
	if target.Revision == 0 {
		choice.Time = target.Time.Format(time.RFC3339Nano)
	}
	point, err := source.FindPoint(ctx, r.source, source.By{Secret: r.secret}, choice, archive.Progress{})
	if err != nil {
		return plan{}, err
	}
	if r.files[point.Base.Key] == "" {
		fetched, err := proof.Fetch(ctx, r.store, point.Base.Key, proof.Alone(r.t.TempDir()), []byte(r.identity.String()), snapshot.Anyone)
		if err != nil {
			return plan{}, err
		}
		r.files[point.Base.Key] = fetched.Path
	}
	return plan{point.Choice, r.files[point.Base.Key]}, nil
}
