// Checks the links of the built site.
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const values = (html, name) => [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map((match) => match[1].replaceAll('&amp;', '&'))

// check throws an error that names each link of the site to a page or a heading that does not exist.
export function check(dir, base) {
  const names = readdirSync(dir, { recursive: true }).filter((name) => name.endsWith('.html'))
  const pages = new Map(names.map((name) => {
    const html = readFileSync(join(dir, name), 'utf8')
    return [name, { anchors: new Set(values(html, 'id')), links: values(html, 'href') }]
  }))
  const broken = []
  for (const [name, { links }] of pages) {
    for (const link of new Set(links)) {
      if (/^[a-z]+:/.test(link)) continue
      const [path, anchor] = decodeURI(link).split('#')
      const to = path === '' ? name : path.replace(base, '').replace(/(^|\/)$/, '$1index.html')
      if (!exists(join(dir, to))) broken.push(`${name} links to ${link}: no such file`)
      else if (anchor && pages.has(to) && !pages.get(to).anchors.has(anchor)) broken.push(`${name} links to ${link}: no such heading`)
    }
  }
  if (broken.length) throw new Error(broken.join('\n'))
  return pages.size
}

function exists(path) {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
