package stall

import (
	"net/http"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestElementsAreCountedInEachPart(t *testing.T) {
	for name, test := range map[string]struct {
		json   bool
		answer string
		count  int
	}{
		"XML":                       {false, `<?xml version="1.0"?><A><B c="d" e='f'/>x=y > z</A>`, 7},
		"a sign in an attribute":    {false, `<A b=">" c="" d=''>`, 4},
		"a quote in CDATA":          {false, `<A><![CDATA[']]><B/><B/></A>`, 5},
		"a quote in a comment":      {false, `<A><!-- " --><B/><B/></A>`, 5},
		"JSON":                      {true, `{"a":[{},{}],"b":"{,\"{[\\"}`, 3*ObjectWeight + 3},
		"an object in a text of it": {true, `"{{{{\"{{"`, 0},
	} {
		for _, size := range []int{1, 2, 3, 1000} {
			e := entries{json: test.json}
			for text := test.answer; text != ""; {
				n := min(size, len(text))
				e.exceed([]byte(text[:n]))
				text = text[n:]
			}
			if e.count != test.count {
				t.Errorf("%s in parts of %d: %d, want %d", name, size, e.count, test.count)
			}
		}
	}
	full := entries{}
	if full.exceed([]byte(strings.Repeat("<a>", MaxEntries))) || !full.exceed([]byte("</a>")) {
		t.Error("the bound is another one")
	}
}

// Each error of a store was decoded as if it could be a listing. A hundred archives in a store of a user took all processors of the operator with them.
func TestAnAnswerThatIsNoPageHasFewElements(t *testing.T) {
	for _, test := range []struct {
		method string
		status int
		few    bool
	}{{http.MethodGet, http.StatusOK, false}, {http.MethodGet, http.StatusBadRequest, true}, {http.MethodPost, http.StatusOK, true}, {http.MethodPut, http.StatusOK, true}} {
		b := Transport{}.boundOf(&http.Request{Method: test.method}, test.status)
		_, err := b.count([]byte(strings.Repeat("<a>", maxFew+1)), nil)
		if few := err != nil; few != test.few {
			t.Errorf("%s with status %d: %d elements, error %v", test.method, test.status, maxFew+1, err)
		}
	}
}

// The text may be what the next request repeats: see TestTheTokensOfManyListingsTakeBoundedMemory.
func TestATextOfAPageOfJSONIsShort(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		few  bool
		long bool
	}{
		"as long as it may be": {strings.Repeat("a", objstore.MaxToken), false, false},
		"longer":               {strings.Repeat("a", objstore.MaxToken+1), false, true},
		"of escaped signs":     {strings.Repeat(`\n`, objstore.MaxToken), false, true},
		"of an error":          {strings.Repeat("a", objstore.MaxToken+1), true, false},
	} {
		b := &bound{limit: MaxAnswer, left: MaxAnswer, entries: entries{json: true, few: test.few}}
		if _, err := b.count([]byte(`{"short":"`+test.text+`"}`), nil); (err != nil) != test.long {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
