package stall

import "github.com/etcd-suite/etcd-operator/internal/objstore"

// MaxEntries bounds the elements of an answer, before the SDK allocates them. A page of 1000 names has 3000 in JSON, and at most 70,000 in XML,
// with all properties of Azure.
const MaxEntries = 100_000

// maxFew bounds the elements of any other answer: an error, or the result of an upload. It has less than a hundred. An SDK needs a second for 100,000.
const maxFew = 10_000

// ObjectWeight is how many elements an object of JSON counts. The SDK of Google has more than a kibibyte for an empty one.
const ObjectWeight = 20

// entries counts the elements of an answer while it is read. The smallest ones take hundreds of times their bytes in memory.
type entries struct {
	json bool
	// few means that the answer is no page of a listing.
	few   bool
	count int
	// length of a text of JSON, and long means that one in a page was longer than objstore.MaxToken. It may be what the next request repeats, and the SDK of Google
	// sends that at once after a page without names.
	length int
	long   bool

	tag, text, escaped bool
	// quote ends the value of an attribute; 0 outside of one.
	quote byte
}

// exceed counts the elements of a part of the answer. It reports whether there are more than any answer of a store has.
func (e *entries) exceed(part []byte) bool {
	next := e.inXML
	if e.json {
		next = e.inJSON
	}
	for _, c := range part {
		next(c)
	}
	return e.count > MaxEntries || e.few && e.count > maxFew
}

// inXML counts tags and their attributes. A "<" always begins a tag, because it may stand in no value of an attribute. So a quote in a comment or
// in CDATA hides no tag behind it.
func (e *entries) inXML(c byte) {
	switch {
	case c == '<':
		e.count++
		e.tag, e.quote = true, 0
	case e.quote != 0:
		if c == e.quote {
			e.quote = 0
		}
	case e.tag && (c == '"' || c == '\''):
		e.quote = c
	case c == '>':
		e.tag = false
	case c == '=' && e.tag:
		e.count++
	}
}

// inJSON counts objects, arrays and values, outside of texts.
func (e *entries) inJSON(c byte) {
	switch {
	case e.escaped:
		e.escaped = false
		e.lengthen()
	case e.text && c == '\\':
		e.escaped = true
		e.lengthen()
	case c == '"':
		e.text, e.length = !e.text, 0
	case e.text:
		e.lengthen()
	case c == '{':
		e.count += ObjectWeight
	case c == ',', c == '[':
		e.count++
	}
}

func (e *entries) lengthen() {
	e.length++
	e.long = e.long || e.length > objstore.MaxToken && !e.few
}
