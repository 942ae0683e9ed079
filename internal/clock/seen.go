package clock

import "time"

// Seen remembers when stored times were first seen. While a process runs, nobody sets the clock that it counts with. After a restart it
// begins anew. The zero value is ready for use. It is not safe for concurrent use.
type Seen struct{ first, before map[time.Time]time.Time }

// Next begins a pass. What the pass before did not ask for is forgotten.
func (s *Seen) Next() { s.before, s.first = s.first, map[time.Time]time.Time{} }

// Shift moves what was seen, for simulations: their times have no reading of a monotonic clock, which shows that the clock was set.
func (s *Seen) Shift(by time.Duration) {
	for _, seen := range []map[time.Time]time.Time{s.first, s.before} {
		for at, first := range seen {
			seen[at] = first.Add(by)
		}
	}
}

// Since returns when a stored time was first seen, as a time of the clock that now was read from. The zero time stays what it is.
func (s *Seen) Since(at, now time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	if s.first == nil {
		s.Next()
	}
	key := at.Round(0).UTC()
	first, known := s.first[key]
	if !known {
		first, known = s.before[key]
	}
	if !known {
		first = now
	}
	s.first[key] = first
	return now.Add(-Elapsed(first, now))
}

// Trusted returns a stored time if it may be right, and otherwise when it was first seen: if it was ahead of that, or if the clock is doubted. It is wrong also
// after it has passed.
func (s *Seen) Trusted(at, now time.Time, doubted bool) time.Time {
	first := s.Since(at, now)
	if doubted || Ahead(at, first) {
		return first
	}
	return at
}
