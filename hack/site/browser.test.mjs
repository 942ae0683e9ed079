// Reads the built site in a real browser. make site-test runs it.
import assert from 'node:assert/strict'
import { createReadStream, readFileSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { chromium } from 'playwright-core'
import { root } from './stage.mjs'

const site = join(root, 'dist/site')
const widths = [390, 1280, 1920]
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2' }

let server, browser, address

before(async () => {
  server = createServer((request, response) => {
    const path = new URL(request.url, 'http://site').pathname
    const file = join(site, path.endsWith('/') ? `${path}index.html` : path)
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
    createReadStream(file).pipe(response)
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  address = `http://127.0.0.1:${server.address().port}`
  // A container has no namespaces for the sandbox. The pages are ours.
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] })
})

after(async () => {
  await browser?.close()
  server?.close()
})

const paths = () => readdirSync(site, { recursive: true }).filter((name) => name.endsWith('.html') && name !== '404.html').map((name) => `/${name}`)

// open returns a page of the browser with a path of the site. The function is called for each error in it.
async function open(path, options, failed = () => {}) {
  const page = await browser.newPage(options)
  page.on('pageerror', (error) => failed(`${page.url()}: ${error.message}`))
  page.on('response', (response) => response.status() >= 400 && failed(`${response.url()}: ${response.status()}`))
  await page.goto(address + path, { waitUntil: 'load' })
  await alive(page)
  return page
}

// alive waits until the scripts of a page answer to keys and clicks.
const alive = (page) => page.waitForFunction(() => document.getElementById('app').__vue_app__)

// wide returns what is wider than its place, so that a reader sees only a part of it.
function wide() {
  const found = []
  const view = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth > view) found.push(`the page is ${document.documentElement.scrollWidth}px wide`)
  for (const code of document.querySelectorAll('pre')) {
    if (code.scrollWidth > code.clientWidth) found.push(`code is ${code.scrollWidth}px wide in ${code.clientWidth}px: ${code.textContent.slice(0, 60)}`)
  }
  for (const table of document.querySelectorAll('.table')) {
    const columns = table.querySelector('tr').children.length
    if (columns > 5 && view < 1440) continue // a comparison of many may scroll in its box
    if (table.scrollWidth > table.clientWidth) found.push(`a table is ${table.scrollWidth}px wide in ${table.clientWidth}px: ${table.textContent.trim().slice(0, 60)}`)
  }
  for (const picture of document.querySelectorAll('main img')) {
    if (picture.getBoundingClientRect().right > view) found.push(`a picture leaves the page: ${picture.src}`)
  }
  return found
}

// unlinked returns the headings without an anchor of their own and a link to it.
function unlinked() {
  const seen = new Set()
  return [...document.querySelectorAll('.vp-doc :is(h1, h2, h3, h4, h5)')].filter((heading) => {
    const linked = heading.id && !seen.has(heading.id) && heading.querySelector('a.header-anchor')?.getAttribute('href') === `#${encodeURI(heading.id)}`
    seen.add(heading.id)
    return !linked
  }).map((heading) => `the heading "${heading.textContent}" has no link of its own`)
}

test('no page is wider than the screen, and each heading can be linked', { timeout: 900_000 }, async () => {
  const problems = []
  const page = await open('/', {}, (problem) => problems.push(problem))
  for (const path of paths()) {
    await page.goto(address + path, { waitUntil: 'load' })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      problems.push(...(await page.evaluate(wide)).map((problem) => `${path} at ${width}px: ${problem}`))
    }
    problems.push(...(await page.evaluate(unlinked)).map((problem) => `${path}: ${problem}`))
  }
  await page.close()
  assert.deepEqual(problems, [])
})

test('each field of the API has a block with its type, and a link leads to it', { timeout: 60_000 }, async () => {
  const listed = readFileSync(join(root, 'docs/api.md'), 'utf8').match(/^#### `[^`]+`$/gm).map((line) => line.slice(6, -1))
  assert.ok(listed.length > 400)
  const page = await open('/api.html#etcdbackupspecbackuppolicyschedule', { viewport: { width: 390, height: 900 } })
  const shown = await page.evaluate(() => [...document.querySelectorAll('h4.field')].map((heading) => ({
    path: heading.querySelector('code').textContent, type: heading.nextElementSibling.textContent,
  })))
  assert.deepEqual(shown.map((field) => field.path), listed)
  assert.deepEqual(shown.filter((field) => !field.type.startsWith('Type: ')), [])
  await page.waitForFunction(() => {
    const top = document.getElementById('etcdbackupspecbackuppolicyschedule').getBoundingClientRect().top
    return top >= 0 && top < 300
  })
  await page.close()
})

// The first result of a search must be one of these pages.
const searches = {
  PITR: ['/point-in-time-recovery'],
  'point-in-time': ['/point-in-time-recovery'],
  Velero: ['/disaster-recovery', '/faq'],
  'custom CA': ['/stores', '/tutorial-minio'],
  RPO: ['/glossary'],
  RTO: ['/glossary'],
  restore: ['/restore'],
  upgrade: ['/day-2', '/install'],
  mTLS: ['/tls', '/tutorial-tls'],
  S3: ['/stores'],
  MinIO: ['/tutorial-minio', '/stores'],
  NFS: ['/tutorial-volume', '/stores'],
  maxLag: ['/api'],
  QuorumLost: ['/reasons-cluster'],
  // The tasks of a new user.
  'install a release': ['/install'],
  'nightly backup MinIO private CA': ['/tutorial-minio'],
  'restore yesterday': ['/tutorial-point-in-time'],
  'second region': ['/tutorial-second-region'],
  'TLS clients': ['/clients', '/tls', '/tutorial-tls'],
  'kube-apiserver': ['/control-planes', '/clients'],
  'upgrade etcd': ['/day-2'],
  'grow a cluster': ['/tutorial-first-cluster', '/day-2'],
  'node lost': ['/disaster-recovery'],
  'turn authentication on': ['/authentication'],
  Bitnami: ['/migrating-from-a-statefulset'],
  'migrate StatefulSet': ['/migrating-from-a-statefulset'],
  'move etcd without downtime': ['/migrating'],
  'user per team': ['/authentication'],
  'promote standby': ['/standby'],
  'broken node': ['/disaster-recovery'],
  'lost quorum': ['/disaster-recovery'],
  'air gap': ['/install'],
  'private registry': ['/install'],
  Grafana: ['/monitoring'],
  failover: ['/standby'],
  'undo restore': ['/restore'],
  etcdctl: ['/kubectl-etcd', '/faq', '/authentication'],
  alerts: ['/alerts', '/monitoring'],
  'IAM role': ['/install'],
  uninstall: ['/install', '/chart-etcd-operator'],
  'data directory': ['/restore', '/kubectl-etcd'],
  'what is wrong': ['/kubectl-etcd', '/operations', '/monitoring'],
}

for (const [words, want] of Object.entries(searches)) {
  test(`the search finds ${words} first on ${want.join(' or ')}`, { timeout: 60_000 }, async () => {
    const found = await search(words)
    assert.ok(want.includes(found[0]?.split(/\.html|#/)[0]), `found ${found.slice(0, 5).join(', ')}`)
  })
}

test('the search finds whole words only', { timeout: 60_000 }, async () => {
  const page = await open('/')
  await type(page, 'ca')
  await page.locator('.result mark').first().waitFor()
  const marks = await page.locator('.result mark').evaluateAll((found) => found.map((mark) =>
    [mark.previousSibling?.textContent.slice(-1) ?? '', mark.textContent, mark.nextSibling?.textContent.slice(0, 1) ?? '']))
  assert.ok(marks.length > 5)
  assert.deepEqual(marks.filter(([before, word, after]) => /\w/.test(before + after) || !/^ca$/i.test(word)), [])
  await page.close()
})

async function type(page, words) {
  await page.keyboard.press('Control+k')
  await page.locator('.search-input').fill(words)
  await page.locator('.result').first().waitFor()
}

async function search(words) {
  const page = await open('/')
  await type(page, words)
  const found = await page.locator('a.result').evaluateAll((links) => links.map((link) => link.getAttribute('href')))
  await page.close()
  return found
}

test('on a phone, the menu opens and leads to a page', { timeout: 60_000 }, async () => {
  const page = await open('/concepts.html', { viewport: { width: 390, height: 844 } })
  await page.getByRole('button', { name: 'Menu', exact: true }).click()
  await page.locator('.VPSidebar').getByRole('link', { name: 'Glossary' }).click()
  await page.waitForURL('**/glossary.html')
  await page.close()
})

test('the button of a code block copies it', { timeout: 60_000 }, async () => {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  await page.goto(`${address}/install.html`)
  await alive(page)
  const block = page.locator('div[class*="language-"]').first()
  await block.hover()
  await block.locator('button.copy').click()
  await page.waitForFunction(() => document.querySelector('button.copy.copied'))
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  assert.equal(copied.trim(), (await block.locator('pre').innerText()).trim())
  await context.close()
})

test('the dark mode darkens the diagrams', { timeout: 60_000 }, async () => {
  for (const [scheme, dark] of [['light', false], ['dark', true]]) {
    const page = await open('/concepts.html', { colorScheme: scheme })
    const picture = page.locator('.vp-doc img').first()
    const shot = await picture.screenshot()
    assert.equal(await brightness(page, shot) < 128, dark, scheme)
    await page.close()
  }
})

// brightness returns the mean of all pixels of a picture, from 0 to 255.
function brightness(page, shot) {
  return page.evaluate(async (source) => {
    const bitmap = await createImageBitmap(await (await fetch(source)).blob())
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
    const context = canvas.getContext('2d')
    context.drawImage(bitmap, 0, 0)
    const data = context.getImageData(0, 0, bitmap.width, bitmap.height).data
    return data.reduce((sum, value, i) => (i % 4 === 3 ? sum : sum + value), 0) / (data.length * 0.75)
  }, `data:image/png;base64,${shot.toString('base64')}`)
}
