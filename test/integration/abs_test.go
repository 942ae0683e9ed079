package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

func TestABSStore(t *testing.T) {
	t.Parallel()
	server := servers.Azurite(t)
	var count atomic.Int32
	location := func(t *testing.T) connect.Access {
		name := fmt.Sprintf("container-%d", count.Add(1))
		server.CreateContainer(t, name)
		return absLocation(server, name)
	}
	objstoretest.Run(t, func(t *testing.T) objstore.Store { return open(t, location(t)) })

	t.Run("reports a missing container", func(t *testing.T) {
		objstoretest.RunNoBucket(t, open(t, absLocation(server, "absent-container")), "absent-container")
	})
	t.Run("reports a wrong key", func(t *testing.T) {
		l := location(t)
		l.Data["storage-key"] = []byte("d3Jvbmc=")
		objstoretest.RunDenied(t, open(t, l), l.Bucket, "d3Jvbmc=")
	})
	t.Run("reports a server that does not listen", func(t *testing.T) {
		l := absLocation(server, "container")
		l.Endpoint = servers.PeerURL(t) + "/" + server.Account
		objstoretest.RunUnreachable(t, open(t, l), l.Endpoint)
	})
	t.Run("stores nothing if a block changed in transit", func(t *testing.T) {
		l := location(t)
		direct := open(t, l)
		proxy := servers.NewFaulty(t, server.URL, func(n int, r *http.Request) servers.Fault {
			if n == 1 {
				changeByte(r)
			}
			return servers.Served
		})
		l.Endpoint = strings.Replace(l.Endpoint, server.URL, proxy.URL, 1)
		// Azure names the reason Md5Mismatch, and the store sends the block again; Azurite names it InvalidOperation.
		if err := open(t, l).Put(t.Context(), "key", bytes.NewReader(large)); err == nil {
			t.Error("the changed block was accepted")
		}
		if _, err := read(t, direct, "key"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v, want fs.ErrNotExist", err)
		}
	})
}

// TestABSBackupAndRestore follows a snapshot: backup-operator saves it, restore-operator proves it, and the seed fills a
// data directory with it.
func TestABSBackupAndRestore(t *testing.T) {
	t.Parallel()
	server := servers.Azurite(t)
	server.CreateContainer(t, "backups")
	bucket := absLocation(server, "backups")
	cluster := servers.Etcd(t, servers.EtcdOptions{Minor: "3.6"})
	client := dial(t, cluster.Members[0].ClientURL)
	fill(t, client)
	before := contentOf(t, client)
	block := func() v1beta2.Storage {
		return v1beta2.Storage{ABS: &v1beta2.ABSSource{Path: "backups/dir/one.db", ABSSecret: "azure", Endpoint: server.Endpoint}}
	}

	b := newBackupBench(t)
	backup := b.backup("abs", "", cluster.Endpoints()...)
	backup.Spec.StorageType, backup.Spec.Storage = v1beta2.StorageABS, block()
	kubetest.Create(t, b.secret("azure", bucket.Data), backup)
	b.ready(backup, metav1.ConditionTrue, v1beta2.ReasonComplete)
	b.fetchReported(backup, bucket)

	rb := newRestoreBench(t)
	rb.cluster("example", "3.6.16")
	restore := rb.restore("abs", "")
	restore.Spec.BackupStorageType, restore.Spec.Storage = v1beta2.StorageABS, block()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rb.namespace, Name: "azure"}, Data: bucket.Data}
	kubetest.Create(t, secret, restore)
	rb.await(restore, v1beta2.ReasonVerified)

	request := seedOf(t, restore)
	filler := seeder.Seeder{CredentialsDir: mounted(t, bucket.Data), RetryFor: time.Second, Log: testr.New(t)}
	if err := filler.Seed(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	member := servers.EtcdFromDataDir(t, "3.6", request.DataDir, request.Name, request.PeerURL, request.Token)
	if got := contentOf(t, dial(t, member.ClientURL)); !maps.Equal(got.keys, before.keys) || got.revision != before.revision+bump {
		t.Errorf("%d keys at revision %d, want %d at %d", len(got.keys), got.revision, len(before.keys), before.revision+bump)
	}
}

// seedOf returns the request that the seed parses from the arguments of cluster-operator for a verified restore.
func seedOf(t *testing.T, restore *v1beta2.EtcdRestore) seed.Request {
	t.Helper()
	proven := restore.Status.Snapshot
	written := seed.Request{
		Source: *restore.Status.Source, SHA256: proven.SHA256, Size: proven.Size, Revision: proven.Revision,
		DataDir: filepath.Join(t.TempDir(), "data"), Name: "seed", PeerURL: servers.PeerURL(t), Token: "uid-2", RevisionBump: bump,
	}
	read, err := seed.Parse(written.Args())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// mounted is a Secret as a kubelet mounts it.
func mounted(t *testing.T, data map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range data {
		if err := os.WriteFile(filepath.Join(dir, name), value, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func absLocation(server *servers.AzuriteServer, container string) connect.Access {
	return connect.Access{
		Location: storage.Location{Provider: v1beta2.StorageABS, Bucket: container, Endpoint: server.Endpoint},
		Data:     map[string][]byte{"storage-account": []byte(server.Account), "storage-key": []byte(server.Key + "\n")},
	}
}
