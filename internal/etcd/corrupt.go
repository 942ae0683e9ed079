package etcd

import (
	"fmt"
	"slices"
	"strings"
)

// Corrupt reports whether etcd has raised the CORRUPT alarm for this member.
func (s Status) Corrupt() bool {
	own := fmt.Sprintf("memberID:%d ", uint64(s.MemberID))
	return slices.ContainsFunc(s.Errors, func(e string) bool {
		return strings.Contains(e, "CORRUPT") && strings.HasPrefix(e, own)
	})
}
