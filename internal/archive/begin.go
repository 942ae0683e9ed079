package archive

import "fmt"

// NewStart returns the start of a timeline.
func NewStart(t Timeline, clusterID uint64, base Base, reason string) Start {
	return Start{
		FormatVersion: formatVersion, Kind: kindStart, Timeline: t, ClusterID: fmt.Sprintf("%016x", clusterID),
		Base: base.Point, BaseKey: base.Key, AuthRevision: base.Auth.Revision, AuthEnabled: base.Auth.Enabled, Reason: reason,
	}
}

// NewGap returns a link that records lost events up to the revision of a new base snapshot.
func NewGap(chain Chain, base Base, compactRevision int64, reason string) Header {
	h := Header{
		FormatVersion: formatVersion, Kind: kindGap, Timeline: chain.Timeline, First: chain.Last + 1, Last: base.Point.Revision, Number: chain.Number + 1,
		Previous: chain.Hash, Points: []Point{base.Point}, CompactRevision: compactRevision, Reason: reason,
		Unbroken: base.Point.Revision,
	}
	h.setAuth(base.Auth, base.Auth)
	return h
}
