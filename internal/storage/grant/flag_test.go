package grant

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAListIsReadFromTheFormOfTheChart(t *testing.T) {
	var list List
	if list.String() != "[]" {
		t.Errorf("by default it is %s", list.String())
	}
	const text = `[{"namespaces":["team-a","team-b"],"pathPrefix":"bucket/{namespace}/"},{"namespaces":["*"],"pathPrefix":"*"}]`
	if err := list.Set(text); err != nil {
		t.Fatal(err)
	}
	want := List{{[]string{"team-a", "team-b"}, "bucket/{namespace}/"}, {[]string{"*"}, "*"}}
	if diff := cmp.Diff(want, list); diff != "" || list.String() != text {
		t.Errorf("%s: want -, got +:\n%s", list.String(), diff)
	}
}

// A mistake in the values allowed more than was meant: an entry without a prefix would allow every path.
func TestAListWithAMistakeIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		`team-a`: "no JSON",
		`[{"namespaces":["a"],"pathPrefix":"b/"}] [{"namespaces":["*"],"pathPrefix":"*"}]`: "more than one",
		`[{"namespaces":["a"],"prefix":"b/"}]`:                                             "prefix",
		`[{"pathPrefix":"b/"}]`:                                                            "no namespaces",
		`[{"namespaces":[],"pathPrefix":"b/"}]`:                                            "no namespaces",
		`[{"namespaces":["a*"],"pathPrefix":"b/"}]`:                                        `"a*" is no name`,
		`[{"namespaces":[""],"pathPrefix":"b/"}]`:                                          `"" is no name`,
		`[{"namespaces":["a/b"],"pathPrefix":"b/"}]`:                                       "is no name",
		`[{"namespaces":["a"]}]`:                                                           "no pathPrefix",
		`[{"namespaces":["a"],"pathPrefix":""}]`:                                           "no pathPrefix",
		`[{"namespaces":["a"],"pathPrefix":"/b"}]`:                                         "name of a bucket",
		`[{"namespaces":["a"],"pathPrefix":"s3://b"}]`:                                     "name of a bucket",
		`[{"namespaces":["a"],"pathPrefix":"b/../c"}]`:                                     "part of dots",
		`[{"namespaces":["a"],"pathPrefix":"../c"}]`:                                       "part of dots",
		`[{"namespaces":["a"],"pathPrefix":"b//c"}]`:                                       "empty part",
		`[{"namespaces":["a"],"pathPrefix":"b/c\\\\d"}]`:                                   "backslash",
		`[{"namespaces":["a"],"pathPrefix":"b/*"}]`:                                        "or \"*\" for all paths",
		`[{"namespaces":["a"],"pathPrefix":"b/{cluster}/"}]`:                               "{namespace}",
		`[{"namespaces":["a"],"pathPrefix":"b/{{namespace}}/"}]`:                           "{namespace}",
		`[{"namespaces":["a"],"pathPrefix":"b/continuous-archive/x"}]`:                     "continuous archives",
	} {
		list := Everything()
		if err := list.Set(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
		if len(list) != 1 {
			t.Errorf("%s: it has changed the list", text)
		}
	}
}
