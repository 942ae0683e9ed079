// Package hostile has a namespace that attacks the operators' memory and their queues, and one that only wants its backups.
package hostile

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// world has both operators as programs of their own, with the limits of the chart, and two namespaces.
type world struct {
	*testing.T
	etcd            *servers.EtcdCluster
	store           *servers.S3Server
	good, bad       string
	backup, restore *fleet.Program
	hostileBackups  []*v1beta2.EtcdBackup
	hostileRestores []*v1beta2.EtcdRestore
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, etcd: servers.Etcd(t, servers.EtcdOptions{}), store: servers.S3(t), good: kubetest.Namespace(t), bad: kubetest.Namespace(t)}
	w.store.CreateBucket(t, "backups")
	for i := range 100 {
		w.etcd.Members[0].Put(t, fmt.Sprintf("key-%d", i), "value")
	}
	for _, namespace := range []string{w.good, w.bad} {
		kubetest.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "aws"}, Data: map[string][]byte{
			"access-key-id": []byte(w.store.AccessKey), "secret-access-key": []byte(w.store.SecretKey),
		}})
	}
	w.backup, w.restore = w.start("backup-operator", "--jitter=0"), w.start("restore-operator")
	return w
}

// limit is the memory of a container in the chart, for both operators.
const limit = 2 << 30

func (w *world) start(name string, flags ...string) *fleet.Program {
	return start(w.T, name, limit, append(flags, "--spool-dir="+w.TempDir(), "--spool-limit=4Gi", "--watch-namespaces="+w.good+","+w.bad)...)
}

// s3 is a path at a server.
func (w *world) s3(endpoint, path string) v1beta2.Storage {
	return v1beta2.Storage{S3: &v1beta2.S3Source{Path: path, AWSSecret: "aws", Endpoint: endpoint, ForcePathStyle: true}}
}

func (w *world) newBackup(namespace, name string, storage v1beta2.Storage) *v1beta2.EtcdBackup {
	return &v1beta2.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1beta2.EtcdBackupSpec{EtcdEndpoints: w.etcd.Endpoints(), StorageType: v1beta2.StorageS3, Storage: storage},
	}
}

// newRestore returns an EtcdRestore into an EtcdCluster of its name, which it creates.
func (w *world) newRestore(namespace, name string, storage v1beta2.Storage) *v1beta2.EtcdRestore {
	w.Helper()
	kubetest.Create(w, &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"}})
	return &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1beta2.EtcdRestoreSpec{
			EtcdCluster: v1beta2.ClusterReference{Name: name}, BackupStorageType: v1beta2.StorageS3, Storage: storage,
		},
	}
}

// attack creates 20 objects, each of which has its own way to take the operators' memory, time or places.
func (w *world) attack() {
	w.put("bomb.db.zst", compressed(w, make([]byte, 600<<20)))
	w.put("chain.db.zst", compressed(w, chain(w)))
	w.server(0, server(w, http.StatusBadRequest, "<Error><Code>", piece))
	w.server(1, server(w, http.StatusOK, "<ListBucketResult><Contents><Key>", piece))
	w.server(2, server(w, http.StatusOK, "<ListBucketResult>", "<Contents><Key>"+strings.Repeat("k", 1000)+"</Key><Size>1</Size></Contents>"))
	for _, object := range []string{"bomb", "chain"} {
		for i := range 2 {
			w.hostileRestores = append(w.hostileRestores, w.newRestore(w.bad, fmt.Sprintf("%s-%d", object, i), w.s3(w.store.Endpoint, "backups/"+object+".db.zst")))
		}
	}
	tried := len(w.hostileBackups)
	w.server(3, server(w, http.StatusOK, "", "a", time.Second))
	for _, backup := range w.hostileBackups {
		kubetest.Create(w, backup)
	}
	for _, restore := range w.hostileRestores {
		kubetest.Create(w, restore)
	}
	w.hostileBackups, w.hostileRestores = w.hostileBackups[:tried], w.hostileRestores[:len(w.hostileRestores)-1] // the slow ones hold their places for minutes
}

// server names a server in place of each kind of server that an object can name.
func (w *world) server(i int, url string) {
	atGoogle := w.newBackup(w.bad, fmt.Sprintf("google-%d", i), v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: "backups/key", Endpoint: url}})
	atGoogle.Spec.StorageType = v1beta2.StorageGCS
	etcd := w.newBackup(w.bad, fmt.Sprintf("etcd-%d", i), w.s3(w.store.Endpoint, "backups/key"))
	etcd.Spec.EtcdEndpoints = []string{url}
	w.hostileBackups = append(w.hostileBackups, atGoogle, etcd, w.newBackup(w.bad, fmt.Sprintf("s3-%d", i), w.s3(url, "backups/key")))
	w.hostileRestores = append(w.hostileRestores, w.newRestore(w.bad, fmt.Sprintf("s3-%d", i), w.s3(url, "backups/key.db")))
}

var piece = strings.Repeat("a", 1<<16)

// server answers each request with a body without an end.
func server(t testing.TB, status int, begins, then string, pause ...time.Duration) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, err := w.Write([]byte(begins))
		for err == nil && r.Context().Err() == nil {
			for _, p := range pause {
				_ = http.NewResponseController(w).Flush()
				<-time.After(p)
			}
			_, err = w.Write([]byte(then))
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

func (w *world) put(key string, content []byte) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.store.BucketDir("backups"), key), content, 0o600); err != nil {
		w.Fatal(err)
	}
}

func compressed(t testing.TB, content []byte) []byte {
	var small bytes.Buffer
	z, err := zstd.NewWriter(&small)
	if err == nil {
		_, err = z.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return small.Bytes()
}

// chain is a crafted database that asks its reader for 768 MiB at once.
func chain(t testing.TB) []byte {
	path := filepath.Join(t.TempDir(), "chain.db")
	dbfiletest.Chain(t, path, 6, 128<<20)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
