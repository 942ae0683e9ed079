package archive

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// TestATimeAfterAuthenticationWasTurnedOnIsNotRestoredWithoutIt: the cluster is idle, so no link shows the change. Only the base of the same
// revision does, and the archiver reports that it knows of no change until an hour later.
func TestATimeAfterAuthenticationWasTurnedOnIsNotRestoredWithoutIt(t *testing.T) {
	before, after := base(10, 10), base(20, 80)
	before.Auth, after.Auth = auth.State{Revision: 1, Enabled: auth.Off}, auth.State{Revision: 1, Enabled: auth.On}
	after.Key += "-on"
	h := newHistory(1, before).segment(20)
	store, bases, progress := storing(h.History), []Base{before, after}, Progress{1, Point{20, at(3600)}}
	if c, err := Find(t.Context(), store, root, bases, progress, Target{Time: at(50)}); !IsRefusal(err) {
		t.Errorf("a time between the change and its base: %s with auth revision %s, %v", c.Base.Key, c.Base.Auth, err)
	}
	if c, err := Find(t.Context(), store, root, bases, progress, Target{Time: at(500)}); err != nil || c.Base.Key != after.Key {
		t.Errorf("a time after the base: %q, %v", c.Base.Key, err)
	}
	if c, err := Find(t.Context(), store, root, bases[:1], Progress{1, Point{20, at(60)}}, Target{Time: at(50)}); err != nil || c.Base.Key != before.Key {
		t.Errorf("a time before any change: %q, %v", c.Base.Key, err)
	}
}

func TestHeadersOfAnEarlierVersionDoNotSayWhetherAuthenticationWasOn(t *testing.T) {
	start := NewStart(1, 7, Base{Key: "b", Point: Point{1, time.Unix(1, 0).UTC()}, Auth: auth.State{Revision: 3}}, "test")
	if text := string(start.Encode()); strings.Contains(text, "authEnabled") || !strings.Contains(text, `"auth":3`) {
		t.Errorf("the start says: %s", text)
	}
	start.AuthEnabled = auth.On
	read, err := DecodeStart(strings.NewReader(string(start.Encode())), "start", 1)
	if err != nil || read.Auth() != (auth.State{Revision: 3, Enabled: auth.On}) {
		t.Errorf("read %+v, %v", read, err)
	}
	gap := NewGap(start.Chain(), Base{Point: Point{5, time.Unix(2, 0).UTC()}, Auth: start.Auth()}, 0, "test")
	if from, to := gap.Auth(); from != start.Auth() || to != start.Auth() || gap.Chain().Auth != start.Auth() {
		t.Errorf("a gap is from %s to %s", from, to)
	}
}

// TestASegmentInWhichAuthenticationWasTurnedOnIsSurveyed: only a base that has this reaches its end. The survey of an earlier version sees no
// change in it, so it must find the part before it there, and not look for it in the same segment for ever.
func TestASegmentInWhichAuthenticationWasTurnedOnIsSurveyed(t *testing.T) {
	before, within := base(10, 10), base(25, 25)
	before.Auth, within.Auth = auth.State{Revision: 1, Enabled: auth.Off}, auth.State{Revision: 1, Enabled: auth.On}
	h := newHistory(1, before).switched(20, auth.Off, auth.Off).switched(30, auth.Off, auth.On).switched(40, auth.On, auth.On)
	for _, l := range h.Links {
		if l.Header.Unbroken >= l.Header.First {
			t.Errorf("%s has no other auth revision, but its break is at revision %d", l.Key, l.Header.Unbroken)
		}
	}
	for name, test := range map[string]struct {
		bases []Base
		want  []int64 // from and to of each range
	}{
		"before its base":           {[]Base{before}, []int64{10, 20}},
		"with its base":             {[]Base{before, within}, []int64{10, 20, 25, 40}},
		"without the earlier base":  {[]Base{within}, []int64{25, 40}},
		"users change after it":     {[]Base{before, within}, []int64{10, 20, 25, 40}},
		"a gap follows immediately": {[]Base{before, within}, []int64{10, 20, 25, 40}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history{History: h.History, chain: h.chain}
			h.Links = slices.Clone(h.Links)
			switch name {
			case "users change after it":
				h.segment(50, 2, 3)
			case "a gap follows immediately":
				h.gap(Base{Key: "lost", Point: Point{50, at(50)}, Auth: auth.State{Revision: 1, Enabled: auth.On}})
			}
			survey, err := Look(t.Context(), storing(h.History), root, test.bases, 10)
			var got []int64
			for _, r := range survey.Ranges {
				got = append(got, r.From.Revision, r.To.Revision)
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("ranges %v, want %v: %v", got, test.want, err)
			}
			for i := 0; i < len(test.want); i += 2 {
				last := test.want[i+1]
				if _, err := Select([]History{h.History}, test.bases, Target{Revision: last}); err != nil {
					t.Errorf("revision %d cannot be restored: %v", last, err)
				}
			}
			if c, err := Select([]History{h.History}, test.bases, Target{Revision: 24}); !IsRefusal(err) {
				t.Errorf("revision 24 is restored from base %s with auth revision %s: %v", c.Base.Key, c.Base.Auth, err)
			}
		})
	}
}

// switched adds a segment within which authentication is turned on, or not.
func (h *history) switched(last int64, from, to auth.Switch) *history {
	chain := h.chain
	h.segment(last)
	header := h.Links[len(h.Links)-1].Header
	header.AuthEnabledFrom, header.AuthEnabledTo = from, to
	h.Links, h.chain = h.Links[:len(h.Links)-1], chain
	return h.add(header)
}
