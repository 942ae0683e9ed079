package objstore

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestAWebPageIsRecognisedByWellKnownWords(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		words  string
		kind   error // nil: it may be from the store
	}{
		"nginx limits the body":         {413, "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body><hr><center>nginx</center></body></html>", "Request Entity Too Large, nginx", ErrTooLarge},
		"no backend":                    {503, "<!DOCTYPE html><html><style>b{}</style><body><h1>503 Service Unavailable</h1>\nNo server is available to <b>handle</b> this request</body></html>", "Service Unavailable, No server is available to handle this request", ErrUnavailable},
		"a console":                     {404, "\ufeff <HTML><body>Not\n found</body>", "Not Found", ErrNoStore},
		"a firewall":                    {403, "<html>blocked for alice</html>", "blocked", fs.ErrPermission},
		"a script only":                 {405, "<html><script>let nginx = '<b>'", "", ErrNoStore},
		"a page of an internal service": {400, "<html>session=s3cr3t</html>", "", ErrNoStore},
		"an answer of S3":               {501, "<?xml version=\"1.0\"?><Error><Code>NotImplemented</Code></Error>", "", nil},
		"an answer of GCS":              {404, "No such object: bucket/key", "", nil},
		"a page that is an object":      {200, "<html>my object</html>", "", nil},
		"an empty answer":               {503, "", "", nil},
	} {
		page := PageIn(test.status, []byte(test.body))
		switch {
		case page == nil && test.kind == nil:
		case page == nil || test.kind == nil:
			t.Errorf("%s: got %v", name, page)
		case strings.Join(page.Words, ", ") != test.words || !errors.Is(page, test.kind):
			t.Errorf("%s: %q is %v, expected %q and %v", name, page.Words, errors.Unwrap(page), test.words, test.kind)
		}
	}
}
