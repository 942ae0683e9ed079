// Package findings judges what was read: what is wrong with a cluster, its Pods, backups and restores, and what to do.
package findings
