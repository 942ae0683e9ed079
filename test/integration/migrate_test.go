package integration

import (
	"context"
	"io"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// newMigrationBench has a source that the operators do not know, and all three operators.
func newMigrationBench(t *testing.T, minor string) *standbyBench {
	p := &pointBench{etcd: servers.Etcd(t, servers.EtcdOptions{Minor: minor})}
	var err error
	if p.kv, err = clientv3.New(clientv3.Config{Endpoints: p.etcd.Endpoints(), DialTimeout: 3 * time.Second, Logger: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.kv.Close() })
	p.backupBench = newBackupBench(t)
	p.restores = &restoreBench{T: t, namespace: p.namespace, server: p.server, bucket: p.bucket, spool: t.TempDir(), allowed: p.allowed}
	p.restores.start()
	b := &standbyBench{pointBench: p, cluster: &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "moved"}}}
	b.restore = &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "moved-move"}}
	createStorageClass(t)
	b.pods = podrunner.Start(t, b.namespace)
	operateOne(b, b.cluster)
	return b
}

// printed is what a command has printed, while it runs.
type printed struct {
	lock sync.Mutex
	text strings.Builder
	// seen is called after each line.
	seen func(all string)
}

func (p *printed) Write(text []byte) (int, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	n, err := p.text.Write(text)
	if p.seen != nil {
		p.seen(p.text.String())
	}
	return n, err
}

// plugin runs kubectl etcd in the namespace, without a terminal. seen is called with all that it has printed.
func (b *standbyBench) plugin(ctx context.Context, seen func(string), args ...string) (string, error) {
	b.Helper()
	set, err := kubernetes.NewForConfig(kubetest.Config(b))
	if err != nil {
		b.Fatal(err)
	}
	out := &printed{seen: seen}
	s := session.New(session.IO{In: strings.NewReader(""), Out: out, Err: io.Discard, Now: time.Now})
	s.Known = &session.World{Client: kubetest.Client(b), Core: set, Namespace: b.namespace, Config: kubetest.Config(b)}
	s.Reach = func(pod corev1.Pod) string { return net.JoinHostPort(pod.Status.PodIP, "2379") } // there is no kubelet that forwards ports
	root := cli.Of(s, "test")
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	b.Logf("kubectl etcd %s:\n%s%v", strings.Join(args, " "), out.text.String(), err)
	return out.text.String(), err
}

// The whole command moves an etcd that clients write to. What a user would lose is a write that was acknowledged before the source has stopped, or the order of the
// revisions, or the source itself: a user deletes it because the command says that both sides are equal.
func TestMigrateMovesARunningEtcdWithoutTheLossOfAWrite(t *testing.T) {
	b := newMigrationBench(t, "3.5")
	b.put("before", 30)
	if _, err := b.kv.Compact(t.Context(), b.put("compacted", 10)); err != nil { // the hash of both versions begins there
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	last := make(chan int64, 1)
	go func() { last <- b.writes(ctx) }()

	begun, interrupt := context.WithCancel(t.Context())
	_, err := b.plugin(begun, func(all string) {
		if strings.Contains(all, "EtcdCluster moved is created") {
			interrupt()
		}
	}, "migrate", "moved", "--from-endpoints", strings.Join(b.etcd.Endpoints(), ","), "--storage", "S3", "--path", "backups/move", "--secret", "aws",
		"--endpoint", b.server.Endpoint, "--path-style", "--size", "1", "--no-tls", "--yes")
	interrupt()
	if err == nil || !strings.Contains(err.Error(), "interrupted") || !strings.Contains(err.Error(), "nothing has changed for clients") {
		t.Errorf("Ctrl-C: %v", err)
	}
	b.accepts()

	out, err := b.plugin(t.Context(), nil, "migrate", "moved", "--yes", "--timeout", "2m")
	stop()
	acknowledged := <-last
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "Verified: At revision") || !strings.Contains(out, "Clients now: http://moved-client."+b.namespace+".svc:2379") {
		t.Errorf("the end of the command:\n%s", out)
	}
	s := b.reload()
	if p := s.Follow.Promoted; p == nil || !p.Planned || p.Revision != acknowledged || s.RestoredRevision != acknowledged {
		t.Errorf("etcd has acknowledged revision %d, and the status has %+v with revision %d", acknowledged, p, s.RestoredRevision)
	}
	want, err := everything(t.Context(), b.kv)
	if err != nil {
		t.Fatal(err)
	}
	b.serves(want)
	if _, err := b.kv.Put(t.Context(), "after", "v"); err == nil {
		t.Error("the source takes writes beside the new cluster")
	}

	b.changeMoved("before/0")
	if out, err := b.plugin(t.Context(), nil, "migrate", "moved", "--yes", "--timeout", "2m"); err != nil || !strings.Contains(out, "Verified: At revision") {
		t.Errorf("a write to the new cluster after the move is not one that is lost: %v\n%s", err, out)
	}
}

// changeMoved writes a key of the new cluster.
func (b *standbyBench) changeMoved(key string) {
	b.Helper()
	kv, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + net.JoinHostPort(b.pod().Status.PodIP, "2379")}, DialTimeout: 3 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	defer kv.Close()
	if _, err := kv.Put(b.Context(), key, "changed"); err != nil {
		b.Fatal(err)
	}
}

// An etcd 3.4 that this machine does not reach is found out by the operator. Only its EtcdBackup exists by then.
func TestMigrateRefusesAnEtcdThatCannotBeArchived(t *testing.T) {
	b := newMigrationBench(t, "3.4")
	args := []string{"migrate", "moved", "--from-endpoints", strings.Join(b.etcd.Endpoints(), ","), "--storage", "S3", "--path", "backups/move", "--secret", "aws",
		"--endpoint", b.server.Endpoint, "--path-style", "--no-tls", "--yes"}
	for _, via := range []string{"", "127.0.0.1:1"} {
		_, err := b.plugin(t.Context(), nil, append(args, "--via", via)...)
		if err == nil || !strings.Contains(err.Error(), "snapshot save old.db") && !strings.Contains(err.Error(), v1beta2.ReasonArchiveNotSupported) {
			t.Errorf("by %q: %v", via, err)
		}
		objects := map[string]bool{}
		for kind, list := range map[string]client.ObjectList{"EtcdBackup": &v1beta2.EtcdBackupList{}, "EtcdRestore": &v1beta2.EtcdRestoreList{}, "EtcdCluster": &v1beta2.EtcdClusterList{}} {
			if err := kubetest.Client(t).List(t.Context(), list, client.InNamespace(b.namespace)); err != nil {
				t.Fatal(err)
			}
			if n := list.GetRemainingItemCount(); n != nil || lengthOf(list) > 0 {
				objects[kind] = true
			}
		}
		if want := map[string]bool{"EtcdBackup": true}; via == "" && len(objects) > 0 || via != "" && !maps.Equal(objects, want) {
			t.Errorf("by %q: there are %v", via, objects)
		}
	}
}

func lengthOf(list client.ObjectList) int {
	switch l := list.(type) {
	case *v1beta2.EtcdBackupList:
		return len(l.Items)
	case *v1beta2.EtcdRestoreList:
		return len(l.Items)
	case *v1beta2.EtcdClusterList:
		return len(l.Items)
	}
	return 0
}
