package spool

import "fmt"

// Grow makes the share at least that large, without waiting: a job that holds space must not wait for more. written is how
// many of the bytes are on the disk already, also if the share is large enough. A job that has overtaken one that waits does not grow into its space. Grow does nothing for a
// nil Share.
func (h *Share) Grow(bytes, written int64) error {
	if h != nil && h.of != nil {
		return h.of.Grow(h.beside+bytes, h.beside+written)
	}
	if h == nil {
		return nil
	}
	s := h.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(h)
	defer s.add(h)
	h.written = min(max(written, 0), h.bytes)
	if 0 <= bytes && bytes <= h.bytes {
		return nil
	}
	return s.grow(h, bytes)
}

// grow makes a share larger that is not counted at present.
func (s *Spool) grow(h *Share, bytes int64) error {
	if err := s.fits(s.most(h.urgent), bytes, h.written); err != nil {
		return err
	}
	if s.overShare(h.namespace, h.urgent, bytes) {
		return fmt.Errorf("%w for this namespace: its other snapshots use the rest of what one namespace may use", ErrFull)
	}
	if !s.leaves(h.namespace, h.urgent, bytes) {
		return fmt.Errorf("%w for this snapshot, which is larger than announced: the rest is for safety snapshots", ErrFull)
	}
	grown := claim{h.namespace, h.urgent, bytes, h.admitted}
	if delays(s, grown) {
		return fmt.Errorf("%w for this snapshot, which is larger than announced: another one waits for the space", ErrFull)
	}
	s.overtake(grown)
	h.bytes = bytes
	return nil
}

// Resize makes the share that large, without waiting. It grows like Grow, and returns the rest at once if it shrinks. Grown from nothing, it
// counts as admitted now.
func (h *Share) Resize(bytes, written int64) error {
	s := h.spool
	s.mu.Lock()
	if h.bytes == 0 {
		s.count++
		h.admitted, h.place = s.count, s.count
	}
	smaller := 0 <= bytes && bytes < h.bytes
	if smaller {
		s.remove(h)
		h.bytes, h.written = bytes, min(max(written, 0), bytes)
		s.add(h)
		s.admit()
	}
	s.mu.Unlock()
	if smaller {
		return nil
	}
	return h.Grow(bytes, written)
}

// Beside returns the part of the share for another file of the same job, beside files of that many bytes. Its Release does
// nothing, because the share itself returns the space.
func (h *Share) Beside(bytes int64) *Share {
	if h == nil {
		return nil
	}
	return &Share{of: h, beside: bytes}
}

// Release returns the space. The files must be deleted before. Call it once.
func (h *Share) Release() {
	if h == nil || h.of != nil {
		return
	}
	s := h.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(h)
	returned(s, h)
	s.admit()
}

// lend takes the bytes of a share out of the limit.
func (s *Spool) lend(h *Share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(h)
	s.limit(-h.bytes)
}

// takeBack returns bytes to the limit that were lent.
func (s *Spool) takeBack(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit(bytes)
}

// limit changes the limit, if there is one.
func (s *Spool) limit(by int64) {
	if s.total > 0 {
		s.total, s.single = s.total+by, s.single+by
	}
	s.admit()
}
