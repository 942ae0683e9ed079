package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/etcd-suite/etcd-operator/internal/datadir"
	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// logOnly keeps all writes out of the database, so that only the write-ahead log has them when the member is killed.
var logOnly = []string{"--backend-batch-interval=1h", "--backend-batch-limit=100000000"}

// A user whose cluster is lost has the volume of one member. The last writes are only in its write-ahead log, and they are those that matter most.
func TestTheDirectoryOfAMemberHasAllThatEtcdItselfFindsInIt(t *testing.T) {
	for _, minor := range tabled {
		for name, c := range map[string]struct {
			size int
			args []string
			// early has the database from before all writes, so that the log has each kind of request. stop ends the members by SIGTERM.
			early, stop bool
		}{
			"one member":                                  {size: 1, args: logOnly, early: true},
			"three members":                               {size: 3, args: logOnly, early: true},
			"three members with snapshots of raft":        {size: 3, args: append([]string{"--snapshot-count=40"}, logOnly...)},
			"three members with the usual options":        {size: 3},
			"three members that were stopped, not killed": {size: 3, stop: true},
		} {
			t.Run("etcd "+minor+" "+name, func(t *testing.T) {
				t.Parallel()
				cluster := servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: c.size, Args: c.args})
				early := map[string][]byte{}
				for _, member := range cluster.Members {
					early[member.Name] = databaseOf(t, member)
				}
				acknowledged := writeEverything(t, cluster)
				newest, leftOut := int64(0), int64(0)
				for _, member := range cluster.Members {
					if c.stop {
						member.Stop()
					} else {
						member.Kill()
					}
				}
				for _, member := range cluster.Members {
					if c.early {
						if err := os.WriteFile(databasePath(member), early[member.Name], 0o600); err != nil {
							t.Fatal(err)
						}
					}
					got := compareWithEtcd(t, minor, member, c.size > 1)
					newest, leftOut = max(newest, got.Revision), max(leftOut, got.LeftOut)
					if c.early && got.Base != 1 || c.args != nil && got.Entries < 5 {
						t.Errorf("the test tests too little: %+v", got)
					}
				}
				if newest != acknowledged && (newest != acknowledged-1 || leftOut == 0 || c.size == 1 || c.stop) {
					t.Errorf("the newest directory ends at revision %d, but revision %d was acknowledged", newest, acknowledged)
				}
			})
		}
	}
}

func databasePath(m *servers.EtcdMember) string {
	return filepath.Join(m.DataDir, "member", "snap", "db")
}

func databaseOf(t *testing.T, m *servers.EtcdMember) []byte {
	t.Helper()
	content, err := os.ReadFile(databasePath(m))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// writeEverything writes each kind of request, and returns the revision of the last one.
func writeEverything(t *testing.T, cluster *servers.EtcdCluster) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := dialAs(t, cluster.Members[0], nil)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.RoleAdd(ctx, "root"))
	must(c.UserAdd(ctx, "root", "secret"))
	must(c.UserGrantRole(ctx, "root", "root"))
	must(c.RoleAdd(ctx, "reader"))
	must(c.RoleGrantPermission(ctx, "reader", "key-", "key.", clientv3.PermissionType(clientv3.PermRead)))
	must(c.UserAdd(ctx, "user", "other"))
	must(c.UserGrantRole(ctx, "user", "reader"))
	must(c.AuthEnable(ctx))
	c = dialAs(t, cluster.Members[0], rootUser)
	var leases []clientv3.LeaseID
	for range 3 {
		granted, err := c.Grant(ctx, 3600)
		must(nil, err)
		leases = append(leases, granted.ID)
	}
	for i := range 120 {
		must(c.Put(ctx, fmt.Sprintf("key-%d", i%50), fmt.Sprint(i), clientv3.WithLease(leases[i%3])))
	}
	must(c.Compact(ctx, 60)) // writes the database, so there are others after it
	must(c.Delete(ctx, "key-1", clientv3.WithPrefix()))
	must(c.Txn(ctx).If(clientv3.Compare(clientv3.Version("key-2"), ">", 0)).Then(
		clientv3.OpPut("txn", "then"), clientv3.OpDelete("key-2"),
		clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut("nested", "yes"), clientv3.OpGet("txn")}, nil),
	).Else(clientv3.OpPut("txn", "else")).Commit())
	must(c.Revoke(ctx, leases[1]))
	must(c.UserDelete(ctx, "user")) // writes the database, too
	for i := range 30 {
		must(c.Put(ctx, fmt.Sprintf("after-%d", i%20), fmt.Sprint(i), clientv3.WithLease(leases[2])))
	}
	last, err := c.Put(ctx, "last", "write")
	must(nil, err)
	return last.Header.Revision
}

// rootUser is the user of a test that turns authentication on.
var rootUser = &clientv3.Config{Username: "root", Password: "secret"}

func dialAs(t *testing.T, m *servers.EtcdMember, as *clientv3.Config) *clientv3.Client {
	t.Helper()
	config := clientv3.Config{Endpoints: []string{m.ClientURL}, DialTimeout: 10 * time.Second}
	if as != nil {
		config.Username, config.Password = as.Username, as.Password
	}
	c, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// compareWithEtcd starts etcd on a copy of the directory of a killed member, and on what is restored from it, and compares both. It returns what was restored.
func compareWithEtcd(t *testing.T, minor string, killed *servers.EtcdMember, force bool) datadir.Result {
	t.Helper()
	original := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(original, os.DirFS(killed.DataDir)); err != nil {
		t.Fatal(err)
	}
	restored, result := restoredFrom(t, killed)
	var more []string
	if force {
		more = []string{"--force-new-cluster"}
	}
	etcd := seenBy(t, servers.EtcdFromDataDir(t, minor, original, killed.Name, killed.PeerURL, "token", more...), result.Revision)
	ours := seenBy(t, restored(minor), result.Revision)
	if diff := cmp.Diff(etcd, ours, protocmp.Transform()); diff != "" {
		t.Errorf("%s: etcd -, restored +:\n%s", killed.Name, diff)
	}
	return result
}

// restoredFrom restores the directory of a member that has ended. The result starts an etcd of that minor version with it.
func restoredFrom(t *testing.T, ended *servers.EtcdMember) (start func(minor string) *servers.EtcdMember, result datadir.Result) {
	t.Helper()
	d, err := datadir.Open(ended.DataDir, ".")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	result, err = d.Snapshot(t.Context(), "ns", file, 512<<20)
	if closing := d.Close(); err != nil || closing != nil {
		t.Fatalf("snapshot of %s: %v %v", ended.Name, err, closing)
	}
	info, err := dbcheck.Inspect(t.Context(), "ns", file)
	if err != nil || info.Revision != result.Revision {
		t.Fatalf("%+v, but the check found %+v, %v", result, info, err)
	}
	directory, peer := filepath.Join(t.TempDir(), "restored"), servers.PeerURL(t)
	err = dbfile.Restore(t.Context(), dbfile.Options{SnapshotPath: file, DataDir: directory, Name: "restored", PeerURLs: []string{peer}, InitialCluster: "restored=" + peer, Token: "token", Proven: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(minor string) *servers.EtcdMember {
		return servers.EtcdFromDataDir(t, minor, directory, "restored", peer, "token")
	}, result
}

// seen is what clients see of an etcd.
type seen struct {
	Revision     int64
	Hash         uint32
	Compacted    int64
	KVs          any
	Leases       map[clientv3.LeaseID]int64
	Users, Roles []string
}

func seenBy(t *testing.T, m *servers.EtcdMember, revision int64) seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer m.Kill()
	c := dialAs(t, m, rootUser)
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
	}
	all, err := c.Get(ctx, "", clientv3.WithPrefix())
	fail(err)
	hash, err := c.HashKV(ctx, m.ClientURL, revision)
	fail(err)
	leases, err := c.Leases(ctx)
	fail(err)
	found := seen{Revision: all.Header.Revision, Hash: hash.Hash, Compacted: hash.CompactRevision, KVs: all.Kvs, Leases: map[clientv3.LeaseID]int64{}}
	for _, l := range leases.Leases {
		ttl, err := c.TimeToLive(ctx, l.ID)
		fail(err)
		found.Leases[l.ID] = ttl.GrantedTTL
	}
	users, err := c.UserList(ctx)
	fail(err)
	roles, err := c.RoleList(ctx)
	fail(err)
	found.Users, found.Roles = users.Users, roles.Roles
	return found
}
