// Package volumes decides which volumes are kept, grown and deleted, and which are set aside.
package volumes
