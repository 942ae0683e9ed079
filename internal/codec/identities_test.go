package codec

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"filippo.io/age"
)

// encrypted returns an object with that many recipients, and a line with the identity of all of them.
func encrypted(t *testing.T, recipients int) (object []byte, line string) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var to []age.Recipient
	for range recipients {
		to = append(to, identity.Recipient())
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), identity.String() + "\n"
}

// A tenant wrote 14,000 identities into a Secret, and an object with 1024 recipients. The operator tried each with each for half an hour, and the
// restores of others waited.
func TestMoreIdentitiesThanTheBoundAreNotTried(t *testing.T) {
	object, line := encrypted(t, 1)
	for count, usable := range map[int]bool{1: true, maxIdentities: true, maxIdentities + 1: false, 10 * maxIdentities: false} {
		_, err := Decrypt(t.Context(), bytes.NewReader(object), []byte(strings.Repeat(line, count)))
		if usable && err != nil || !usable && !errors.Is(err, ErrIdentity) {
			t.Errorf("%d identities: %v", count, err)
		}
		if _, err := RecipientsOf([]byte(strings.Repeat(line, count))); usable && err != nil || !usable && !errors.Is(err, ErrIdentity) {
			t.Errorf("the recipients of %d identities: %v", count, err)
		}
	}
}

// A restore whose EtcdRestore was deleted kept its processor until all identities were tried.
func TestNoIdentityIsTriedAfterTheEndOfTheContext(t *testing.T) {
	object, line := encrypted(t, 2)
	ctx, end := context.WithCancelCause(t.Context())
	over := errors.New("the time is over")
	end(over)
	if _, err := Decrypt(ctx, bytes.NewReader(object), []byte(line)); !errors.Is(err, over) || errors.Is(err, ErrIdentity) {
		t.Errorf("the error is %v", err)
	}
}
