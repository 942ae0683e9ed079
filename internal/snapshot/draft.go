package snapshot

import (
	"encoding/hex"
	"strings"
)

// A draft is a copy of the manifest. Save writes it under its own name before the object is complete, and deletes it after the
// manifest is written. If the process is killed in between, the draft tells who has written the object:
//   - In a series, the next run writes the manifest of an object with a draft of the same EtcdBackup, see Drafted.
//   - If the key is the same in every try, the next try recognises an encrypted object, although it cannot decrypt it. It
//     also sees that a plain object was taken without a quorum. It recognises other plain objects by the members that they list,
//     without a draft, if the request names the members and is not signed. A signed draft proves who has written the object.

// The name of a draft is the object's key, draftMark and the first 16 hex digits of the object's SHA-256. The drafts of
// two tries have different names, because age encrypts the same content differently each time.
const (
	DraftMark   = ".draft-"
	DraftDigits = 16
)

// DraftKey returns the name of a draft. ok is false if the name would be too long for a store.
func DraftKey(key, sha256 string) (name string, ok bool) {
	name = key + DraftMark + sha256[:DraftDigits]
	return name, len(name) <= maxKey
}

// DraftedKey returns the key of the object that a draft describes.
func DraftedKey(name string) (key string, ok bool) {
	i := strings.LastIndex(name, DraftMark)
	if i < 0 || !OfDraft(name[:i], name) {
		return "", false
	}
	return name[:i], true
}

// IsDraft reports whether name is the name of a draft.
func IsDraft(name string) bool {
	_, ok := DraftedKey(name)
	return ok
}

// OfDraft reports whether name is the name of a draft of the object under key.
func OfDraft(key, name string) bool {
	digits, ok := strings.CutPrefix(name, key+DraftMark)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == DraftDigits
}
