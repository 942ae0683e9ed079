package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
)

// written is what the check needs to know about an HTML file.
type written struct {
	anchors map[string]bool
	links   []string
}

// checkSite returns an error for each link of a site that leads to a file or an anchor that does not exist.
func checkSite(dir string) error {
	pages := map[string]written{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".html" {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		pages[filepath.ToSlash(name)], err = scan(file)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the site: %w", err)
	}
	var broken []error
	for name, p := range pages {
		for _, link := range p.links {
			if why := resolve(dir, pages, name, link); why != "" {
				broken = append(broken, fmt.Errorf("%s links to %s: %s", name, link, why))
			}
		}
	}
	return errors.Join(broken...)
}

// resolve returns why a link is broken, or nothing. Links to other sites are not followed.
func resolve(dir string, pages map[string]written, from, link string) string {
	to, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if to.Scheme != "" {
		return ""
	}
	name := from
	if to.Path != "" {
		name = path.Join(path.Dir(from), to.Path)
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		return "no such file"
	}
	if to.Fragment != "" && !pages[name].anchors[to.Fragment] {
		return "no such heading"
	}
	return ""
}

// scan returns the anchors and links of an HTML file.
func scan(file string) (written, error) {
	f, err := os.Open(file)
	if err != nil {
		return written{}, err
	}
	defer f.Close()
	p := written{anchors: map[string]bool{}}
	for tokens := html.NewTokenizer(f); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return p, nil
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, a := range tokens.Token().Attr {
				switch strings.ToLower(a.Key) {
				case "id", "name":
					p.anchors[a.Val] = true
				case "href", "src":
					p.links = append(p.links, a.Val)
				}
			}
		}
	}
}
