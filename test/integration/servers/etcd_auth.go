package servers

import "testing"

// AddUser adds a user to etcd, with the role root or without any role.
func (m *EtcdMember) AddUser(t testing.TB, name, password string, root bool) {
	t.Helper()
	m.call(t, "auth/user/add", map[string]any{"name": name, "password": password}, nil)
	if root {
		m.call(t, "auth/user/grant", map[string]any{"user": name, "role": "root"}, nil)
	}
}

// EnableAuth turns authentication on. There must be a user root with the role root.
func (m *EtcdMember) EnableAuth(t testing.TB) {
	t.Helper()
	m.call(t, "auth/enable", map[string]any{}, nil)
}
