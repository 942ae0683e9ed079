package clock

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestAStoredTimeThatIsAheadOfNow(t *testing.T) {
	const day = 24 * time.Hour
	for name, wrong := range map[string]bool{
		"a clock that is slightly ahead is tolerated": Ahead(noon.Add(Tolerance), noon),
		"a time ahead of now is no time that passed":  Elapsed(noon.Add(day), noon) != 0,
		"a time ahead of now is as if never done":     !Done(noon.Add(day), noon).IsZero(),
		"a time in the past is when it was done":      !Done(noon.Add(-day), noon).Equal(noon.Add(-day)),
		"what is planned is not due":                  Due(noon.Add(time.Hour), time.Hour, noon),
		"what was planned is due":                     !Due(noon, time.Hour, noon),
		"what is planned too far ahead is due":        !Due(noon.Add(day), time.Hour, noon),
		"clocks that differ by a second agree":        Differ(time.Second) || Differ(-time.Second),
		"clocks that differ by an hour do not agree":  !Differ(time.Hour) || !Differ(-time.Hour),
	} {
		if wrong {
			t.Errorf("not so: %s", name)
		}
	}
}

// What has not been stored yet, and what is not asked for any more, is not remembered.
func TestATimeThatIsDoubtedCountsFromWhenItWasFirstSeen(t *testing.T) {
	var s Seen
	s.Next()
	if got := s.Trusted(noon.Add(-time.Hour), noon, false); !got.Equal(noon.Add(-time.Hour)) {
		t.Errorf("a time that may be right is %s", got)
	}
	s.Next()
	if got := s.Trusted(noon.Add(-time.Hour), noon.Add(time.Minute), true); !got.Equal(noon) {
		t.Errorf("a time that is doubted is %s, want when it was first seen", got)
	}
	if got := s.Trusted(time.Time{}, noon, true); !got.IsZero() {
		t.Errorf("the zero time is %s", got)
	}
	s.Next()
	s.Next()
	if got := s.Trusted(noon.Add(-time.Hour), noon.Add(time.Hour), true); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("a time that nobody asked for in a pass is %s", got)
	}
}

// The clock of a node was an hour ahead. A wait that had begun then counted from when the operator saw it, but an hour later from its beginning: it began anew, and the
// status changed although nothing had happened (SIM_SEED=156, world 23).
func TestAWaitDoesNotBeginAnewWhenAWrongTimeHasPassed(t *testing.T) {
	var seen Seen
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ahead := start.Add(time.Hour)
	for _, passed := range []time.Duration{0, 30 * time.Minute, 59*time.Minute + 30*time.Second, time.Hour, 2 * time.Hour} {
		seen.Next()
		if got := seen.Trusted(ahead, start.Add(passed), false); !got.Equal(start) {
			t.Errorf("after %s the wait counts from %s, want %s", passed, got, start)
		}
	}
}

// The wall clock is set by a year while a process runs. The monotonic clock shows how much time passed.
func TestSeenTimesDoNotFollowAClockThatIsSet(t *testing.T) {
	var s Seen
	began := time.Now()
	s.Since(noon, began)
	later := began.Add(time.Minute)
	if got := s.Since(noon, later); later.Sub(got) != time.Minute {
		t.Errorf("%s passed since the time was first seen", later.Sub(got))
	}
}

func TestTheClockOfTheServerIsReadFromItsAnswers(t *testing.T) {
	var s *Server
	if _, known := s.Ahead(noon); known {
		t.Error("no server has a clock")
	}
	s = &Server{}
	if _, known := s.Ahead(noon); known {
		t.Error("a server that did not answer has a clock")
	}
	for _, ahead := range []time.Duration{0, -48 * time.Hour, 48 * time.Hour} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}))
		answer, err := (&http.Client{Transport: s.Wrap(http.DefaultTransport)}).Get(server.URL)
		server.Close()
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		got, known := s.Ahead(time.Now())
		if !known || got < ahead-3*time.Second || got > ahead+3*time.Second {
			t.Errorf("the server is %s ahead (known: %t), want %s", got, known, ahead)
		}
	}
	s.saw(&http.Response{Header: http.Header{"Date": {"yesterday"}}}, time.Now())
	if got, known := s.Ahead(time.Now()); !known || got < 47*time.Hour {
		t.Errorf("an answer without a date makes the server %s ahead (known: %t)", got, known)
	}
}
