// What the pages need beyond VitePress: links of the repository, the anchors of GitHub, and code blocks by indentation.
import { relink } from '../stage.mjs'

// anchor returns the anchor that GitHub gives to a heading, so that a link works in both places.
export function anchor(text) {
  return text.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{N} _-]/gu, '').replace(/ /g, '-')
}

// language guesses the language of a code block that does not name one.
export function language(code) {
  if (/^\s*[[{]/.test(code)) return 'json'
  if (/^(apiVersion|kind|metadata|spec|[A-Za-z]+):( |$)/m.test(code) && !/^(kubectl|helm|cat|make) /m.test(code)) return 'yaml'
  if (/^(- |#)?[\w./-]+:( |$)/.test(code)) return 'yaml'
  return 'sh'
}

export function extend(md) {
  md.core.ruler.after('inline', 'repository-links', (state) => {
    const file = state.env.frontmatter?.source
    if (!file) return
    for (const block of state.tokens) {
      for (const token of block.children ?? []) {
        const name = { link_open: 'href', image: 'src' }[token.type]
        if (name) token.attrSet(name, relink(file, decodeURI(token.attrGet(name))))
      }
    }
  })
  // A block by indentation has no language. It gets the looks and the button of the others.
  md.core.ruler.after('repository-links', 'indented-code', (state) => {
    for (const token of state.tokens) {
      if (token.type === 'code_block' || (token.type === 'fence' && !token.info.trim())) {
        Object.assign(token, { type: 'fence', tag: 'code', info: language(token.content), markup: '```' })
      }
    }
  })
  fields(md)
  tables(md)
}

// fields shows the heading of a field of the API as its path, the last part of which stands out.
function fields(md) {
  md.core.ruler.push('fields', (state) => {
    if (state.env.frontmatter?.source !== 'docs/api.md') return
    state.tokens.forEach((token, i) => {
      if (token.type !== 'heading_open' || token.tag !== 'h4') return
      token.attrJoin('class', 'field')
      const code = state.tokens[i + 1].children.find((child) => child.type === 'code_inline')
      const parts = code.content.split('.')
      const last = parts.pop()
      const break_ = (part) => `${md.utils.escapeHtml(part)}.<wbr>`
      Object.assign(code, { type: 'field_path', html: `<code v-pre><span class="path">${parts.map(break_).join('')}</span>${last}</code>` })
      state.tokens[i + 3]?.attrJoin('class', 'field-type')
    })
  })
  md.renderer.rules.field_path = (tokens, i) => tokens[i].html
}

// tables puts each table into a box that scrolls, so that a wide one does not widen the page.
function tables(md) {
  md.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n'
  md.renderer.rules.table_close = () => '</table></div>\n'
  // Long names in cells, such as metrics and flags, may break after their separators, and nowhere else.
  const code = md.renderer.rules.code_inline
  md.renderer.rules.code_inline = (...parts) => code(...parts).replace(/>([^<]*)</, (_, text) => `>${text.replace(/([_./=,]|\w-)(?=\w)/g, '$1<wbr>')}<`)
}
