package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// entry is a link of the menu.
type entry struct {
	Title, Href string
	Current     bool
}

// view is what the layout shows.
type view struct {
	Title, Root, Source string
	Body                template.HTML
	Menu                []struct {
		Title   string
		Entries []entry
	}
	Contents       []part
	Previous, Next *entry
}

// build writes the site and returns the number of its pages. It replaces an earlier site in the same directory.
func build(root, out string) (int, error) {
	files, err := sources(root)
	if err != nil {
		return 0, err
	}
	if err := empty(out); err != nil {
		return 0, err
	}
	var pages []page
	for _, file := range files {
		p, err := render(root, file)
		if err != nil {
			return 0, err
		}
		pages = append(pages, p)
	}
	for i := range pages {
		html, err := wrap(pages, i)
		if err != nil {
			return 0, err
		}
		if err := write(out, pages[i].Target, html); err != nil {
			return 0, err
		}
	}
	if err := copyImages(root, out); err != nil {
		return 0, err
	}
	return len(pages), writeAssets(out, pages)
}

// empty removes an earlier site. A directory with other files is refused.
func empty(out string) error {
	entries, err := os.ReadDir(out)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read %s: %w", out, err)
	}
	if _, err := os.Stat(filepath.Join(out, "search.js")); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s has files that are no site: name an empty directory", out)
	}
	return os.RemoveAll(out)
}

// wrap puts the menu, the table of contents and the links to the neighbours around a page.
func wrap(pages []page, i int) ([]byte, error) {
	p := pages[i]
	v := view{Title: p.Title, Root: strings.Repeat("../", strings.Count(p.Target, "/")), Source: repository + "blob/main/" + p.File,
		Body: template.HTML(p.Body)} // #nosec G203 -- the files of the repository are trusted
	titles := map[string]string{}
	for _, other := range pages {
		titles[other.File] = other.Title
	}
	listed := 0
	for _, s := range menu {
		block := struct {
			Title   string
			Entries []entry
		}{Title: s.Title}
		for _, file := range s.Files {
			block.Entries = append(block.Entries, entry{titles[file], v.Root + target(file), file == p.File})
			listed++
		}
		v.Menu = append(v.Menu, block)
	}
	neighbour := func(i int) *entry {
		if i < 0 || i >= listed {
			return nil
		}
		return &entry{Title: pages[i].Title, Href: v.Root + pages[i].Target}
	}
	if i < listed {
		v.Previous, v.Next = neighbour(i-1), neighbour(i+1)
	}
	for _, part := range p.Parts {
		if part.Level == 2 || part.Level == 3 {
			v.Contents = append(v.Contents, part)
		}
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("lay out %s: %w", p.File, err)
	}
	return b.Bytes(), nil
}

// writeAssets writes the style, the search and its index. The index is a script, so that the search works without a server, too.
func writeAssets(out string, pages []page) error {
	for _, name := range []string{"style.css", "search.js"} {
		content, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		if err := write(out, name, content); err != nil {
			return err
		}
	}
	type row struct {
		Page   string `json:"p"`
		Title  string `json:"t"`
		Head   string `json:"h"`
		Anchor string `json:"a"`
		Text   string `json:"x"`
	}
	var rows []row
	for _, p := range pages {
		for _, part := range p.Parts {
			rows = append(rows, row{p.Target, p.Title, part.Title, part.Anchor, part.Text})
		}
	}
	index, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	return write(out, "index.js", append(append([]byte("window.manual = "), index...), ";\n"...))
}

func copyImages(root, out string) error {
	files, err := filepath.Glob(filepath.Join(root, "docs/images/*"))
	if err != nil {
		return fmt.Errorf("list the images: %w", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read an image: %w", err)
		}
		if err := write(out, path.Join("images", filepath.Base(file)), content); err != nil {
			return err
		}
	}
	return nil
}

func write(out, name string, content []byte) error {
	file := filepath.Join(out, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return os.WriteFile(file, content, 0o644)
}
