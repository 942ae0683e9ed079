package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// refuseFaults damages the segments that lead to a target, one after the other, in each way.
func (b *bench) refuseFaults() {
	b.Helper()
	choice, target := b.longest()
	links := choice.Links
	if len(links) < 3 {
		b.Fatalf("only %d segments lead to %s", len(links), target)
	}
	middle, after := links[len(links)/2], links[len(links)/2+1]
	original, next := b.read(middle.Key), b.read(after.Key)
	flipped := func(at int) []byte {
		content := bytes.Clone(original)
		content[at] ^= 0x10
		return content
	}
	body := bytes.IndexByte(original, '\n') + 1
	for name, content := range map[string][]byte{
		"truncated in its header":  original[:body/2],
		"truncated in its records": original[:(body+len(original))/2],
		"without its end":          original[:len(original)-1],
		"a bit of the header":      flipped(body / 2),
		"a bit of the records":     flipped((body + len(original)) / 2),
		"the last bit":             flipped(len(original) - 1),
		"another segment":          next,
		"missing":                  nil,
	} {
		b.replace(middle.Key, content)
		b.refuses(name, middle.Header, target)
	}
	b.replace(middle.Key, original)
	b.refuseOtherEvents(links, target)
	b.replace(middle.Key, next)
	b.replace(after.Key, original)
	b.refuses("two segments are swapped", archive.Header{First: middle.Header.First, Last: middle.Header.First - 1}, target)
	b.replace(middle.Key, original)
	b.replace(after.Key, next)
	if _, err := b.restore(b.Context(), target); err != nil {
		b.Errorf("without a fault: %v", err)
	}
}

// refuses checks that the error of a restore names a revision of the damaged link, or one beside it.
func (b *bench) refuses(name string, damaged archive.Header, target archive.Target) {
	b.Helper()
	_, err := b.restore(b.Context(), target)
	var at *archive.RevisionError
	var refusal *archive.Refusal
	switch {
	case errors.As(err, &at) && at.Revision >= damaged.First && at.Revision <= damaged.Last+1:
	case errors.As(err, &refusal) && refusal.Before != nil && refusal.Before.Revision >= damaged.First-1 && refusal.Before.Revision <= damaged.Last:
	default:
		b.Errorf("%s: got %v, want an error that names a revision from %d to %d", name, err, damaged.First, damaged.Last)
	}
}

// longest returns the target with the most segments. It tries what was recorded.
func (b *bench) longest() (longest archive.Choice, target archive.Target) {
	b.Helper()
	for _, r := range b.world.records() {
		try := archive.Target{Revision: r.revision}
		found, err := b.world.service.find(b.Context(), try)
		if err == nil && len(found.Links) >= len(longest.Links) {
			longest, target = found.Choice, try
		}
	}
	return longest, target
}

func (b *bench) read(key string) []byte {
	b.Helper()
	r, err := b.world.store.Get(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// replace replaces an object of the store, which the product never does. It only deletes the object if content is nil.
func (b *bench) replace(key string, content []byte) {
	b.Helper()
	err := b.world.store.Delete(b.Context(), key)
	if err == nil && content != nil {
		err = b.world.store.Put(b.Context(), key, bytes.NewReader(content))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// expireLeases starts a real member on a restored target, and waits until its leases delete their keys.
func (b *bench) expireLeases(minor string) {
	b.Helper()
	var chosen restored
	for _, want := range b.world.records() {
		if r, err := b.restore(b.Context(), archive.Target{Revision: want.revision}); err == nil && r.result.Leases > 0 && r.result.Fallback == 0 { // those without a known time live longer
			chosen = r
			break
		}
	}
	if chosen.path == "" {
		b.Fatal("no revision has a lease")
	}
	const token = "restored"
	peer := servers.PeerURL(b.T)
	dir := filepath.Join(b.TempDir(), "data")
	err := dbfile.Restore(b.Context(), dbfile.Options{
		SnapshotPath: chosen.path, DataDir: dir, Name: "m0", PeerURLs: []string{peer}, InitialCluster: "m0=" + peer, Token: token,
	})
	if err != nil {
		b.Fatal(err)
	}
	member := servers.EtcdFromDataDir(b.T, minor, dir, "m0", peer, token)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.ClientURL}, DialTimeout: 3 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for leased := -1; leased != 0; {
		response, err := client.Get(ctx, "", clientv3.WithPrefix())
		if err != nil {
			b.Fatalf("leases of revision %d: %d keys are left: %v", chosen.result.Revision, leased, err)
		}
		leased = 0
		for _, kv := range response.Kvs {
			if kv.Lease != 0 {
				leased++
			}
		}
		<-tick.C
	}
}
