package region

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// writePause is between two writes of a client.
	writePause = 10 * time.Millisecond
	// writeLimit is how long a write may take.
	writeLimit = 2 * time.Second
)

// acknowledgement is a write that etcd has acknowledged.
type acknowledgement struct {
	key      string
	revision int64
	at       time.Time
}

// A writer writes one key after the other.
type writer struct {
	stop  context.CancelFunc
	ended sync.WaitGroup
	// acknowledged may be read after end.
	acknowledged []acknowledgement
}

// write starts a writer of a cluster. It ends with the test, or before with end.
func (p place) write(name string) *writer {
	p.Helper()
	ctx, stop := context.WithCancel(p.Context())
	w, etcd := &writer{stop: stop}, p.etcd(name)
	w.ended.Go(func() { w.run(ctx, etcd) })
	p.Cleanup(func() { w.end(); etcd.Close() })
	return w
}

func (w *writer) run(ctx context.Context, etcd *clientv3.Client) {
	pause := time.NewTicker(writePause)
	defer pause.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("written/%08d", i)
		limited, cancel := context.WithTimeout(ctx, writeLimit)
		if answer, err := etcd.Put(limited, key, key); err == nil {
			w.acknowledged = append(w.acknowledged, acknowledgement{key, answer.Header.Revision, time.Now()})
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

// end ends the writer, and returns what was acknowledged.
func (w *writer) end() []acknowledgement {
	w.stop()
	w.ended.Wait()
	return w.acknowledged
}

// etcd returns a client with the certificate of the cluster's clients.
func (p place) etcd(name string) *clientv3.Client {
	p.Helper()
	config, err := p.suite.ClientTLS(p.Context(), p.name, name)
	if err != nil {
		p.Fatal(err)
	}
	connected, err := p.suite.Etcd(p.Context(), p.name, name, config)
	if err != nil {
		p.Fatal(err)
	}
	return connected
}

// held returns the keys of writers that a cluster has, each with the revision of its write.
func (p place) held(name string) map[string]int64 {
	p.Helper()
	etcd := p.etcd(name)
	defer etcd.Close()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	answer, err := etcd.Get(ctx, "written/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		p.Fatal(err)
	}
	found := map[string]int64{}
	for _, pair := range answer.Kvs {
		found[string(pair.Key)] = pair.ModRevision
	}
	return found
}
