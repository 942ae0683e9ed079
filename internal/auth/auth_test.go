package auth

import (
	"encoding/json"
	"testing"
)

// TestAStateIsKeptOnlyIfAuthenticationCannotHaveBeenTurnedOn: etcd raises the auth revision if authentication is turned off, and not if it is
// turned on. A restore from a base before that would serve everybody without a password.
func TestAStateIsKeptOnlyIfAuthenticationCannotHaveBeenTurnedOn(t *testing.T) {
	kept := map[[2]Switch]bool{
		{Off, Off}: true, {Off, On}: false, {Off, Unknown}: true, // an earlier version did not record it
		{On, On}: true, {On, Off}: true, {On, Unknown}: true, // the revision would be higher if it had been turned off since
		{Unknown, Unknown}: true, {Unknown, Off}: true, {Unknown, On}: false,
	}
	for _, before := range []Switch{Unknown, Off, On} {
		for _, later := range []Switch{Unknown, Off, On} {
			want, listed := kept[[2]Switch{before, later}]
			if got := (State{5, before}).Keeps(State{5, later}); !listed || got != want {
				t.Errorf("%d, then %d: kept %t, want %t", before, later, got, want)
			}
			if (State{5, before}).Keeps(State{6, later}) {
				t.Errorf("%d, then %d: another revision is kept", before, later)
			}
		}
	}
}

func TestAnObjectOfAnEarlierVersionDoesNotSayWhetherAuthenticationIsOn(t *testing.T) {
	type object struct {
		Enabled Switch `json:"enabled,omitzero"`
	}
	for text, want := range map[string]Switch{`{}`: Unknown, `{"enabled":true}`: On, `{"enabled":false}`: Off, `{"enabled":null}`: Unknown} {
		var got object
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Enabled != want {
			t.Errorf("%s: %d, %v, want %d", text, got.Enabled, err, want)
		}
		if again, err := json.Marshal(got); err != nil || string(again) != text && text != `{"enabled":null}` {
			t.Errorf("%s became %s, %v", text, again, err)
		}
	}
}
