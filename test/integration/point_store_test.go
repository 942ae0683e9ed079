package integration

import (
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// inGCS lets the series write to GCS, with a Secret or with the identity of the operators.
func inGCS(secret string) func(*pointBench) {
	return func(p *pointBench) {
		gcs := servers.GCS(p.T)
		gcs.CreateBucket(p.T, "backups")
		p.bucket = gcsLocation(gcs, "backups")
		if secret != "" {
			p.bucket.Data = map[string][]byte{"access-token": []byte("test")}
		}
		p.series.Spec.StorageType = v1beta2.StorageGCS
		p.series.Spec.Storage = v1beta2.Storage{GCS: &v1beta2.GCSSource{Path: "backups/pit", Endpoint: gcs.Endpoint, GCPSecret: secret}}
	}
}

func TestAPointOfAClusterWithUsersIsRestoredFromGCS(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		minor, secret string
		identity      *age.X25519Identity
	}{
		"with a Secret and encryption":       {"3.5", "restoring", identity},
		"with the identity of the operators": {"3.6", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var private []byte
			if test.identity != nil {
				private = []byte(test.identity.String())
			}
			p := newPointBenchOf(t, pointOptions{etcd: servers.EtcdOptions{Minor: test.minor}, users: true, identity: test.identity, store: inGCS(test.secret)})
			revision := p.write("shop", 40)
			want := p.hash(revision)
			if _, err := p.kv.Delete(t.Context(), "shop/", clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
			p.write("after", 5)
			r := p.to("by-revision", v1beta2.SnapshotSelector{Revision: revision})
			file := p.restored(r, private)
			if point := r.Status.PointInTime; point == nil || point.Revision != revision || point.Segments == 0 {
				t.Errorf("revision %d is restored from %+v", revision, point)
			}
			p.compare(file, want, revision)
			p.hasUsers(file, test.minor)
		})
	}
}

// hasUsers starts a member on a restored snapshot. It accepts the user of the cluster, and no request without one.
func (p *pointBench) hasUsers(file, minor string) {
	p.Helper()
	const token = "restored"
	peer, dir := servers.PeerURL(p.T), filepath.Join(p.TempDir(), "data")
	if err := dbfile.Restore(p.Context(), dbfile.Options{SnapshotPath: file, DataDir: dir, Name: "m0", PeerURLs: []string{peer}, InitialCluster: "m0=" + peer, Token: token}); err != nil {
		p.Fatal(err)
	}
	member := servers.EtcdFromDataDir(p.T, minor, dir, "m0", peer, token)
	for _, user := range []string{"root", ""} {
		config := clientv3.Config{Endpoints: []string{member.ClientURL}, DialTimeout: time.Minute, Logger: zap.NewNop(), Username: user}
		if user != "" {
			config.Password = "secret"
		}
		kv, err := clientv3.New(config)
		if err != nil {
			p.Fatal(err)
		}
		answer, err := kv.Get(p.Context(), "", clientv3.WithPrefix())
		if user == "" && err == nil {
			p.Error("the restored cluster accepts a request without a user")
		}
		if user != "" && (err != nil || answer.Count != 70) {
			p.Errorf("the restored cluster has %v keys, error %v, want 70", answer, err)
		}
		_ = kv.Close()
	}
}
