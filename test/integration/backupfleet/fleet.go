// Package backupfleet has many EtcdBackups that are due at the same time, with the real program of backup-operator, a real
// kube-apiserver, one small etcd and an S3 server. Its test checks what a busy machine cannot change. make bench-backups measures.
package backupfleet

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// Shares are the parts of the EtcdBackups in each namespace, in percent.
var Shares = []int{60, 25, 10, 4, 1}

// Options of a Fleet.
type Options struct {
	// N is the number of EtcdBackups.
	N int
	// Slow is how long the store takes for each snapshot.
	Slow time.Duration
}

// Done is one snapshot that is complete in the store.
type Done struct {
	Namespace int // in Shares
	Backup    client.ObjectKey
	Time      time.Time
}

// Fleet is the world around backup-operator.
type Fleet struct {
	t          testing.TB
	api        client.Client
	options    Options
	store      *servers.Faulty
	etcd       *servers.EtcdCluster
	program    fleet.Installed
	spool      string
	namespaces []string
	Operator   *fleet.Program

	mu       sync.Mutex
	requests int
	done     []Done
}

// New starts the servers. It starts no operator, and creates no EtcdBackups.
func New(t testing.TB, options Options) *Fleet {
	t.Helper()
	config := kubetest.Config(t)
	config.QPS = -1 // the harness must not be what is slow
	api, err := client.New(config, client.Options{Scheme: kubetest.Client(t).Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	f := &Fleet{t: t, api: api, options: options, etcd: servers.Etcd(t, servers.EtcdOptions{}), spool: t.TempDir()}
	for i := range 100 {
		f.etcd.Members[0].Put(t, fmt.Sprintf("key-%d", i), "value")
	}
	server := servers.S3(t)
	server.CreateBucket(t, "backups")
	f.store = servers.NewFaulty(t, server.Endpoint, f.request)
	for range Shares {
		namespace := kubetest.Namespace(t)
		f.namespaces = append(f.namespaces, namespace)
		kubetest.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "aws"}, Data: map[string][]byte{
			"access-key-id": []byte(server.AccessKey), "secret-access-key": []byte(server.SecretKey),
		}})
	}
	f.program = fleet.Build(t, "backup-operator")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the operator's log:\n%s", f.program.Log())
		}
	})
	return f
}

// Start starts the operator, once more after Stop.
func (f *Fleet) Start(flags ...string) {
	f.Operator = f.program.Start(f.t, append([]string{"--spool-dir=" + f.spool, "--watch-namespaces=" + strings.Join(f.namespaces, ",")}, flags...)...)
}

// request sees a request to the store. A manifest completes a snapshot.
func (f *Fleet) request(_ int, r *http.Request) servers.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if r.Method != http.MethodPut {
		return servers.Served
	}
	for i, namespace := range f.namespaces {
		if _, below, is := strings.Cut(r.URL.Path, "/"+namespace+"/"); is && strings.HasSuffix(below, ".db.json") {
			name, _, _ := strings.Cut(below, "/")
			f.done = append(f.done, Done{i, client.ObjectKey{Namespace: namespace, Name: name}, time.Now()})
		}
	}
	if f.options.Slow > 0 && strings.HasSuffix(r.URL.Path, ".db") {
		f.mu.Unlock()
		<-time.After(f.options.Slow)
		f.mu.Lock()
	}
	return servers.Served
}

// Requests returns the number of requests to the store.
func (f *Fleet) Requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests
}

// Done returns the complete snapshots in their order.
func (f *Fleet) Done() []Done {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Done(nil), f.done...)
}

// Count returns how many EtcdBackups a namespace has.
func (f *Fleet) Count(namespace int) int {
	if namespace == 0 {
		rest := f.options.N
		for i := 1; i < len(Shares); i++ {
			rest -= f.Count(i)
		}
		return rest
	}
	return max(1, f.options.N*Shares[namespace]/100)
}

// Create creates the EtcdBackups of some namespaces.
func (f *Fleet) Create(policy v1beta2.BackupPolicy, from, to int) {
	f.t.Helper()
	var workers errgroup.Group
	workers.SetLimit(16)
	for i := from; i < to; i++ {
		namespace := f.namespaces[i]
		for n := range f.Count(i) {
			backup := &v1beta2.EtcdBackup{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("b%04d", n)},
				Spec: v1beta2.EtcdBackupSpec{
					EtcdEndpoints: f.etcd.Endpoints(), BackupPolicy: policy.DeepCopy(), StorageType: v1beta2.StorageS3,
					Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "backups/all", AWSSecret: "aws", Endpoint: f.store.URL, ForcePathStyle: true}},
				},
			}
			workers.Go(func() error { return f.api.Create(f.t.Context(), backup) })
		}
	}
	if err := workers.Wait(); err != nil {
		f.t.Fatalf("create the EtcdBackups: %v", err)
	}
}

// Backups reads all EtcdBackups.
func (f *Fleet) Backups() (all []v1beta2.EtcdBackup) {
	f.t.Helper()
	for _, namespace := range f.namespaces {
		var list v1beta2.EtcdBackupList
		if err := f.api.List(f.t.Context(), &list, client.InNamespace(namespace)); err != nil {
			f.t.Fatal(err)
		}
		all = append(all, list.Items...)
	}
	return all
}

// Await waits until a condition holds, and calls it every 100 ms.
func (f *Fleet) Await(what string, limit time.Duration, condition func() bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.t.Fatalf("after %s not: %s (%d of %d snapshots are complete)", limit, what, len(f.Done()), f.options.N)
		}
	}
}

// AwaitReported waits until the status of each EtcdBackup has its snapshot.
func (f *Fleet) AwaitReported(limit time.Duration) {
	f.t.Helper()
	f.Await("all snapshots are complete", limit, func() bool { return len(f.Done()) >= f.options.N })
	f.Await("every status has its snapshot", limit, func() bool {
		for _, b := range f.Backups() {
			if !b.Status.Succeeded || b.Status.Snapshot == nil {
				return false
			}
		}
		return true
	})
}
