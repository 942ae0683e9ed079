package codec

import (
	"strings"
	"testing"

	"filippo.io/age"
)

// A writer of the bucket stored an object whose age header has a line of 1 MiB. The error repeated it in logs, and in memory several times.
func TestAnErrorOfAgeIsShort(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"a line that is no stanza": strings.Repeat("x", 1<<20),
		"a stanza with a bad body": "-> X25519 a\n" + strings.Repeat("!", 1<<20),
		"a bad end":                "--- " + strings.Repeat("!", 1<<20),
	} {
		_, err := Decrypt(t.Context(), strings.NewReader("age-encryption.org/v1\n"+line+"\n"), []byte(identity.String()))
		if err == nil || len(err.Error()) > 2*maxError {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
}
