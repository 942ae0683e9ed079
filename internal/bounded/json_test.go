package bounded

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

type object struct {
	Text  string    `json:"text"`
	Time  time.Time `json:"time"`
	Count int64     `json:"count"`
	Inner struct {
		Key string `json:"key,omitempty"`
	} `json:"inner"`
}

func TestNoTextOfAnotherPartyIsLong(t *testing.T) {
	long, most := strings.Repeat("x", MaxText+1), strings.Repeat("x", MaxText)
	for name, test := range map[string]struct{ content, err string }{
		"short texts":                          {fmt.Sprintf(`{"text":%q,"inner":{"key":%q},"unknown":%q}`, most, most, strings.Repeat(long, 100)), ""},
		"a long text":                          {fmt.Sprintf(`{"text":%q}`, long), "field text is longer than 1024 bytes"},
		"one within another":                   {fmt.Sprintf(`{"inner":{"key":%q}}`, long), "field inner.key is longer than 1024 bytes"},
		"a time":                               {fmt.Sprintf(`{"time":%q}`, strings.Repeat(long, 1000)), "parsing time"},
		"a number":                             {`{"count":` + strings.Repeat("1", 1<<20) + `}`, "cannot unmarshal"},
		"a time that no JSON has in UTC":       {`{"time":"9999-12-31T23:00:00-01:00"}`, "field time is outside of the years 1 to 9999"},
		"a time before the first year, in UTC": {`{"time":"0001-01-01T00:00:00+01:00"}`, "field time is outside of the years 1 to 9999"},
		"no JSON":                              {long, "invalid character"},
	} {
		var o object
		err := JSON([]byte(test.content), &o)
		if text := fmt.Sprint(err); (err == nil) != (test.err == "") || !strings.Contains(text, test.err) || len(text) > maxError+3 {
			t.Errorf("%s: an error of %d bytes: %.500s", name, len(text), text)
		}
		if name == "short texts" && Size(o) != 2*MaxText {
			t.Errorf("the texts have %d bytes", Size(o))
		}
	}
}
