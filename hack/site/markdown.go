package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// page is a rendered file of the repository.
type page struct {
	File, Target string
	Title        string
	Body         []byte
	Parts        []part
}

// part is a heading with the text below it, until the next heading.
type part struct {
	Level         int
	Anchor, Title string
	Text          string
}

// markdown renders as GitHub does: tables and bare links. Files of the repository may contain HTML.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// render reads a file of the repository and makes a page of it.
func render(root, file string) (page, error) {
	source, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return page{}, fmt.Errorf("read a page: %w", err)
	}
	document := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&githubIDs{}))))
	if err := relink(root, file, document, source); err != nil {
		return page{}, fmt.Errorf("%s: %w", file, err)
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, document); err != nil {
		return page{}, fmt.Errorf("render %s: %w", file, err)
	}
	parts := partsOf(document, source)
	if len(parts) == 0 || parts[0].Level != 1 {
		return page{}, fmt.Errorf("%s does not begin with a title (# ...)", file)
	}
	return page{File: file, Target: target(file), Title: parts[0].Title, Body: body.Bytes(), Parts: parts}, nil
}

// relink makes links between files of the repository links between pages. A link to another file leads to the repository.
func relink(root, file string, document ast.Node, source []byte) error {
	return ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Link:
			destination, err := relinked(root, file, string(n.Destination))
			n.Destination = []byte(destination)
			return ast.WalkContinue, err
		case *ast.Image:
			destination, err := relinked(root, file, string(n.Destination))
			n.Destination = []byte(destination)
			return ast.WalkContinue, err
		case *ast.FencedCodeBlock:
			if string(n.Language(source)) == "mermaid" {
				return ast.WalkStop, fmt.Errorf("the site shows no Mermaid diagram: draw an SVG in docs/images")
			}
		}
		return ast.WalkContinue, nil
	})
}

func relinked(root, file, link string) (string, error) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") || strings.HasPrefix(link, "mailto:") {
		return link, nil
	}
	name, anchor, _ := strings.Cut(link, "#")
	named := path.Join(path.Dir(file), name)
	info, err := os.Stat(filepath.Join(root, named))
	if err != nil {
		return "", fmt.Errorf("a link leads to %s, which does not exist", link)
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	to := target(named)
	switch {
	case to != "":
		relative, err := filepath.Rel(path.Dir(target(file)), to)
		return filepath.ToSlash(relative) + anchor, err
	case info.IsDir():
		return repository + "tree/main/" + named, nil
	}
	return repository + "blob/main/" + named + anchor, nil
}

// partsOf returns the headings and what is below each of them, as plain text for the search.
func partsOf(document ast.Node, source []byte) []part {
	var parts []part
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			id, _ := heading.AttributeString("id")
			anchor, _ := id.([]byte)
			parts = append(parts, part{Level: heading.Level, Anchor: string(anchor), Title: plain(node, source)})
		} else if len(parts) > 0 {
			last := &parts[len(parts)-1]
			last.Text = strings.TrimSpace(last.Text + " " + plain(node, source))
		}
	}
	return parts
}

// plain is the text of a node without its marks.
func plain(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// githubIDs gives headings the anchors that GitHub gives them, so that a link works in both places.
type githubIDs struct{ used map[string]int }

var dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

func (g *githubIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	if g.used == nil {
		g.used = map[string]int{}
	}
	anchor := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(string(value)), ""), " ", "-")
	count := g.used[anchor]
	g.used[anchor]++
	if count > 0 {
		anchor = fmt.Sprintf("%s-%d", anchor, count)
	}
	return []byte(anchor)
}

func (g *githubIDs) Put([]byte) {}
