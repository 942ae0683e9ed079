// Command site makes a website of the manual in docs/, with a menu and a search:
//
//	go run . <root of the repository> <directory to write>
//
// The same files are read on GitHub, so a page is plain Markdown without a header, and links name the .md files. It is a module of
// its own, so that the operators do not depend on its libraries.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site <root of the repository> <directory to write>")
		os.Exit(2)
	}
	pages, err := build(os.Args[1], os.Args[2])
	if err == nil {
		err = checkSite(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages: open %s/index.html\n", pages, os.Args[2])
}
