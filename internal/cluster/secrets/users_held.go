package secrets

import (
	"bytes"
	"fmt"
	"hash/maphash"
)

// maxOfUsers is how many bytes the Secrets of all users of an EtcdCluster may have in a pass. Those of a hundred users have 300 KiB, or more if their issuer writes
// intermediates. Contents that several of them have count once.
const maxOfUsers = 2 << 20

// heldContents are the contents of the Secrets of users that a pass holds.
type heldContents struct {
	by    map[uint64][]byte // their hash
	bytes int
}

// hold returns the contents of a Secret, each of which is held once. The error says that there are too many. The Secret itself is not changed, because other passes may
// use the same one.
func (h *heldContents) hold(name string, data map[string][]byte) (map[string][]byte, error) {
	held, more := make(map[string][]byte, len(data)), map[uint64][]byte{}
	need := 0
	for key, content := range data {
		hash := maphash.Bytes(contentSeed, content)
		have := h.by[hash]
		if have == nil {
			have = more[hash]
		}
		if !bytes.Equal(have, content) || have == nil {
			have = content
			more[hash] = content
			need += len(content)
		}
		held[key] = have
		need += perContent
	}
	if h.bytes+need > maxOfUsers {
		return nil, fmt.Errorf("the Secrets of users have more than %d KiB with Secret %s, which has %d KiB: remove from it what is no certificate of the user", maxOfUsers>>10, name, need>>10)
	}
	for hash, content := range more {
		h.by[hash] = content
	}
	h.bytes += need
	return held, nil
}
