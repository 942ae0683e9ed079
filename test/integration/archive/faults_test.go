package archive_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// refuseFaults damages the segments that lead to a target, one after the other, in each way. dir is that of the store.
func (b *bench) refuseFaults(dir string) {
	b.Helper()
	choice, target := b.longest()
	links := choice.Links
	if len(links) < 3 {
		b.Fatalf("only %d segments lead to %s", len(links), target)
	}
	middle := links[len(links)/2]
	path := func(l archive.Link) string { return filepath.Join(dir, filepath.FromSlash(l.Key)) }
	original := read(b.T, path(middle))
	next := read(b.T, path(links[len(links)/2+1]))
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
		if err := os.WriteFile(path(middle), content, 0o600); err != nil {
			b.Fatal(err)
		}
		if content == nil {
			if err := os.Remove(path(middle)); err != nil {
				b.Fatal(err)
			}
		}
		_, err := b.restore(b.Context(), target)
		var at *archive.RevisionError
		var refusal *archive.Refusal
		switch {
		case errors.As(err, &at) && at.Revision >= middle.Header.First && at.Revision <= middle.Header.Last+1:
		case content == nil && errors.As(err, &refusal) && refusal.Before != nil && refusal.Before.Revision == middle.Header.First-1:
		default:
			b.Errorf("%s: got %v, want an error that names a revision from %d to %d", name, err, middle.Header.First, middle.Header.Last)
		}
	}
	if err := os.WriteFile(path(middle), original, 0o600); err != nil {
		b.Fatal(err)
	}
	b.refuseSwapped(path(middle), path(links[len(links)/2+1]), middle.Header.First, target)
	if _, err := b.restore(b.Context(), target); err != nil {
		b.Errorf("without a fault: %v", err)
	}
}

// refuseSwapped exchanges the objects of two segments that follow each other. The first one begins with a revision.
func (b *bench) refuseSwapped(path, next string, first int64, target archive.Target) {
	b.Helper()
	one, two := read(b.T, path), read(b.T, next)
	write := func(to string, content []byte) {
		if err := os.WriteFile(to, content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	write(path, two)
	write(next, one)
	_, err := b.restore(b.Context(), target)
	var at *archive.RevisionError
	if !errors.As(err, &at) || at.Revision != first {
		b.Errorf("two segments are swapped: got %v, want an error that names revision %d", err, first)
	}
	write(path, one)
	write(next, two)
}

// longest returns the target with the most segments.
func (b *bench) longest() (longest archive.Choice, target archive.Target) {
	b.Helper()
	histories, err := archive.Read(b.Context(), b.store, root)
	if err != nil {
		b.Fatal(err)
	}
	bases := b.world.bases()
	for _, r := range archive.Recoverable(histories, bases) {
		c, err := archive.Select(histories, bases, archive.Target{Revision: r.To.Revision})
		if err == nil && len(c.Links) > len(longest.Links) {
			longest, target = c, archive.Target{Revision: r.To.Revision}
		}
	}
	return longest, target
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// expireLeases starts a real member on a restored target, and waits until its leases delete their keys.
func (b *bench) expireLeases(minor string) {
	b.Helper()
	var chosen restored
	for _, want := range b.world.records() {
		if r, err := b.restore(b.Context(), archive.Target{Revision: want.revision}); err == nil && r.result.Leases > 0 {
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
