package spool

import "fmt"

// smallUrgents returns what the urgent jobs of other namespaces hold that leave half of the part for urgent jobs to others.
func smallUrgents(s *Spool, namespace string) (bytes int64) {
	for share := range s.running {
		if share.urgent && share.namespace != namespace && s.urgently.Held(share.namespace) <= s.urgent/2 {
			bytes += share.bytes
		}
	}
	return bytes
}

// open returns how much of the spool may be used once a job of a namespace has that many more bytes. The rest is for urgent jobs, and half of it for
// urgent jobs of other namespaces. The first small jobs of a namespace may use more, because a large job must not take all space from others.
func (s *Spool) open(namespace string, urgent bool, bytes int64) int64 {
	small, half := s.total-s.single, s.urgent/2
	switch {
	case urgent && s.urgently.Held(namespace)+bytes <= half:
		return s.total
	case urgent:
		return s.single - half
	case s.held.Held(namespace)+bytes <= small:
		return s.total - half
	}
	return s.total - s.urgent
}

// openTo is open for a request.
func openTo(s *Spool, r *request) int64 { return s.open(r.namespace, r.urgent, r.bytes) }

// leaves returns whether a job of a namespace with that many more bytes leaves the others what is theirs. What urgent jobs hold of their part counts
// for no other job. What small urgent jobs hold does not count for a large urgent one, so that those which overtake it do not delay it.
func (s *Spool) leaves(namespace string, urgent bool, bytes int64) bool {
	open := s.open(namespace, urgent, bytes)
	if urgent {
		open = min(open+smallUrgents(s, namespace), s.total)
	} else {
		open = min(open+s.urgents, s.total-s.urgent/2)
	}
	return s.total == 0 || s.used+bytes <= open
}

const (
	// slack is the part of the limit that is not given to jobs: the file system and the kubelet count more than the files.
	slack = 32
	// toOthers is the part that the jobs of one namespace leave to the file system and to other namespaces. One large job leaves it, too.
	toOthers = 16
	// fairShare is the part that several jobs of one namespace may hold together, beside one that is larger.
	fairShare = 2
	percent   = 100
)

// Largest returns how many bytes one job can reserve that is not urgent; 0 if there is no limit.
func (s *Spool) Largest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most(false)
}

// most returns how many bytes one namespace may hold, so also one job, after it has taken a job of that kind.
func (s *Spool) most(urgent bool) int64 {
	if urgent {
		return s.single - s.urgent/2
	}
	return s.single - s.urgent
}

// fits returns nil if that many more bytes fit for a job that may have at most that many. It has written some of them. The free space of the
// disk lacks already what others have written, so only the rest of their bytes is missing.
func (s *Spool) fits(most, bytes, written int64) error {
	const mib = 1 << 20
	if bytes < 0 { // a sum that has overflowed; counted, it would give others more space than there is
		return fmt.Errorf("%w: the size that was announced is larger than any file", ErrTooSmall)
	}
	if s.total > 0 && bytes > most {
		return fmt.Errorf("%w: it has %d MiB for one snapshot, and this one needs more than %d MiB", ErrOverLimit, most/mib, (bytes-1)/mib)
	}
	if s.total > 0 && bytes > s.total-s.used {
		return fmt.Errorf("%w: it has %d MiB for snapshots, and this one needs %d MiB", kindOf(s, false), s.total/mib, (bytes+mib-1)/mib)
	}
	free, total, err := s.space(s.dir)
	if err != nil {
		return fmt.Errorf("read the free space of %s: %w", s.dir, err)
	}
	if free -= total / percent * int64(s.keep); bytes > free-(s.used-s.written)+written {
		return fmt.Errorf("%w: the disk has %d MiB for snapshots (%d %% of it are left free), and this one needs %d MiB",
			kindOf(s, bytes-written-s.used > free), max(free, 0)/mib, s.keep, (bytes+mib-1)/mib)
	}
	return nil
}

// kindOf returns ErrTooSmall if the other jobs' space would not help, so that the job does not wait for it.
func kindOf(s *Spool, never bool) error {
	if never || len(s.running) == 0 {
		return ErrTooSmall
	}
	return ErrFull
}

// overShare returns whether a namespace would hold more than one may, with that many more bytes: all its jobs together, or those of a kind. beside are other
// jobs that it does not have yet. A job that is larger than what several may hold does not count among them, so that others of its namespace run beside it.
func (s *Spool) overShare(namespace string, urgent bool, bytes int64, beside ...int64) bool {
	if s.total == 0 {
		return false
	}
	all, several, most := s.held.Held(namespace), int64(0), s.total/fairShare
	count := func(held int64) {
		if held <= most {
			several += held
		}
	}
	for share := range s.running {
		if share.namespace == namespace && share.urgent == urgent {
			count(share.bytes)
		}
	}
	for _, held := range beside {
		all += held
		count(held)
	}
	return several > 0 && several+bytes > most || all > 0 && all+bytes > s.most(urgent)
}

// add counts the bytes of a share.
func (s *Spool) add(h *Share) {
	s.used, s.written = s.used+h.bytes, s.written+h.written
	if h.bytes > 0 { // nothing waits for the end of a job that holds nothing
		s.running[h] = true
	}
	s.held.Take(h.namespace, h.bytes)
	if h.urgent {
		s.urgents += h.bytes
		s.urgently.Take(h.namespace, h.bytes)
	}
}

func (s *Spool) remove(h *Share) {
	s.used, s.written = s.used-h.bytes, s.written-h.written
	delete(s.running, h)
	s.held.Return(h.namespace, h.bytes)
	if h.urgent {
		s.urgents -= h.bytes
		s.urgently.Return(h.namespace, h.bytes)
	}
}
