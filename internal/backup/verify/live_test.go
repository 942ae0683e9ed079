package verify_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

func TestASnapshotIsComparedWithItsOwnClusterOnly(t *testing.T) {
	w := attempttest.NewWorld(t)
	var asked []string
	w.Hash = func(_ context.Context, url string, _ ask.Access, _ int64) (uint32, int64, error) {
		asked = append(asked, url)
		if url == "bb" {
			return 0, 0, errors.New("future revision")
		}
		return 7, 3, nil
	}
	l := verify.LiveOf(w.Tester, "0000000000000001")
	w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
		return []ask.Answer{clientstest.Member("a", 9, clientstest.IsDown), clientstest.Member("bb", 9), clientstest.Member("ccc", 9), clientstest.Member("d", 9)}
	}
	if hash, compacted, err := l.HashKV(t.Context(), 9); err != nil || hash != 7 || compacted != 3 || strings.Join(asked, " ") != "bb ccc" {
		t.Errorf("%d %d %v, asked %q", hash, compacted, err, asked)
	}
	w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
		return []ask.Answer{clientstest.Member("a", 9, clientstest.OfCluster2), clientstest.Member("bb", 9, clientstest.Learns), clientstest.Member("ccc", 9, clientstest.IsCorrupt), clientstest.Member("d", 9, clientstest.NoQuorum)}
	}
	asked = nil
	if _, _, err := l.HashKV(t.Context(), 9); err == nil || len(asked) > 0 || !strings.Contains(err.Error(), "cluster 0000000000000002 now") {
		t.Errorf("%v, asked %q", err, asked)
	}
}
