package dbfile

import (
	"fmt"
	"slices"
)

// maxDepth is higher than any tree that fits on a disk.
const maxDepth = 64

// walker visits all buckets of a database in the order of their keys, and each page once.
type walker struct {
	*file
	seen []uint64         // one bit for each page that is in use or free
	bufs [maxDepth][]byte // one page for each level of the tree
	most int64            // number of bytes of these pages
	// visit is called for each pair of each bucket, in order. The slices are only valid during the call.
	visit func(bucket, key, value []byte) error
	// enter is called before the first pair of a bucket.
	enter func(bucket []byte) error
}

// walk visits all pairs, and then checks that every page is in use or free.
func (w *walker) walk() error {
	w.seen = make([]uint64, w.meta.highWater/64+1)
	w.seen[0] = 0b11 // the two meta pages
	if err := w.tree(w.meta.root, 0, nil, nil, w.bucket); err != nil {
		return err
	}
	return w.freelist()
}

// bucket visits one element of the root page, which only contains buckets.
func (w *walker) bucket(e element, depth int) error {
	if e.flags != bucketFlag || len(e.value) < bucketHeader {
		return corrupt("%q at the top level is not a bucket", Short(e.key))
	}
	name := slices.Clone(e.key)
	if err := w.enter(name); err != nil {
		return err
	}
	pair := func(e element, _ int) error {
		if e.flags != 0 {
			return corrupt("bucket %q contains another bucket", Short(name))
		}
		return w.visit(name, e.key, e.value)
	}
	if root := order.Uint64(e.value); root != 0 {
		return w.tree(root, depth+1, nil, nil, pair)
	}
	inline, err := inlinePage(e.value)
	if err != nil {
		return err
	}
	return w.leaf(inline, depth+1, nil, nil, pair)
}

// tree visits the page with this ID and all pages below. Their keys must be at least low and less than high.
func (w *walker) tree(id uint64, depth int, low, high []byte, visit func(element, int) error) error {
	if depth >= maxDepth {
		return corrupt("the tree is deeper than %d pages", maxDepth)
	}
	p, err := w.read(id, &w.bufs[depth], func(span int64) error { return w.holds(id, depth, span) })
	if err != nil {
		return err
	}
	for i := id; i <= id+p.overflow; i++ {
		if !w.mark(i) {
			return corrupt("page %d is referenced twice", i)
		}
	}
	switch p.flags {
	case flagLeaf:
		return w.leaf(p, depth, low, high, visit)
	case flagBranch:
		return w.branch(p, depth, low, high, visit)
	}
	return corrupt("page %d of a tree has flags %#x", id, p.flags)
}

// maxFreelist returns how many bytes a freelist can have: a number for each page, its count, and the rest of its last page.
func (f *file) maxFreelist() int64 {
	return 8*int64(f.meta.highWater) + headerSize + 8 + f.pageSize // limited by the size of the file
}

// holds returns an error if a page of that many bytes at this depth does not fit into the memory for pages.
func (w *walker) holds(id uint64, depth int, span int64) error {
	if span > maxSpan {
		return corrupt("page %d should have %d bytes, and etcd writes no page of more than %d", id, span, maxSpan)
	}
	held := span
	for level := range depth {
		held += int64(cap(w.bufs[level]))
	}
	if held <= w.most {
		// A lower level that was read before has a buffer of its own, which its next page replaces.
		clear(w.bufs[depth+1:])
		return nil
	}
	return fmt.Errorf("%w: %d MiB of pages are needed at the same time, and the maximum is %d MiB", ErrTooLarge, held>>20, w.most>>20)
}

func (w *walker) leaf(p page, depth int, low, high []byte, visit func(element, int) error) error {
	var last []byte
	for i := range p.count {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		if !within(e.key, low, high) || last != nil && !within(last, nil, e.key) {
			return corrupt("key %d of page %d is out of order", i, p.id)
		}
		if err := visit(e, depth); err != nil {
			return err
		}
		last = e.key
	}
	return nil
}

func (w *walker) branch(p page, depth int, low, high []byte, visit func(element, int) error) error {
	if p.count == 0 {
		return corrupt("branch page %d is empty", p.id)
	}
	e, err := p.element(0)
	if err != nil {
		return err
	}
	if !within(e.key, low, high) {
		return corrupt("key 0 of page %d is out of order", p.id)
	}
	for i := range p.count {
		next := element{key: high}
		if i+1 < p.count {
			if next, err = p.element(i + 1); err != nil {
				return err
			}
			if !within(e.key, nil, next.key) || !within(next.key, low, high) {
				return corrupt("key %d of page %d is out of order", i+1, p.id)
			}
		}
		if err := w.tree(e.child, depth+1, e.key, next.key, visit); err != nil {
			return err
		}
		e = next
	}
	return nil
}

// freelist checks that every page is either in a tree or free, if the file has a freelist. Files of etcd have none.
func (w *walker) freelist() error {
	if w.meta.freelist == noFreelist {
		return nil
	}
	w.bufs = [maxDepth][]byte{} // a freelist may be as large as they are
	p, err := w.read(w.meta.freelist, &w.bufs[0], func(span int64) error {
		if span > w.maxFreelist() {
			return corrupt("the freelist has %d bytes, but there are %d pages", span, w.meta.highWater)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.flags != flagFreelist {
		return corrupt("page %d is not a freelist (flags %#x)", p.id, p.flags)
	}
	for i := p.id; i <= p.id+p.overflow; i++ {
		if !w.mark(i) {
			return corrupt("page %d of the freelist is in use", i)
		}
	}
	ids := p.data[headerSize:]
	count := uint64(p.count)
	if count == 0xFFFF && len(ids) >= 8 {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return corrupt("the freelist should have %d pages, which is more than it can contain", count)
	}
	for i := range count {
		if id := order.Uint64(ids[8*i:]); id >= w.meta.highWater || !w.mark(id) {
			return corrupt("page %d is free and in use", id)
		}
	}
	for id := range w.meta.highWater {
		if w.seen[id/64]&(1<<(id%64)) == 0 {
			return corrupt("page %d is neither free nor in use", id)
		}
	}
	return nil
}

// mark marks a page as seen. It returns false if the page was marked before.
func (w *walker) mark(id uint64) bool {
	bit := uint64(1) << (id % 64)
	if w.seen[id/64]&bit != 0 {
		return false
	}
	w.seen[id/64] |= bit
	return true
}
