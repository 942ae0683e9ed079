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
	if got := Sentence("It waits. ", ""); got != "It waits." {
		t.Errorf("without another text: %q", got)
	}
}

func TestAQuotedAnswerIsOneLineWithoutControlCharacters(t *testing.T) {
	for text, want := range map[string]string{"a\nb\t c": "a b c", "\x1b[31mred": "[31mred", "bad\xff": "bad", "abcdefghij": "abcdefgh…"} {
		if got := Quote(text, 8); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
