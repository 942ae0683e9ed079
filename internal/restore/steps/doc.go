// Package steps has each Step of a restore: what it carries, and the words that it reports.
package steps
