// The table of sentences: what changes at the position comes first. Only a screenful of rows exists, whatever the corpus.

const SCREENFUL = 30;

/** A text for one line of the table, which shows no more of it. */
const cut = text => (text.length > 140 ? `${text.slice(0, 140)}…` : text);

/** The table. `choose` is called with the sentence that is selected. */
function makeTable(page, sentences, choose) {
  const body = byId("sentence-rows"),
    search = byId("search"),
    changedOnly = byId("changed-only"),
    against = byId("against"),
    more = byId("more");
  let position = {kind: "home"},
    listed = [],
    selected = null,
    shown = SCREENFUL;
  const rows = [];
  against.append(
    make("option", {value: "home", textContent: page.isTuned ? "the tuned weights" : "these weights"}),
    make("option", {value: "baseline", textContent: "the baseline"}),
  );

  const reference = sentence => (against.value === "baseline" ? sentence.baseline : 0);

  /** The sentences to show, in order: those that change first, by the size of their effect, then those that matter most. */
  function list() {
    const wanted = search.value.trim().toLowerCase(),
      entries = [];
    let changed = 0;
    for (const sentence of sentences) {
      const pick = pickAt(sentence, position),
        before = reference(sentence);
      const differs = pick !== before && textOf(sentence, pick) !== textOf(sentence, before);
      const effect = pick === before ? 0 : effectOf(sentence, pick) - effectOf(sentence, before);
      if (differs) changed++;
      if (changedOnly.checked && !differs) continue;
      if (wanted && !matches(sentence, pick, wanted)) continue;
      entries.push({sentence, pick, differs, effect, size: Math.abs(effect)});
    }
    entries.sort(
      (one, other) => other.differs - one.differs || other.size - one.size || one.sentence.order - other.sentence.order,
    );
    listed = entries;
    return changed;
  }

  function matches(sentence, pick, wanted) {
    return (
      String(sentence.id).toLowerCase() === wanted ||
      textOf(sentence, pick).toLowerCase().includes(wanted) ||
      sentence.references.some(text => text.toLowerCase().includes(wanted)) ||
      (sentence.source || "").toLowerCase().includes(wanted)
    );
  }

  function row(k) {
    if (!rows[k]) {
      const cells = [make("td"), make("td", {className: "number"}), make("td", {dir: "auto"})];
      const element = make(
        "tr",
        {tabIndex: -1, "aria-selected": "false", onclick: () => select(listed[k].sentence, false)},
        ...cells,
      );
      element.addEventListener("keydown", event => {
        if (event.key === "Enter") byId("detail").focus();
      });
      rows[k] = {element, cells};
      body.append(element);
    }
    return rows[k];
  }

  function draw() {
    const count = Math.min(shown, listed.length);
    for (let k = 0; k < Math.max(count, rows.length); k++) {
      if (k >= count) {
        rows[k].element.hidden = true;
        continue;
      }
      const {sentence, pick, effect, differs} = listed[k],
        {element, cells} = row(k);
      element.hidden = false;
      setText(cells[0], String(sentence.id));
      setText(cells[1], differs ? effectText(effect) : "–");
      cells[1].className = `number ${judged(effect)}`;
      setText(cells[2], cut(textOf(sentence, pick)));
      element.setAttribute("aria-selected", String(sentence === selected));
    }
    more.hidden = listed.length <= shown;
  }

  function select(sentence, reveal) {
    selected = sentence;
    choose(sentence);
    draw();
    if (!reveal) return;
    const at = listed.findIndex(entry => entry.sentence === sentence);
    if (at >= shown) {
      shown = at + 1;
      draw();
    }
    if (at >= 0) {
      rows[at].element.focus({preventScroll: true});
      rows[at].element.scrollIntoView({block: "nearest"});
    }
  }

  function refresh() {
    const changed = list();
    const embedded =
      sentences.length < page.choosable
        ? `The ${whole(sentences.length)} that matter most of ${whole(page.sentences)} sentences are on this page. `
        : `${whole(page.sentences)} sentences${page.choosable < page.sentences ? `, ${whole(page.choosable)} of them with something to choose from` : ""}. `;
    setText(
      byId("sentences-count"),
      `${embedded}${whole(changed)} of them ${changed === 1 ? "has" : "have"} another output than with ${against.options[against.selectedIndex].textContent}; ${whole(listed.length)} listed.`,
    );
    draw();
    return changed;
  }

  for (const element of [search, changedOnly, against])
    element.addEventListener("input", () => {
      shown = SCREENFUL;
      refresh();
    });
  more.addEventListener("click", () => {
    shown += 100;
    draw();
  });
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const side = {j: 1, k: -1}[event.key];
    if (!side || !listed.length) return;
    event.preventDefault();
    const at = listed.findIndex(entry => entry.sentence === selected);
    select(listed[Math.min(Math.max(at < 0 ? 0 : at + side, 0), listed.length - 1)].sentence, true);
  });
  return {
    update(next) {
      position = next;
      return refresh();
    },
    select,
    get listed() {
      return listed;
    },
    get selected() {
      return selected;
    },
  };
}
