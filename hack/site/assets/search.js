// The search of the manual. index.js has each heading with the text below it.
(function () {
  "use strict";
  const root = document.body.dataset.root;
  const query = document.getElementById("query");
  const list = document.getElementById("results");
  const rows = window.manual.map(r => ({ ...r, head: (r.h + " " + r.t).toLowerCase(), text: r.x.toLowerCase() }));

  // On a narrow screen the menu is closed, so that the page is in view.
  if (window.matchMedia("(max-width: 50rem)").matches) document.querySelector(".menu details").open = false;

  // score is 0 if a word is missing. Words in a heading count more, and most if the heading is the word.
  function score(row, words) {
    let sum = 0;
    for (const word of words) {
      const inHead = row.head.includes(word), inText = row.text.includes(word);
      if (!inHead && !inText) return 0;
      sum += (inHead ? 10 : 0) + (row.h.toLowerCase() === word ? 20 : 0) + Math.min(row.text.split(word).length - 1, 5);
    }
    // A decision explains history, so the manual comes first.
    return row.p.startsWith("adr/") ? sum / 3 : sum;
  }

  function excerpt(row, words) {
    const at = Math.max(0, Math.min(...words.map(w => row.text.indexOf(w)).filter(i => i >= 0).concat(row.text.length)) - 50);
    return (at > 0 && at < row.x.length ? "…" : "") + (at < row.x.length ? row.x.slice(at, at + 150) : row.x.slice(0, 150));
  }

  // mark appends text with the words in bold. It adds text nodes only, so the index cannot add markup.
  function mark(parent, text, words) {
    const escaped = words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    for (const piece of text.split(new RegExp("(" + escaped.join("|") + ")", "gi"))) {
      const bold = words.includes(piece.toLowerCase());
      const node = bold ? document.createElement("b") : document.createTextNode(piece);
      if (bold) node.textContent = piece;
      parent.append(node);
    }
  }

  function item(row, words) {
    const link = document.createElement("a"), text = document.createElement("small"), li = document.createElement("li");
    link.href = root + row.p + (row.h === row.t ? "" : "#" + row.a);
    mark(link, row.h === row.t ? row.t : row.t + " › " + row.h, words);
    mark(text, excerpt(row, words), words);
    link.append(text);
    link.addEventListener("click", () => { list.hidden = true; });
    li.append(link);
    return li;
  }

  function show() {
    const words = [...new Set(query.value.toLowerCase().split(/\s+/).filter(w => w.length > 1))];
    list.hidden = words.length === 0;
    list.replaceChildren();
    if (words.length === 0) return;
    const found = rows.map(r => [score(r, words), r]).filter(f => f[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
    found.forEach(f => list.append(item(f[1], words)));
    if (found.length === 0) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "No section has all of these words.";
      list.append(none);
    }
    choose(0);
  }

  function choose(step) {
    const links = [...list.querySelectorAll("a")];
    const now = links.findIndex(l => l.classList.contains("chosen"));
    links.forEach(l => l.classList.remove("chosen"));
    const next = links[Math.max(0, Math.min(links.length - 1, now + step))] || links[0];
    if (next) { next.classList.add("chosen"); next.scrollIntoView({ block: "nearest" }); }
  }

  query.addEventListener("input", show);
  query.addEventListener("keydown", e => {
    if (e.key === "ArrowDown") { e.preventDefault(); choose(1); }
    if (e.key === "ArrowUp") { e.preventDefault(); choose(-1); }
    if (e.key === "Escape") { query.value = ""; show(); query.blur(); }
    if (e.key === "Enter") { const link = list.querySelector("a.chosen"); if (link) link.click(); }
  });
  document.addEventListener("keydown", e => {
    if (e.key === "/" && !/input|textarea/i.test(document.activeElement.tagName)) { e.preventDefault(); query.focus(); }
  });
  document.addEventListener("click", e => { if (!e.target.closest(".search")) list.hidden = true; });
  // ?q=words opens the page with a search, so that a search can be linked.
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) { query.value = asked; show(); query.focus(); }
})();
