package dbfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

// extract returns the keys and the lengths of their values.
func extract(t *testing.T, content []byte, prefixes ...string) map[string]int {
	t.Helper()
	var values, index bytes.Buffer
	if err := dbfile.Extract(bytes.NewReader(content), int64(len(content)), prefixes, &values, &index); err != nil {
		t.Fatal(err)
	}
	entries := dbfile.NewEntries(&index, bytes.NewReader(values.Bytes()), int64(values.Len()))
	found, last := map[string]int{}, ""
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		value, err := entries.Value(entry)
		if err != nil || string(entry.Key) <= last {
			t.Fatalf("%q after %q: %v", entry.Key, last, err)
		}
		last = string(entry.Key)
		found[last] = len(value)
	}
}

// An older value, or a key that was deleted, would be written over newer data.
func TestTheLastValueOfEachKeyIsExtracted(t *testing.T) {
	all := map[string]int{}
	for i := range 300 {
		all[fmt.Sprintf("key-%06d", i)] = 50
	}
	for i := range 20 {
		all[fmt.Sprintf("key-%06d", i)] = 5000
	}
	delete(all, "key-000007")
	content := dbfiletest.New(t, member).Put(300, 50).Put(20, 5000).Delete("key-000007").Snapshot()
	if diff := cmp.Diff(all, extract(t, content, "key-")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(key string, _ int) bool { return key < "key-000010" || key > "key-000019" })
	if diff := cmp.Diff(some, extract(t, content, "key-00001")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	longest := strings.Repeat("k", dbfile.MaxKey)
	if got := extract(t, dbfiletest.New(t, member).PutKey(longest, 1).Snapshot(), "k"); got[longest] != 1 {
		t.Errorf("the longest key is not among %d", len(got))
	}
	if got := extract(t, content, "other"); len(got) > 0 {
		t.Errorf("%v", got)
	}
	if got := extract(t, dbfiletest.New(t, member).Put(5, 1).Put(5, 9).Compact().Snapshot(), "key-"); len(got) != 5 || got["key-000004"] != 9 {
		t.Errorf("after a compaction: %v", got)
	}
}

// The child is a process of the operator. What it writes is checked, because the bytes of a tenant led to it.
func TestADamagedIndexEndsTheReading(t *testing.T) {
	for name, index := range map[string][]byte{
		"half of a key":                   {5, 'a', 'b'},
		"a key of 2^60 bytes":             {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10},
		"a key longer than any of etcd":   {0x81, 0x80, 0x40},
		"no place of the value":           {1, 'a', 0},
		"a value behind the end":          {1, 'a', 0, 5, 1},
		"a value that ends behind it":     {1, 'a', 0, 2, 4},
		"a place that is no number":       {1, 'a', 0, 0xff},
		"a value longer than any of etcd": {1, 'a', 0, 0, 0x81, 0x80, 0x80, 0x04},
		"a length that is larger than":    {1, 'a', 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if _, err := dbfile.NewEntries(bytes.NewReader(index), bytes.NewReader(make([]byte, 4)), 4).Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
