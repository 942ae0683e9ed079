// Copies the pages of the manual into pages/, from which VitePress builds the site. The files are those that GitHub shows, so their
// links name files of the repository. A copy gets links between pages, and links to the code host for all other files.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = 'https://github.com/etcd-suite/etcd-operator'
export const here = dirname(fileURLToPath(import.meta.url))
export const root = join(here, '../..')
export const menu = JSON.parse(readFileSync(join(here, 'menu.json'), 'utf8'))

// decisions are listed by a page of their own, and follow it in the menu.
export const decisions = ['docs/adr/README.md',
  ...readdirSync(join(root, 'docs/adr')).filter((name) => /^\d.*\.md$/.test(name)).sort().map((name) => `docs/adr/${name}`)]

export const files = [...menu.flatMap((section) => section.pages), ...decisions]

// page returns the page of the site for a file of the repository, or nothing if the file is no page.
export function page(file) {
  if (file === 'README.md') return 'index.md'
  if (file === 'docs' || file === 'docs/README.md') return 'manual.md'
  if (file === 'docs/adr' || file === 'docs/adr/README.md') return 'adr/index.md'
  const chart = file.match(/^charts\/([^/]+)\/README\.md$/)
  const name = chart ? `chart-${chart[1]}.md` : file.replace(/^docs\//, '').replace(/^[A-Z]+\.md$/, (upper) => upper.toLowerCase())
  return files.includes(file) ? name : undefined
}

// title returns the first heading of a file.
export function title(file) {
  const heading = readFileSync(join(root, file), 'utf8').match(/^# (.+)$/m)
  if (!heading) throw new Error(`${file} does not begin with a title (# ...)`)
  return heading[1].replace(/`/g, '')
}

// relink returns where a link of a file leads on the site.
export function relink(file, link) {
  if (/^([a-z]+:|#)/.test(link)) return link
  const [path, anchor] = link.split('#')
  const named = posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '')
  if (!existsSync(join(root, named))) throw new Error(`${file} links to ${link}, which does not exist`)
  if (named.startsWith('docs/images/')) return `/${named.slice('docs/'.length)}`
  const to = page(named)
  // The home page has the quick start of the README, but not its other headings.
  if (to && !(named === 'README.md' && anchor)) return `/${to}${anchor ? `#${anchor}` : ''}`
  const kind = statSync(join(root, named)).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${named}${anchor ? `#${anchor}` : ''}`
}

// stage replaces the directory pages/.
export function stage(out = join(here, 'pages')) {
  rmSync(out, { recursive: true, force: true })
  for (const file of files) {
    const to = join(out, page(file))
    mkdirSync(dirname(to), { recursive: true })
    // VitePress reads the file's own name from the header. It is in the copy only.
    writeFileSync(to, `---\nsource: ${file}\n---\n${readFileSync(join(root, file), 'utf8')}`)
  }
  cpSync(join(here, 'home.md'), join(out, 'index.md'))
  cpSync(join(root, 'docs/images'), join(out, 'public/images'), { recursive: true })
}
