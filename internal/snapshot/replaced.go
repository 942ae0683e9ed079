package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
)

// Replaced reports whether an object is another one than the EtcdBackup recorded in its status. A user who can write to the bucket can
// replace an object together with its manifest, but cannot write the status. What is no whole SHA-256 says nothing about an object.
func Replaced(recorded, found string) bool {
	return len(recorded) == hex.EncodedLen(sha256.Size) && found != "" && recorded != found
}
