// Package show holds the commands that only read: the status, events, logs, reports, checks and explanations.
package show
