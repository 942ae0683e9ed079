// Package modes decides what a cluster does that is being deleted, is paused, hibernates, lacks its Secrets, or is read-only.
package modes
