// Package docs holds pages that programs show to their users, and knows the page of each reason.
package docs

import (
	_ "embed" // for the pages
	"regexp"
	"strings"
	"sync"
)

//go:embed reasons-cluster.md
var reasonsOfClusters string

//go:embed reasons-backup-restore.md
var reasonsOfBackups string

// ReasonPages are the pages that explain each reason of a status, by their names. Each reason has a heading of the second level.
var ReasonPages = map[string]string{"reasons-cluster.md": reasonsOfClusters, "reasons-backup-restore.md": reasonsOfBackups}

var heading = regexp.MustCompile(`(?m)^## (\S+)$`)

var pageOf = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for page, text := range ReasonPages {
		for _, match := range heading.FindAllStringSubmatch(text, -1) {
			found[match[1]] = page
		}
	}
	return found
})

// ReasonPage returns the page of a reason with its anchor, relative to this folder. An unknown reason gets the page that finds a
// reason by its symptom.
func ReasonPage(reason string) string {
	page, found := pageOf()[reason]
	if !found {
		return "operations.md"
	}
	return page + "#" + strings.ToLower(reason)
}
