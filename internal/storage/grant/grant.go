// Package grant says which namespace may use the operators' own identity, and below which paths of the stores. May is the
// only comparison. Package connect asks it for each object.
package grant

import (
	"path"
	"slices"
	"strings"
)

const (
	// All stands for all namespaces, and as a prefix for all paths.
	All = "*"
	// placeholder in a prefix stands for the namespace.
	placeholder = "{namespace}"
	// archives is where continuous archives are in a bucket. The archive of bucket/path is below bucket/continuous-archive/path.
	archives = "continuous-archive/"
)

// Grant allows namespaces to use the operator's own identity below a prefix.
type Grant struct {
	// Namespaces that it is for. All means each namespace.
	Namespaces []string `json:"namespaces"`
	// PathPrefix is "<bucket>/<folder>/", in which {namespace} stands for the namespace. All means each path.
	PathPrefix string `json:"pathPrefix"`
}

// List is what the administrator allows. The zero List allows nothing.
type List []Grant

// Everything allows each path to each namespace.
func Everything() List { return List{{Namespaces: []string{All}, PathPrefix: All}} }

// May reports whether the list allows an object to a namespace. key may also be the prefix of a listing: all that it lists is then allowed. An
// archive belongs to the path that it archives, so that no name of a namespace leads to the archives of others.
func (l List) May(namespace, bucket, key string) bool {
	key = strings.TrimPrefix(key, archives)
	return slices.ContainsFunc(l, func(g Grant) bool {
		return g.serves(namespace) && (g.PathPrefix == All || below(g.prefix(namespace), bucket+"/"+key))
	})
}

// Names reports whether a prefix of the list is in the bucket. A store may ignore the case of its name.
func (l List) Names(bucket string) bool {
	return slices.ContainsFunc(l, func(g Grant) bool {
		named, _, _ := strings.Cut(g.PathPrefix, "/")
		return g.PathPrefix != All && slices.ContainsFunc(g.Namespaces, func(namespace string) bool {
			matches, err := path.Match(strings.ToLower(strings.ReplaceAll(named, placeholder, namespace)), strings.ToLower(bucket))
			return err == nil && matches
		})
	})
}

// Prefixes returns below which paths a namespace may use the identity.
func (l List) Prefixes(namespace string) (prefixes []string) {
	for _, g := range l {
		if g.serves(namespace) {
			prefixes = append(prefixes, g.prefix(namespace))
		}
	}
	return prefixes
}

func (g Grant) serves(namespace string) bool {
	return namespace != "" && (slices.Contains(g.Namespaces, All) || slices.Contains(g.Namespaces, namespace))
}

// prefix returns the prefix for a namespace. It ends at a slash, so that bucket/a does not allow bucket/ab.
func (g Grant) prefix(namespace string) string {
	if g.PathPrefix == All {
		return All
	}
	return strings.TrimRight(strings.ReplaceAll(g.PathPrefix, placeholder, namespace), "/") + "/"
}

// below reports whether a path begins with a prefix. A path that leads up again is never below: some servers and proxies resolve "..".
func below(prefix, path string) bool { return strings.HasPrefix(path, prefix) && !leadsUp(path) }

// leadsUp reports whether a part of a path has only dots. Azure drops dots at the end of a part, and takes a backslash for a slash.
func leadsUp(path string) bool {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Trim(part, ".") == "" })
}
