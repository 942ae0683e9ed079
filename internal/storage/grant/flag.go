package grant

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Set reads a list from JSON, the form of the chart's value ownIdentity. List is the value of a flag.
func (l *List) Set(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var read List
	if err := decoder.Decode(&read); err != nil {
		return fmt.Errorf("the list is no JSON of the form [{\"namespaces\": [\"team-a\"], \"pathPrefix\": \"bucket/{namespace}/\"}]: %w", err)
	}
	if decoder.More() {
		return errors.New("there is more than one list")
	}
	for _, g := range read {
		if err := g.check(); err != nil {
			return err
		}
	}
	*l = read
	return nil
}

// String is the list as JSON.
func (l *List) String() string {
	if l == nil || len(*l) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(*l) // it has only strings
	return string(text)
}

// Type is the name in the help of the flag.
func (l *List) Type() string { return "json" }

var (
	namespacePattern = regexp.MustCompile(`^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$`)
	bucketPattern    = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// check returns what is wrong with a grant. A mistake must not allow more than was meant.
func (g Grant) check() error {
	if len(g.Namespaces) == 0 {
		return fmt.Errorf("the entry with pathPrefix %q has no namespaces: write their names, or \"*\" for all", g.PathPrefix)
	}
	for _, namespace := range g.Namespaces {
		if !namespacePattern.MatchString(namespace) {
			return fmt.Errorf("%q is no name of a namespace, and not \"*\" for all", namespace)
		}
	}
	if g.PathPrefix == All {
		return nil
	}
	prefix := strings.ReplaceAll(g.PathPrefix, placeholder, "namespace")
	bucket, folder, _ := strings.Cut(prefix, "/")
	switch {
	case g.PathPrefix == "":
		return errors.New("an entry has no pathPrefix: write \"<bucket>/<folder>/\", or \"*\" for all paths")
	case !bucketPattern.MatchString(bucket):
		return fmt.Errorf("pathPrefix %q does not begin with the name of a bucket: write \"<bucket>/<folder>/\"", g.PathPrefix)
	case leadsUp(prefix), strings.ContainsAny(prefix, `\`), strings.Contains(prefix, "//"):
		return fmt.Errorf("pathPrefix %q has a part of dots, an empty part or a backslash: write \"<bucket>/<folder>/\"", g.PathPrefix)
	case strings.HasPrefix(folder+"/", archives):
		return fmt.Errorf("pathPrefix %q is in the folder of continuous archives: write the path of the snapshots, which allows its archive, too", g.PathPrefix)
	case strings.ContainsAny(prefix, "{}*"):
		return fmt.Errorf("pathPrefix %q has more than names and %s: write \"<bucket>/<folder>/\", or \"*\" for all paths", g.PathPrefix, placeholder)
	}
	return nil
}
