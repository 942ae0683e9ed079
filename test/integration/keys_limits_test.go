package integration

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/restore/keys"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// savedKeys is a snapshot in memory.
type savedKeys struct {
	values map[string]string
	keys   []string
}

func savedKeysOf(values map[string]string) *savedKeys {
	s := &savedKeys{values: values}
	for key := range values {
		s.keys = append(s.keys, key)
	}
	slices.Sort(s.keys)
	return s
}

func (s *savedKeys) Next() (dbfile.Entry, error) {
	if len(s.keys) == 0 {
		return dbfile.Entry{}, io.EOF
	}
	key := s.keys[0]
	s.keys = s.keys[1:]
	return dbfile.Entry{Key: []byte(key)}, nil
}

func (s *savedKeys) Value(of dbfile.Entry) ([]byte, error) {
	return []byte(s.values[string(of.Key)]), nil
}

func (s *savedKeys) Length(of dbfile.Entry) int64 { return int64(len(s.values[string(of.Key)])) }

func restoreKeysInto(t *testing.T, member *servers.EtcdMember, saved map[string]string, between func()) (keys.Result, error) {
	t.Helper()
	client, err := etcd.Open(etcd.Endpoint{URL: member.ClientURL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	order := keys.Order{Prefixes: []string{"/a/"}, Prune: true}
	compared, err := keys.Run(t.Context(), client, savedKeysOf(saved), order)
	if err != nil {
		t.Fatal(err)
	}
	between()
	order.Write, order.Revision = true, compared.Revision
	return keys.Run(t.Context(), client, savedKeysOf(saved), order)
}

// The history is compacted between the comparison and the writes.
func TestKeysAreWrittenAfterACompaction(t *testing.T) {
	for _, minor := range []string{"3.4", "3.5", "3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			cluster := servers.Etcd(t, servers.EtcdOptions{Minor: minor})
			m := cluster.Members[0]
			m.Put(t, "/a/1", "now")
			m.Put(t, "/a/new", "x")
			result, err := restoreKeysInto(t, m, map[string]string{"/a/1": "saved", "/a/2": "saved"}, func() {
				m.Put(t, "/a/late", "client")
				_, revision := m.All(t)
				etcdctl(t, minor, cluster, "compact", fmt.Sprint(revision))
			})
			all, _ := m.All(t)
			if err != nil || result.Conflicts != 1 || all["/a/1"] != "saved" || all["/a/2"] != "saved" || all["/a/late"] != "client" || len(all) != 3 {
				t.Errorf("%+v, %v: %v", result, err, all)
			}
		})
	}
}

// A value that etcd has accepted as a plain put may be too large beside its condition. The message names the key and the setting, and all others are
// written: one large key would keep each later one from being restored.
func TestAValueThatIsTooLargeIsNamedAndKeepsNoOtherKeyFromBeingRestored(t *testing.T) {
	m := servers.Etcd(t, servers.EtcdOptions{Minor: "3.6", Args: []string{"--max-txn-ops=8"}}).Members[0]
	saved := map[string]string{"/a/large": strings.Repeat("x", 1<<20+1<<19), "/a/other": "saved"}
	for i := range 40 {
		saved[fmt.Sprintf("/a/%02d", i)] = "saved"
	}
	_, err := restoreKeysInto(t, m, saved, func() {})
	all, _ := m.All(t)
	if err == nil || !strings.Contains(err.Error(), `key "/a/large"`) || !strings.Contains(err.Error(), "maxRequestBytes") || len(all) != 41 {
		t.Errorf("%v; %d keys are written", err, len(all))
	}
}
