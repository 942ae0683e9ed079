package accounts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Whatever happens to the spec, to etcd and to the operator, etcd has at last what the spec asks for. What a person added is kept. No user that
// the spec has before and after a change is refused meanwhile what both allow.
func TestWhateverHappensEtcdHasWhatTheSpecAsksFor(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := history{T: t, seed: seed, r: r, s: managed(v1beta2.AuthPolicy{}), f: newFake()}
		h.s.Accounts.PasswordVersions["a"], h.s.Accounts.PasswordVersions["b"] = "1", "1"
		h.f.users["hand"], h.f.roles["hand"] = &fakeUser{}, nil
		for range 12 {
			h.happen()
		}
		h.finish()
		if t.Failed() {
			return
		}
	}
}

type history struct {
	*testing.T
	seed     uint64
	r        *rand.Rand
	s        state.State
	f        *fakeEtcd
	snapshot *fakeEtcd
	version  int
}

func (h *history) happen() {
	switch h.r.IntN(8) {
	case 0, 1, 2:
		before := *h.s.Spec.Auth
		h.s.Spec.Auth = h.policy()
		h.pass(&before)
	case 3:
		h.version++
		h.s.Accounts.PasswordVersions["a"] = fmt.Sprint(h.version)
	case 4:
		h.snapshot = h.f.clone()
	case 5:
		if h.snapshot != nil {
			h.f, h.s.Incarnation = h.snapshot.clone(), h.s.Incarnation+1
		}
	case 6: // a person changes something
		if u := h.f.users["u1"]; u != nil {
			u.roles = nil
		}
		delete(h.f.roles, "r2")
	case 7:
		h.pass(h.s.Spec.Auth)
	}
}

// policy has three users and two roles at most.
func (h *history) policy() *v1beta2.AuthPolicy {
	p := &v1beta2.AuthPolicy{}
	if h.r.IntN(3) > 0 {
		p.Enabled = ptr.To(h.r.IntN(4) > 0)
	}
	for i, name := range []string{"r1", "r2"} {
		if h.r.IntN(4) > 0 {
			p.Roles = append(p.Roles, v1beta2.AuthRole{Name: name, Permissions: []v1beta2.AuthPermission{
				prefixPermission([]string{"/x/", "/y/", "/z/"}[i+h.r.IntN(2)], []string{v1beta2.AccessRead, v1beta2.AccessReadWrite}[h.r.IntN(2)]),
			}})
		}
	}
	for _, name := range []string{"u1", "u2", "u3"} {
		if h.r.IntN(4) == 0 {
			continue
		}
		user := v1beta2.AuthUser{Name: name, PasswordSecret: []string{"", "", "a", "b"}[h.r.IntN(4)]}
		for _, role := range p.Roles {
			if h.r.IntN(2) == 0 {
				user.Roles = append(user.Roles, role.Name)
			}
		}
		p.Users = append(p.Users, user)
	}
	if p.Enabled == nil && len(p.Users) == 0 {
		p.Roles = []v1beta2.AuthRole{{Name: "r1"}}
	}
	return p
}

// pass makes the next changes. The operator may end in between, and its status be lost.
func (h *history) pass(before *v1beta2.AuthPolicy) bool {
	if !h.s.Spec.Auth.Manages() {
		return false
	}
	h.s.Accounts.Present = Needed(h.s, h.f.read(h.s.Spec.Auth))
	batch := Next(h.s)
	crash := -1
	if h.r.IntN(3) == 0 {
		crash = h.r.IntN(len(batch.Changes) + 1)
	}
	had := h.f.clone()
	for i, c := range batch.Changes {
		if i == crash {
			return true
		}
		if err := h.f.do(c, h.passwords()); err != nil {
			h.Fatalf("seed %d: %v", h.seed, err)
		}
		h.refusesNone(before, had)
	}
	if crash == len(batch.Changes) && crash > 0 {
		return true
	}
	h.s.AccountRecord = *Status(h.s, !batch.empty(), true)
	return !batch.empty()
}

func (h *history) passwords() map[string]string {
	return map[string]string{"a": "a" + h.s.Accounts.PasswordVersions["a"], "b": "b" + h.s.Accounts.PasswordVersions["b"]}
}

// refusesNone fails if a role that a user had before and is to have is missing now. A user that is recreated is left out.
func (h *history) refusesNone(before *v1beta2.AuthPolicy, had *fakeEtcd) {
	if !h.f.on {
		return
	}
	for _, user := range h.s.Spec.Auth.Users {
		i := slices.IndexFunc(before.Users, func(u v1beta2.AuthUser) bool { return u.Name == user.Name })
		if i < 0 || had.users[user.Name] == nil || mustRecreate(h.s, recorded(h.s), user) {
			continue
		}
		for _, role := range user.Roles {
			if slices.Contains(had.users[user.Name].roles, role) && (h.f.users[user.Name] == nil || !slices.Contains(h.f.users[user.Name].roles, role)) {
				h.Errorf("seed %d: user %s lost role %s for a while", h.seed, user.Name, role)
			}
		}
	}
}

func (h *history) finish() {
	h.s.Spec.Auth = h.policy()
	for range 100 {
		if !h.pass(h.s.Spec.Auth) {
			break
		}
	}
	h.s.Accounts.Present = Needed(h.s, h.f.read(h.s.Spec.Auth))
	if rest := Next(h.s).Changes; len(rest) > 0 {
		h.Errorf("seed %d: it does not settle: %+v", h.seed, rest)
	}
	wantUsers := wantedUsers(h.s)
	for name := range h.f.users {
		if !wantUsers[name] && name != state.RootUser && name != "hand" && slices.Contains(ownUsers(h.s), name) {
			h.Errorf("seed %d: user %s left the spec and is in etcd", h.seed, name)
		}
	}
	for _, user := range h.s.Spec.Auth.Users {
		u := h.f.users[user.Name]
		if u == nil || u.noPassword != (user.PasswordSecret == "") || u.password != h.passwords()[user.PasswordSecret] {
			h.Errorf("seed %d: user %s is %+v, the spec has %+v", h.seed, user.Name, u, user)
			continue
		}
		slices.Sort(u.roles)
		if !slices.Equal(u.roles, user.Roles) {
			h.Errorf("seed %d: user %s has the roles %v, want %v", h.seed, user.Name, u.roles, user.Roles)
		}
	}
	if h.f.users["hand"] == nil {
		h.Errorf("seed %d: a user that a person added was removed", h.seed)
	}
	if on := h.s.Spec.Auth.Enabled; on != nil && *on != h.f.on {
		h.Errorf("seed %d: authentication is on: %t", h.seed, h.f.on)
	}
}
