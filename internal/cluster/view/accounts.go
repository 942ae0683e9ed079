package view

import "time"

// AccountsChanged has users and roles read again by the next pass.
func (v *View) AccountsChanged() {
	if v.ReadAccounts != nil {
		v.ReadAccounts.At = time.Time{}
	}
}
