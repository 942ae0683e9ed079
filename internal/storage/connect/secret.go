package connect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Identity is the age identities in a Secret's data, nil if there are none.
func Identity(secret map[string][]byte) []byte { return secret[v1beta2.AgeIdentityKey] }

type secretData map[string][]byte

func (s secretData) has(key string) bool { return s.text(key) != "" }

// ambient reports whether the Secret is meant for use with the ambient identity: all
// its keys are known and none is a credential. more are the provider's own such keys.
// An unknown key may be a misspelt credential, and an empty Secret is a mistake.
func (s secretData) ambient(more ...string) bool {
	for name := range s {
		if !slices.Contains(append(more, v1beta2.CAKey, v1beta2.SSECustomerKeyKey, v1beta2.AgeIdentityKey), name) {
			return false
		}
	}
	return len(s) > 0
}

// text is a value without the newline that files and editors add to it.
func (s secretData) text(key string) string { return strings.TrimSpace(string(s[key])) }

func (s secretData) needs(keys ...string) error {
	for _, key := range keys {
		if !s.has(key) {
			return fmt.Errorf("the Secret has no value for the key %s", key)
		}
	}
	return nil
}

// names lists the keys, so that the user sees a misspelt one.
func (s secretData) names() string {
	if len(s) == 0 {
		return "it is empty"
	}
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return "it has " + strings.Join(names, ", ")
}
