package attempt_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// oneSecret answers each read of a Secret with a new copy, as a client does that decodes an answer of the API server. It has keys that no store needs.
type oneSecret struct {
	client.Reader
	keys, bytes int
}

func (o oneSecret) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	secret, _ := into.(*corev1.Secret)
	secret.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
	secret.Data = map[string][]byte{"access-key-id": []byte("id"), "secret-access-key": []byte("key")}
	for k := range o.keys {
		secret.Data[strconv.Itoa(k)] = make([]byte, o.bytes)
	}
	return nil
}

// keeping is the store of the test, and keeps the one that the operator opens.
type keeping struct {
	objstore.Store
	opened objstore.Store
}

// An attempt waits for the one restore test of its namespace with its store open, and the store kept the whole Secret. So a tenant with one Secret and
// many small EtcdBackups filled the memory of backup-operator, and no namespace got a snapshot.
func TestAttemptsThatWaitForARestoreTestHoldNoSecrets(t *testing.T) {
	const attempts, bound = 40, 12
	options := queue.Options{MaxConcurrent: 4, MaxPerNamespace: 2, MaxPerStore: 3, MaxRestoreTests: 1} // as in the chart
	w := attempttest.NewWorld(t)
	w.Secrets = oneSecret{keys: 60, bytes: 16 << 10}
	w.Open = func(ctx context.Context, a connect.Access) (objstore.Store, error) {
		a.Endpoint, a.Region, a.ForcePathStyle = "https://s3.invalid", "us-east-1", true
		opened, err := connect.Open(ctx, a)
		return keeping{w.Store, opened}, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.Drill = func(ctx context.Context, _ proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
		<-ctx.Done() // the server sends a byte now and then
		return proof.RestoreTestResult{}, context.Cause(ctx)
	}
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 20
	}
	before := live()
	running := queue.NewAttempts(options.Lanes())
	for n := range attempts {
		s := statetest.Series(statetest.Verifies, func(s *state.State) {
			s.Name, s.UID = fmt.Sprintf("b%d", n), types.UID(fmt.Sprint(n))
		})
		o := state.JobSpecOf(s)
		o.Kind, o.Target.Secret = state.KindSnapshot, "many"
		key := worker.Key{Object: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, UID: s.UID}
		running.Start(key, options.Limits().Claim(o), &queue.Progress{Kind: state.KindSnapshot}, func(ctx context.Context, p *queue.Progress) state.Result {
			r := w.Run(ctx, o, p)
			if ctx.Err() == nil {
				t.Errorf("%s: %+v", s.Name, r.Failure)
			}
			return r
		})
	}
	deadline := time.After(2 * time.Minute)
	for waiting := 0; waiting < attempts; {
		select {
		case <-deadline:
			t.Fatalf("%d attempts wait for their restore test", waiting)
		case <-time.After(10 * time.Millisecond):
			_, waiting = running.Pool.Queue(queue.LaneVerify)
		}
	}
	if held := live() - before; held > bound {
		t.Errorf("%d attempts of one namespace that wait for a restore test hold %d MiB: %d MiB each", attempts, held, held/attempts)
	}
	done := make(chan struct{})
	cancel()
	go func() { _ = running.Pool.Run(ctx); close(done) }()
	<-done
}

// 150,000 keys fit into one Secret, and take 25 MiB in memory. The status names the Secret.
func TestAnAttemptRefusesASecretOfTooManyKeys(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Secrets = oneSecret{keys: 150_000}
	o := state.JobSpecOf(statetest.Series(statetest.Verifies))
	o.Kind, o.Target.Secret = state.KindSnapshot, "many"
	got := w.Run(t.Context(), o, &queue.Progress{Kind: state.KindSnapshot}).Failure
	if got == nil || got.Reason != v1beta2.ReasonSecretMissing || !strings.Contains(got.Message, "Secret many in namespace ns has 150002 keys") {
		t.Errorf("the failure is %+v", got)
	}
}
