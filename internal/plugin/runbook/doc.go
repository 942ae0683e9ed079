// Package runbook reads the pages of the manual about each reason, and prints them on a terminal.
package runbook
