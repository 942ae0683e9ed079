// The search finds words, not parts of words. VitePress writes these functions into each page as text, so each one must be complete
// in itself: it cannot use what is declared outside of it.

// indexed returns the words under which a word of a page is found.
function indexed(term) {
  const word = term.toLowerCase()
  const alike = {
    pitr: ['point', 'time', 'recovery'], mtls: ['tls'], custom: ['private'], cas: ['ca'],
    backups: ['backup'], restores: ['restore'], restored: ['restore'], upgrades: ['upgrade'], downgrades: ['downgrade'],
    snapshots: ['snapshot'], certificates: ['certificate'], members: ['member'], clusters: ['cluster'], stores: ['store'],
    volumes: ['volume'], alerts: ['alert'], metrics: ['metric'], users: ['user'], objectives: ['objective'],
    migrate: ['move'], migrating: ['move'], migration: ['move'], moves: ['move'], moved: ['move'], images: ['image'], mirrored: ['mirror'],
    teams: ['team'], roles: ['role'], promoted: ['promote'], promotion: ['promote'],
  }
  return [word, ...(Object.hasOwn(alike, word) ? alike[word] : [])]
}

// asked returns the words that a page must have for a word of the reader: none for an article.
function asked(term) {
  const word = term.toLowerCase()
  if (['a', 'an', 'the'].includes(word)) return null
  const alike = {
    pitr: ['point', 'time', 'recovery'], mtls: ['tls'], custom: ['private'], selfsigned: ['private'], cas: ['ca'],
    backups: ['backup'], restores: ['restore'], upgrades: ['upgrade'], snapshots: ['snapshot'], certificates: ['certificate'],
    migrate: ['move'], migrating: ['move'], migration: ['move'], airgap: ['air', 'gap'], airgapped: ['air', 'gap'], gapped: ['gap'],
    broken: ['lost'], dead: ['lost'], images: ['image'], mirrored: ['mirror'], teams: ['team'], roles: ['role'],
    promoted: ['promote'], promotion: ['promote'], users: ['user'],
  }
  return Object.hasOwn(alike, word) ? alike[word] : [word]
}

// weight puts pages for readers before lists, and the beginning of a page before its parts.
function weight(id, term, stored) {
  const records = /\/adr\//
  const lists = /\/(changelog|security|reference|defects|comparison|performance)/
  const reasons = /\/(reasons-|api|alerts|operations|chart-)/
  const page = records.test(id) ? 0.1 : lists.test(id) ? 0.25 : reasons.test(id) ? 0.5 : 1
  return page * (stored.titles.length === 0 ? 2 : 1)
}

// marked makes the search mark whole words only. VitePress has no setting for it.
export const marked = {
  name: 'mark-whole-words',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('VPLocalSearchBox.vue')) return
    const part = '`(${escapeRegExp(term)})`'
    if (!code.includes(part)) throw new Error('the search box of VitePress has changed: it no longer marks words where this plugin expects it')
    return code.replace(part, '`(\\\\b${escapeRegExp(term)}\\\\b)`')
  },
}

export const search = {
  provider: 'local',
  options: {
    detailedView: true,
    miniSearch: {
      options: { processTerm: indexed },
      searchOptions: {
        processTerm: asked,
        boost: { title: 6, titles: 2, text: 1 },
        combineWith: 'AND',
        fuzzy: (term) => (term.length > 5 ? 0.15 : false),
        prefix: (term, i, terms) => i === terms.length - 1 && term.length > 3,
        boostDocument: weight,
      },
    },
  },
}
