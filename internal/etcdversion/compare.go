// Package etcdversion compares versions of etcd. It is the only place that does, so that a version is taken alike in each operator,
// in the API and in the seed.
package etcdversion

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is a release of etcd: three numbers, and the name of a release candidate. What a distributor appends to the tag of an
// image is no part of it: 3.6.16-0 of registry.k8s.io has etcd 3.6.16. The zero value is older than each release.
type Version struct {
	major, minor, patch int
	// stage and number of a pre-release, for example rc and 1. A release has none.
	stage  string
	number int
}

// notation has the parts of a version. etcd names its pre-releases alpha, beta and rc; all else after the numbers is of a distributor.
var notation = regexp.MustCompile(`^v?((0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})(?:-(alpha|beta|pre|rc)(?:\.([0-9]{1,9}))?)?)((?:[-+].*)?)$`)

// Parse reads a version, with or without a leading "v".
func Parse(text string) (Version, bool) {
	if v, ok := parsePlain(text); ok {
		return v, true
	}
	return parseNotation(text)
}

func parseNotation(text string) (Version, bool) {
	parts := notation.FindStringSubmatch(text)
	if parts == nil {
		return Version{}, false
	}
	return Version{
		major: number(parts[2]), minor: number(parts[3]), patch: number(parts[4]),
		stage: parts[5], number: number(parts[6]),
	}, true
}

// parsePlain reads a version of three numbers alone, as most are. Rules compare versions often, and the
// regular expression took a sixth of the time of a simulation.
func parsePlain(text string) (v Version, ok bool) {
	for i, into := range [...]*int{&v.major, &v.minor, &v.patch} {
		digits, rest, more := strings.Cut(text, ".")
		if more != (i < 2) || len(digits) == 0 || len(digits) > 9 || digits[0] == '0' && len(digits) > 1 {
			return Version{}, false
		}
		for _, digit := range []byte(digits) {
			if digit < '0' || digit > '9' {
				return Version{}, false
			}
			*into = *into*10 + int(digit-'0')
		}
		text = rest
	}
	return v, true
}

// MustParse returns a version of the source code. What is no version is the zero value, which a test of the caller notices.
func MustParse(text string) Version {
	v, _ := Parse(text)
	return v
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // at most nine digits, or none
	return n
}

// Split separates a version into the release of etcd and what a distributor appended, for example "3.6.16" and "-0". A leading "v" is
// left out. Text that is no version is returned as it is.
func Split(text string) (release, suffix string) {
	parts := notation.FindStringSubmatch(text)
	if parts == nil {
		return text, ""
	}
	return parts[1], parts[7]
}

// Compare returns -1, 0 or 1, as v is before, equal to or after other.
func (v Version) Compare(other Version) int {
	return cmp.Or(
		cmp.Compare(v.major, other.major), cmp.Compare(v.minor, other.minor), cmp.Compare(v.patch, other.patch),
		cmp.Compare(v.rank(), other.rank()), cmp.Compare(v.number, other.number),
	)
}

// rank orders a pre-release before its release.
func (v Version) rank() string { return cmp.Or(v.stage, "~") }

// Before reports whether v is older than other.
func (v Version) Before(other Version) bool { return v.Compare(other) < 0 }

// CompareMinor compares without the patch level. A pre-release counts as its release.
func (v Version) CompareMinor(other Version) int {
	return cmp.Or(cmp.Compare(v.major, other.major), cmp.Compare(v.minor, other.minor))
}

// Minor returns for example "3.6".
func (v Version) Minor() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// String returns the version as etcd reports it.
func (v Version) String() string {
	text := fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch)
	if v.stage == "" {
		return text
	}
	return fmt.Sprintf("%s-%s.%d", text, v.stage, v.number)
}

// Numbers returns the major and the minor version.
func (v Version) Numbers() (major, minor int) { return v.major, v.minor }

// Minor returns the minor version of a text: "3.6" of "3.6.16". Text that is no version is returned as it is.
func Minor(text string) string {
	v, ok := Parse(text)
	if !ok {
		return text
	}
	return v.Minor()
}

// ParseMinor reads a version of which only the minor version counts: the patch level may be missing.
func ParseMinor(text string) (Version, bool) {
	if v, ok := Parse(text); ok {
		return v, true
	}
	return Parse(text + ".0")
}

// OfImage returns the version in the tag of an image, such as quay.io/coreos/etcd:v3.6.16. It is not known if the image has no tag, or one that is
// no version.
func OfImage(image string) (version string, known bool) {
	image, _, _ = strings.Cut(image, "@")
	at := strings.LastIndex(image, ":")
	if at < 0 {
		return "", false
	}
	parsed, known := Parse(image[at+1:])
	return parsed.String(), known
}

// Older reports whether version a is before version b. If a is no version, it is not. If only b is no version, it is.
func Older(a, b string) bool {
	first, ok := Parse(a)
	if !ok || a == b {
		return false
	}
	second, ok := Parse(b)
	return !ok || first.Before(second)
}
