package accounts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Change makes the next changes of users and roles.
func Change(s state.State) steps.Step {
	if !state.MayChangeAccounts(s) {
		return nil
	}
	batch := Next(s)
	if len(batch.Announced) > 0 {
		return steps.AnnounceAccounts{Users: len(batch.Announced)}
	}
	if batch.empty() {
		return nil
	}
	step := steps.ChangeAccounts{What: words(batch.Changes), Of: versionsOf(s, batch.Changes)}
	if !waits.May(s, step) {
		return nil
	}
	return step
}

// versionsOf names the incarnation and the passwords that changes are for.
func versionsOf(s state.State, changes []etcd.AccountChange) string {
	of := []string{incarnationPrefix(s)}
	for _, c := range changes {
		if c.PasswordSecret != "" {
			of = append(of, versionOf(s, c.PasswordSecret))
		}
	}
	return strings.Join(of, " ")
}

// Report says on a healthy cluster what of spec.auth cannot be done.
func Report(s state.State) steps.Step {
	if !state.MayChangeAccounts(s) {
		return nil
	}
	if s.Accounts.Unread != "" {
		return steps.Wait{Reason: v1beta2.ReasonAccountsNotChanged, Overdue: v1beta2.ReasonAccountsNotChanged, Message: s.Accounts.Unread, Stalled: s.Accounts.TooOld}
	}
	if problems := Problems(s); s.Accounts.Known && len(problems) > 0 {
		return steps.Wait{Reason: v1beta2.ReasonAccountsNotChanged, Message: said(problems), Stalled: true}
	}
	return nil
}

// mostSaid is how many problems a message has.
const mostSaid = 3

func said(problems []string) string {
	text := strings.Join(problems[:min(len(problems), mostSaid)], " ")
	if more := len(problems) - mostSaid; more > 0 {
		text += fmt.Sprintf(" There are %d more problems.", more)
	}
	return text
}

// mostNamed is how many changes a message names.
const mostNamed = 5

// words says which changes are made, and repeats no key of a permission.
func words(changes []etcd.AccountChange) string {
	var parts []string
	for _, c := range changes {
		part := string(c.Act)
		switch c.Act {
		case etcd.EnableAuth, etcd.DisableAuth:
			part += " authentication"
		case etcd.Permit, etcd.Forbid:
			part += " keys to role " + c.Name
		case etcd.GrantRole, etcd.RevokeRole:
			part += " " + planning.Shorten(c.Role, mostOfName) + " of user " + c.Name
		case etcd.SetPassword:
			part += " of user " + c.Name
		default:
			part += " " + c.Name
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts[:min(len(parts), mostNamed)], ", ")
	if more := len(parts) - mostNamed; more > 0 {
		text += fmt.Sprintf(", and %d more changes", more)
	}
	return text
}
