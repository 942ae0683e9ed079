// Package auth describes how far users, roles and authentication of an etcd cluster have changed. A watch sends nothing of them, so
// whatever an archive knows of them is a State.
package auth

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Switch reports whether authentication is on. The zero value means that it is not known: earlier versions did not record it.
type Switch int8

// The values of a Switch.
const (
	Unknown Switch = iota
	Off
	On
)

// SwitchOf returns a Switch that is known.
func SwitchOf(on bool) Switch {
	if on {
		return On
	}
	return Off
}

// MarshalJSON writes a boolean. An unknown value is left out by omitzero.
func (s Switch) MarshalJSON() ([]byte, error) { return json.Marshal(s == On) }

// UnmarshalJSON reads a boolean.
func (s *Switch) UnmarshalJSON(text []byte) error {
	var on *bool
	if err := json.Unmarshal(text, &on); err != nil {
		return err
	}
	if *s = Unknown; on != nil {
		*s = SwitchOf(*on)
	}
	return nil
}

// State identifies users, roles and whether authentication is on.
type State struct {
	// Revision is raised by each change of a user or a role, and when authentication is turned off. Before etcd 3.5 it is not known outside
	// of a database, and 0.
	Revision uint64
	// Enabled is not covered by Revision: etcd does not raise that when authentication is turned on.
	Enabled Switch
}

// Keeps reports whether nothing has changed between s and a later state. To turn authentication off raises the revision, so at the same
// revision it can only have been turned on. If it is on later, s must say that it was on before.
func (s State) Keeps(later State) bool {
	return s.Revision == later.Revision && (later.Enabled != On || s.Enabled == On)
}

// Compare orders the states of one history. At the same revision, authentication can only have been turned on.
func (s State) Compare(other State) int {
	return cmp.Or(cmp.Compare(s.Revision, other.Revision), cmp.Compare(s.Enabled, other.Enabled))
}

func (s State) String() string {
	switch s.Enabled {
	case On:
		return fmt.Sprintf("%d with authentication on", s.Revision)
	case Off:
		return fmt.Sprintf("%d with authentication off", s.Revision)
	}
	return fmt.Sprint(s.Revision)
}
