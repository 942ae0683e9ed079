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
  flags(md)
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

// tables gives each cell the title of its column, which a phone shows instead of columns.
function tables(md) {
  md.core.ruler.push('columns', (state) => {
    let titles = []
    let column = 0
    state.tokens.forEach((token, i) => {
      if (token.type === 'thead_open') titles = []
      if (token.type === 'tr_open') column = 0
      if (token.type === 'th_open') titles.push(state.tokens[i + 1].content.replace(/[`*]/g, ''))
      if (token.type === 'th_open' || token.type === 'td_open') {
        for (const child of state.tokens[i + 1].children) child.meta = { ...child.meta, cell: true }
      }
      if (token.type === 'td_open') token.attrSet('data-column', titles[column++] ?? '')
    })
  })
  md.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n'
  md.renderer.rules.table_close = () => '</table></div>\n'
  for (const name of ['text', 'code_inline']) {
    const rule = md.renderer.rules[name]
    md.renderer.rules[name] = (tokens, i, ...rest) => {
      const html = rule(tokens, i, ...rest)
      return tokens[i].meta?.cell ? html.replace(/(^|>)([^<]+)/g, (_, before, text) => before + breakable(text)) : html
    }
  }
}

// breakable lets long names, such as those of metrics and tests, break between their parts.
function breakable(text) {
  return text.replace(/[^\s<>]{14,}/g, (word) => word
    .replace(/([_./=,:}]|&gt;|\w-)(?=[\w&"{[])/g, '$1<wbr>')
    .replace(/([a-z0-9])(?=[A-Z][a-z])/g, '$1<wbr>'))
}

// flags keeps the dashes of a flag and its first word on one line of a code block that wraps.
function flags(md) {
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (...parts) => fence(...parts).replace(/(?<=[\s>])--?\w+/g, '<span class="flag">$&</span>')
}
