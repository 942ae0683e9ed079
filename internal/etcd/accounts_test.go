package etcd

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// accountsMember is a member that gives each call about users and roles its answer.
func accountsMember(t *testing.T, answers map[string][]byte) *Client {
	t.Helper()
	client, err := OpenBriefly(Endpoint{URL: answeringTo(t, func(method string) []byte { return answers[method] })}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// A member of a tenant answers each question about a role with a quarter of a million empty permissions. Decoded, those of eight roles took 300 MiB, and 84
// MiB of them were kept for minutes. cluster-operator has 512 MiB for all namespaces, and a cluster may have 250 roles.
func TestTheUsersAndRolesOfAMemberTakeBoundedMemory(t *testing.T) {
	for name, answers := range map[string]map[string][]byte{
		"as many names as fit":       {"RoleList": entries(2, maxNames), "UserList": entries(2, maxNames)},
		"as many permissions as fit": {"RoleList": entries(2, 2), "RoleGet": entries(2, maxNames)},
		"many permissions":           {"RoleList": entries(2, 2), "RoleGet": entries(2, 64<<10)},
		"as many roles as fit":       {"UserList": entries(2, 2), "UserGet": entries(2, maxAnswer)},
	} {
		t.Run(name, func(t *testing.T) {
			client := accountsMember(t, answers)
			var err error
			heaptest.Bound(t, 32, func() { _, err = client.Accounts(t.Context(), make([]string, 8), make([]string, 200)) })
			if !errors.Is(err, ErrManyAccounts) {
				t.Errorf("error %v, want one with the bound", err)
			}
		})
	}
}

func TestUsersAndRolesAreRead(t *testing.T) {
	encoded := func(m proto.Message) []byte {
		body, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	client := accountsMember(t, map[string][]byte{
		"AuthStatus": encoded(&pb.AuthStatusResponse{Enabled: true}),
		"RoleList":   encoded(&pb.AuthRoleListResponse{Header: &pb.ResponseHeader{ClusterId: 1}, Roles: []string{"a", "b"}}),
		"UserList":   encoded(&pb.AuthUserListResponse{Users: []string{"x"}}),
		"RoleGet": encoded(&pb.AuthRoleGetResponse{Perm: []*authpb.Permission{
			{PermType: authpb.READ, Key: []byte("k")}, {PermType: authpb.WRITE, Key: []byte("k"), RangeEnd: []byte("l")}, {PermType: authpb.READWRITE, RangeEnd: []byte{0}},
		}}),
		"UserGet": encoded(&pb.AuthUserGetResponse{Roles: []string{"b", "c"}}),
	})
	read, err := client.Accounts(t.Context(), []string{"a", "missing"}, []string{"x", "y"})
	if err != nil {
		t.Fatal(errors.Unwrap(err))
	}
	if got := read.Permissions["a"]; len(read.Permissions) != 1 || len(got) != 3 || got[0] != (Permission{Key: "k", Read: true}) ||
		got[1] != (Permission{Key: "k", End: "l", Write: true}) || got[2] != (Permission{End: "\x00", Read: true, Write: true}) {
		t.Errorf("permissions %+v", read.Permissions)
	}
	if !read.Enabled || len(read.Roles) != 2 || read.Users[0] != "x" || len(read.RolesOf) != 1 || len(read.RolesOf["x"]) != 2 || read.RolesOf["x"][1] != "c" {
		t.Errorf("read %+v", read)
	}
}
