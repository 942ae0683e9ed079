package objstore

import (
	"slices"
	"strings"
	"unicode"
)

// Names reports whether a list has the URL of an endpoint. The list is the key endpoint of a Secret, with blanks or commas between the URLs.
func Names(list, endpoint string) bool {
	urls := strings.FieldsFunc(list, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	return slices.ContainsFunc(urls, func(url string) bool { return strings.TrimRight(url, "/") == strings.TrimRight(endpoint, "/") })
}
