import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decisions, menu, page, repository, root, stage, title } from '../stage.mjs'
import { check } from './check.mjs'
import { anchor, extend } from './markdown.mjs'
import { marked, search } from './search.mjs'

// The site can be served below a path: SITE_BASE=/etcd-operator/ make docs
const base = process.env.SITE_BASE || '/'
const path = (file) => `/${page(file).replace(/(index)?\.md$/, '')}`
// The menu has the title of a page without the name of the section that it is in.
const short = (text) => text.replace(/^Tutorial: (.)/, (_, first) => first.toUpperCase())
const entry = (file) => ({ text: short(title(file)), link: path(file) })
const version = readFileSync(join(root, 'charts/etcd-operator/Chart.yaml'), 'utf8').match(/^version: *"?([^"\n]+)/m)[1]

stage()

export default {
  title: 'etcd operator suite',
  description: 'Three operators that run, back up and restore etcd clusters on Kubernetes',
  lang: 'en',
  srcDir: 'pages',
  outDir: '../../dist/site',
  base,
  head: [['link', { rel: 'icon', href: `${base}images/icon.svg` }]],
  metaChunk: true,
  vite: { plugins: [marked], build: { chunkSizeWarningLimit: 4096 } },
  buildEnd(site) {
    const pages = check(site.outDir, base)
    console.log(`${pages} pages, and each link leads to a page and a heading`)
  },
  markdown: {
    anchor: { slugify: anchor },
    config: extend,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
  },
  themeConfig: {
    logo: '/images/icon.svg',
    outline: { level: [2, 3] },
    nav: [
      { text: 'Manual', link: '/manual' },
      { text: 'Tutorials', link: '/tutorial-first-cluster' },
      { text: 'API', link: '/api' },
      { text: version, items: [{ text: 'Changelog', link: '/changelog' }, { text: 'Releases', link: `${repository}/releases` }] },
    ],
    sidebar: [
      ...menu.map((section) => ({ text: section.title, collapsed: false, items: section.pages.map(entry) })),
      { text: 'Decisions', collapsed: true, items: decisions.map(entry) },
    ],
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: ({ frontmatter }) => `https://github.com/etcd-suite/etcd-operator/blob/main/${frontmatter.source}`, text: 'View this page on GitHub' },
    search,
  },
}
