package restore

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// restarted is the process after one that ended without a word.
func (b *bench) restarted() {
	b.Helper()
	b.r.reader.proofs, b.r.reader.begun = worker.New[state.Proof](1), begun{}
	if err := b.r.reader.proofs.Source().Start(b.Context(), b.queue); err != nil {
		b.Fatal(err)
	}
}

func TestTheStatusRecordsAnAttemptBeforeItReads(t *testing.T) {
	for _, queued := range []bool{false, true} {
		var b *bench
		began, ended := make(chan struct{}, 2), make(chan struct{}, 2)
		read := func(ctx context.Context, asked Asked) (Found, error) {
			if b.restore().Status.LastAttemptTime == nil {
				t.Errorf("queued %v: the status does not say that the reading has begun", queued)
			}
			began <- struct{}{}
			<-ctx.Done() // the end of the process
			ended <- struct{}{}
			return Found{}, ctx.Err()
		}
		b = newBench(t, read, interceptor.Funcs{}, theCluster(), awsSecret())
		release, other := make(chan struct{}), worker.Key{UID: "other"}
		if queued {
			b.r.reader.proofs.Start(other, func(context.Context) (state.Proof, error) { <-release; return state.Proof{}, nil })
		}
		b.pass()
		if got := b.restore().Status.LastAttemptTime; queued && got != nil {
			t.Error("the status says that an attempt has begun that waits")
		}
		close(release)
		for got := false; queued && !got; { // the worker that begins starts a pass
			request, _ := b.queue.Get()
			b.queue.Done(request)
			if got = request == b.request; got {
				b.pass()
			}
		}
		<-began
		b.r.reader.proofs.ForgetOthers(b.request.NamespacedName, "")
		<-ended
		b.restarted()
		if result := b.pass(); result.RequeueAfter != 5*time.Second || b.reads.Load() != 1 {
			t.Errorf("queued %v: after the restart %d readings have begun, and the next pass is in %s", queued, b.reads.Load(), result.RequeueAfter)
		}
		b.clock.Step(5 * time.Second)
		b.pass()
		if got := b.restore().Status; got.Attempts != 2 || got.NextTime != nil {
			t.Errorf("queued %v: after the pause the status has %d attempts, next %v", queued, got.Attempts, got.NextTime)
		}
		<-began
		b.r.reader.proofs.ForgetOthers(b.request.NamespacedName, "")
		<-ended
	}
}
