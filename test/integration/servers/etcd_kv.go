package servers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// Put writes a key through the JSON gateway, so that tests need no etcd client.
func (m *EtcdMember) Put(t testing.TB, key, value string) {
	t.Helper()
	m.call(t, "kv/put", map[string]any{"key": []byte(key), "value": []byte(value)}, nil)
}

// TryPut is Put that etcd may refuse.
func (m *EtcdMember) TryPut(t testing.TB, key, value string) error {
	t.Helper()
	_, err := m.post(t, "kv/put", map[string]any{"key": []byte(key), "value": []byte(value)})
	return err
}

// Delete removes a key.
func (m *EtcdMember) Delete(t testing.TB, key string) {
	t.Helper()
	m.call(t, "kv/deleterange", map[string]any{"key": []byte(key)}, nil)
}

// All returns every key with its value, and the revision of the store.
func (m *EtcdMember) All(t testing.TB) (pairs map[string]string, revision int64) {
	t.Helper()
	var answer struct {
		Header struct{ Revision string }
		Kvs    []struct{ Key, Value []byte }
	}
	// The range from the zero byte to the zero byte contains all keys.
	m.call(t, "kv/range", map[string]any{"key": []byte{0}, "range_end": []byte{0}}, &answer)
	pairs = map[string]string{}
	for _, kv := range answer.Kvs {
		pairs[string(kv.Key)] = string(kv.Value)
	}
	revision, err := strconv.ParseInt(answer.Header.Revision, 10, 64)
	if err != nil {
		t.Fatalf("parse the revision of %s: %v", m.Name, err)
	}
	return pairs, revision
}

func (m *EtcdMember) call(t testing.TB, method string, request, answer any) {
	t.Helper()
	content, err := m.post(t, method, request)
	if err == nil && answer != nil {
		err = json.Unmarshal(content, answer)
	}
	if err != nil {
		t.Fatalf("%s of %s: %v", method, m.Name, err)
	}
}

func (m *EtcdMember) post(t testing.TB, method string, request any) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.ClientURL+"/v3/"+method, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := m.http().Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, content)
	}
	return content, err
}
