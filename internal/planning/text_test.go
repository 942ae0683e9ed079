package planning

import "testing"

func TestShortenCutsBetweenCharacters(t *testing.T) {
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd…", "abcüd": "abc…"} {
		if got := Shorten(text, 4); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestSentenceEndsWithOneFullStop(t *testing.T) {
	for text, want := range map[string]string{"no route": "It failed: no route.", "no route.": "It failed: no route."} {
		if got := Sentence("It failed: ", text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
