package accounts

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// afterRestore adds changes to what the status says was changed after a restore or a recovery. Before the first of them, the cluster has only data that
// its clients have written.
func afterRestore(s state.State, changes []etcd.AccountChange) *v1beta2.AuthAfterRestore {
	record := s.AccountRecord.AfterRestore.DeepCopy()
	if !restored(s) || !hasEarlierData(s) {
		return record
	}
	if record == nil || record.Incarnation != s.Incarnation {
		record = &v1beta2.AuthAfterRestore{Incarnation: s.Incarnation}
	}
	of := map[string][]etcd.AccountChange{}
	for _, c := range changes {
		of[kindOf(c)+c.Name] = append(of[kindOf(c)+c.Name], c)
	}
	for _, c := range changes {
		name := kindOf(c) + c.Name
		made := of[name]
		delete(of, name)
		switch {
		case len(made) == 0, kindOf(c) == "": // said already, or about authentication
		case kindOf(c) == kindUser && reserved(s, c.Name): // not of the spec: the operators give themselves the role root before they turn authentication on
		case does(made, etcd.DeleteUser, etcd.DeleteRole) && !does(made, etcd.AddUser):
			record.Removed = note(record.Removed, name)
		case does(made, etcd.AddUser, etcd.AddRole) && !does(made, etcd.DeleteUser):
			record.Added = note(record.Added, name)
		case changesRights(s, c.Name, made) && !slices.Contains(record.Added, name):
			record.Changed = note(record.Changed, name)
		}
	}
	return record
}

// hasEarlierData reports whether the data of the cluster is that of a snapshot, or of an earlier incarnation.
func hasEarlierData(s state.State) bool {
	return s.Incarnation > 1 || s.Restore != nil || len(s.PastRestores) > 0
}

// kindUser stands before the name of a user in the status.
const kindUser = "user "

// kindOf is what the status writes before the name of what is changed.
func kindOf(c etcd.AccountChange) string {
	switch c.Act {
	case etcd.AddRole, etcd.DeleteRole, etcd.Permit, etcd.Forbid:
		return "role "
	case etcd.EnableAuth, etcd.DisableAuth:
		return ""
	}
	return kindUser
}

func does(made []etcd.AccountChange, acts ...etcd.AccountAct) bool {
	return slices.ContainsFunc(made, func(c etcd.AccountChange) bool { return slices.Contains(acts, c.Act) })
}

// changesRights reports whether a user or a role that exists can do more or less afterwards. A user that is recreated gets its roles again.
func changesRights(s state.State, name string, made []etcd.AccountChange) bool {
	if does(made, etcd.Permit, etcd.Forbid, etcd.RevokeRole) {
		return true
	}
	granted, has := set(nil), s.Accounts.Present.RolesOf[name]
	for _, c := range made {
		if c.Act == etcd.GrantRole {
			granted[c.Role] = true
		}
	}
	if does(made, etcd.DeleteUser) { // recreated
		return len(granted) != len(has) || slices.ContainsFunc(has, func(role string) bool { return !granted[role] })
	}
	return len(granted) > 0
}

// note adds a name, unless the list has it or is full.
func note(names []string, name string) []string {
	if len(names) >= mostOthers || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
