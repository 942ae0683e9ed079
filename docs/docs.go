// Package docs holds pages that programs show to their users.
package docs

import _ "embed" // for the page

// Operations is the page that explains each reason of a status.
//
//go:embed operations.md
var Operations string
