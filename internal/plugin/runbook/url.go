package runbook

import "github.com/etcd-suite/etcd-operator/docs"

// manual is where the pages are that the plugin names. A user has the program, and not the repository.
const manual = "https://github.com/etcd-suite/etcd-operator/blob/main/docs/"

// PageURL returns the address of a page of the manual.
func PageURL(page string) string { return manual + page }

// ReasonURL returns the address of the page of a reason.
func ReasonURL(reason string) string { return PageURL(docs.ReasonPage(reason)) }
