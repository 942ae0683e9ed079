package grant

import (
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

// random makes texts of few letters, so that prefixes, namespaces and paths often begin alike.
type random struct{ *rand.Rand }

func (r random) pick(from ...string) string { return from[r.IntN(len(from))] }

func (r random) path(parts int) string {
	var text strings.Builder
	for range r.IntN(parts) + 1 {
		text.WriteString(r.pick("a", "b", "ab", "/", "/", "..", ".", `\`, "{namespace}", "A", "continuous-archive"))
	}
	return text.String()
}

func (r random) list() (list List) {
	for range r.IntN(3) + 1 {
		g := Grant{Namespaces: []string{r.pick("a", "b", "ab", "continuous-archive", All)}, PathPrefix: r.path(6)}
		if g.check() == nil {
			list = append(list, g)
		}
	}
	return list
}

// resolved returns where a server that resolves a path would look, also one that takes backslashes for slashes and drops dots.
func resolved(text string) []string {
	slashes := strings.ReplaceAll(text, `\`, "/")
	parts := strings.Split(slashes, "/")
	for i := range parts {
		if len(parts[i]) > 2 && strings.Trim(parts[i], ".") == "" {
			parts[i] = ".."
		}
	}
	return []string{text, path.Clean(text), path.Clean(slashes), path.Clean(strings.Join(parts, "/"))}
}

// within says in other words than May what a namespace may use. It splits paths into parts.
func within(list List, namespace, place string) bool {
	parts := strings.Split(place, "/")
	if len(parts) > 2 && parts[1] == "continuous-archive" {
		parts = slices.Delete(slices.Clone(parts), 1, 2)
	}
	return slices.ContainsFunc(list, func(g Grant) bool {
		if g.Namespaces[0] != All && g.Namespaces[0] != namespace {
			return false
		}
		prefix := strings.Split(strings.TrimRight(strings.ReplaceAll(g.PathPrefix, placeholder, namespace), "/"), "/")
		return g.PathPrefix == All || len(parts) > len(prefix) && slices.Equal(prefix, parts[:len(prefix)])
	})
}

// A path that nobody has thought of led out of the prefix.
func TestWhateverIsAllowedIsBelowAPrefix(t *testing.T) {
	seed := rand.Uint64()
	r := random{rand.New(rand.NewPCG(seed, 0))}
	allowed := 0
	for range 300_000 {
		list, namespace := r.list(), r.pick("a", "b", "ab", "continuous-archive")
		text := r.path(8)
		if len(list) > 0 && r.IntN(2) == 0 {
			text = list[0].prefix(namespace) + text
		}
		bucket, key, _ := strings.Cut(text, "/")
		if !list.May(namespace, bucket, key) {
			continue
		}
		allowed++
		for i, at := range resolved(bucket + "/" + key) {
			if whole := bucket + "/" + key; i > 0 && strings.TrimRight(whole, `/\`) != whole {
				at += "/" // Clean has removed the slash at the end of a listing
			}
			if !within(list, namespace, at) {
				t.Fatalf("seed %d: %v allows %s to namespace %s, and a server may find %s", seed, list, text, namespace, at)
			}
		}
		// What a listing of it yields begins with it.
		if more := key + r.pick("a", "/a", ".a", "-", "ab/c"); !list.May(namespace, bucket, more) && !leadsUp(bucket+"/"+more) {
			t.Fatalf("seed %d: a listing of %s yields %s, which is not allowed", seed, text, more)
		}
	}
	if allowed < 1000 {
		t.Errorf("seed %d: only %d paths were allowed", seed, allowed)
	}
}

// Two namespaces shared a place by a prefix with the namespace in it.
func TestPrefixesWithTheNamespaceAreDisjoint(t *testing.T) {
	seed := rand.Uint64()
	r := random{rand.New(rand.NewPCG(seed, 0))}
	list := List{{[]string{All}, "bucket/{namespace}/"}}
	for range 100_000 {
		key := r.pick("", "continuous-archive/") + r.path(8)
		var who []string
		for _, namespace := range []string{"a", "b", "ab", "continuous-archive"} {
			if list.May(namespace, "bucket", key) {
				who = append(who, namespace)
			}
		}
		if len(who) > 1 {
			t.Fatalf("seed %d: %s may all use bucket/%s", seed, who, key)
		}
	}
}
