package restore

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// heldMember answers no read of keys before it is let go.
type heldMember struct {
	memberOf
	asked, letGo chan struct{}
}

func (m *heldMember) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	select {
	case m.asked <- struct{}{}:
	default:
	}
	select {
	case <-m.letGo:
	case <-ctx.Done():
	}
	return m.memberOf.Range(ctx, r)
}

// sizeOf returns what the files below a directory hold.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return size
}

// A tenant restores one key of a snapshot of 8 GiB, and its members answer slowly. The operator compared and wrote that key for 27 minutes, and held 16 GiB
// of the volume in that time, although it needs nothing of the snapshot any more. While it writes, it gives way to no safety snapshot.
func TestAReadingOfKeysHoldsOnlyWhatItHasExtracted(t *testing.T) {
	for name, write := range map[string]bool{"while it compares": false, "while it writes": true} {
		t.Run(name, func(t *testing.T) {
			bucket := t.TempDir()
			content := dbfiletest.New(t, 1).Put(2000, 1000).Snapshot()
			if err := os.WriteFile(filepath.Join(bucket, "one.db"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			member := &heldMember{memberOf: memberOf{cluster: 0xaa}, asked: make(chan struct{}, 1), letGo: make(chan struct{})}
			url := "http://" + serveMember(t, member)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := s.Prove(ctx, Asked{
					Namespace: "tenant", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: bucket, Key: "one.db"}, Progress: func(int64, int64) {},
					Keys: &state.KeysOrder{Prefixes: []string{"key-0019"}, Write: write, Cluster: state.SafetyOrder{URLs: []string{url}, ClusterID: "00000000000000aa"}},
				})
				ended <- err
			}()
			select {
			case <-member.asked:
			case err := <-ended:
				t.Fatal(err)
			}
			reserved, _, _ := s.Usage()
			if onDisk := sizeOf(t, s.Dir()); reserved > int64(len(content))/2 || onDisk > reserved {
				t.Errorf("it holds %d KiB, and has %d KiB on the disk, of a snapshot of %d KiB", reserved>>10, onDisk>>10, len(content)>>10)
			}
			close(member.letGo)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if reserved, _, _ := s.Usage(); reserved != 0 || sizeOf(t, s.Dir()) != 0 {
				t.Errorf("in the end it holds %d bytes", reserved)
			}
		})
	}
}
