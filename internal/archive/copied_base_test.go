package archive

import "testing"

// A start is copied byte for byte, so it names its base by the key in the first location. The base that began a timeline may name no recovery, and may
// have an earlier time. In the second location, it was no base of its timeline, so nothing before the next snapshot could be restored there.
func TestTheCopyOfABaseBeginsItsTimeline(t *testing.T) {
	const own = "/ns/name/0000000000000abc/20261122T120000Z-00000000000000000010.db"
	b := base(10, 0)
	b.Key = "first/folder" + own
	start := NewStart(1, 0xabc, Base{Key: b.Key, Point: Point{Revision: 10, At: at(1)}}, "test")
	start.Recovery = "of Monday"
	for key, want := range map[string]bool{b.Key: true, "second" + own: true, own[1:]: true, "second/ns/name/0000000000000abc/another.db": false, "another.db": false} {
		b.Key = key
		if start.has(b) != want {
			t.Errorf("%s begins the timeline: %t, want %t", key, !want, want)
		}
	}
}
