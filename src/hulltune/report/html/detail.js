// One sentence: its texts with differences, where each output wins, why the winner wins, its lines and points, and its graph.

/** The features times their weights of a candidate, and last the part of all features that the page does not have. */
function partsOf(page, sentence, candidate, weights) {
  const width = page.shown.length + 1,
    start = (sentence.first + candidate) * width,
    parts = new Float64Array(width);
  for (let k = 0; k < width - 1; k++) parts[k] = weights[page.shown[k]] * sentence.arrays.features[start + k];
  parts[width - 1] = sentence.arrays.features[start + width - 1];
  return parts;
}

/** The outputs on either side of the winner that are listed. */
const NEIGHBOURS = 4;

const total = parts => parts.reduce((sum, part) => sum + part, 0);

/** Of the sentence's other outputs on this page, the one whose model score is highest: the runner-up; null if there is none. */
function runnerUp(page, sentence, winner, weights) {
  let best = null,
    highest = -Infinity;
  for (let candidate = 0; candidate < sentence.count; candidate++) {
    if (candidate === winner || textOf(sentence, candidate) === textOf(sentence, winner)) continue;
    const score = total(partsOf(page, sentence, candidate, weights));
    if (score > highest) {
      highest = score;
      best = candidate;
    }
  }
  return best;
}

/** The panel of a sentence. `move` moves the handle to an interval of the line that is shown, or to a column of the plane. */
function makeDetail(page, chart, move) {
  const root = byId("detail");
  let sentence = null,
    position = {kind: "home"},
    parts = null,
    shown = {};

  /** Run a function unless it has drawn the very thing already: most steps of a drag change little. */
  function unlessShown(part, key, draw) {
    if (shown[part] === key) return;
    shown[part] = key;
    draw();
  }

  function build() {
    root.replaceChildren();
    shown = {};
    if (!sentence) {
      root.append(make("p", {className: "note", textContent: "Choose a sentence."}));
      return;
    }
    parts = {
      texts: make("dl", {className: "texts"}),
      strip: make("div", {className: "strip"}),
      mark: make("div", {className: "at"}),
      ends: make("div", {className: "strip-ends"}),
      candidates: make("ul", {className: "candidates"}),
      why: make("div"),
      pictures: make("div", {className: "pictures"}),
      graph: make("div", {className: "graph"}),
      title: make("h3", {id: "detail-title"}),
      stripTitle: make("h3"),
    };
    parts.graphTitle = make("h3", {textContent: sentence.graph ? `The ${sentence.graph.kind}` : ""});
    root.append(
      parts.title,
      parts.texts,
      parts.stripTitle,
      parts.strip,
      parts.ends,
      parts.candidates,
      make("h3", {textContent: "Why this one wins"}),
      parts.why,
      make("h3", {textContent: "Lines and points"}),
      parts.pictures,
      ...(sentence.graph ? [parts.graphTitle, parts.graph] : []),
    );
  }

  function texts(pick) {
    const now = textOf(sentence, pick),
      baseline = textOf(sentence, sentence.baseline),
      rows = [];
    if (sentence.source) rows.push(["source", sentence.source]);
    sentence.references.forEach((reference, k) => {
      const [missing, extra] = difference(reference, now);
      rows.push([sentence.references.length > 1 ? `reference ${k + 1}` : "reference", marked(missing), "reference"]);
      if (k === 0) rows.push(["output", marked(extra), "output"]);
    });
    if (!sentence.references.length) rows.push(["output", now, "output"]);
    if (now === baseline) rows.push(["baseline", "the same output", "baseline"]);
    else {
      const [gone, come] = difference(baseline, now);
      rows.push(["baseline", marked(gone), "baseline"], ["output", marked(come), "output-again"]);
    }
    parts.texts.replaceChildren(
      ...rows.flatMap(([name, content, kind]) => {
        const value = make("dd", {dir: "auto"}, content);
        value.dataset.kind = kind || name;
        return [make("dt", {textContent: name}), value];
      }),
    );
  }

  /** The winners along the line, or along the row of the plane: [from, to, candidate], within what is in view. */
  function stretches() {
    if (position.kind === "plane") {
      const plane = page.planes[position.plane],
        cells = sentence.cells[position.plane],
        found = [];
      for (let column = 0; column < plane.columns; column++) {
        const pick = cells[position.row * plane.columns + column],
          last = found[found.length - 1];
        if (last && last.pick === pick) last.last = column + 1;
        else found.push({pick, first: column, last: column + 1});
      }
      const [left, right] = plane.view,
        at = column => left + (column * (right - left)) / plane.columns;
      return {
        view: [left, right],
        name: plane.names[0],
        list: found.map(({pick, first, last}) => ({
          pick,
          from: at(first),
          to: at(last),
          go: () => move.toCell(position.row, (first + last) >> 1),
        })),
      };
    }
    const line = page.lines[chart.line],
      {starts, picks} = sentence.along[chart.line];
    const edge = start => (start ? line.edges[start - 1] : -Infinity);
    const list = Array.from(picks, (pick, k) => ({
      pick,
      from: edge(starts[k]),
      to: k + 1 < starts.length ? edge(starts[k + 1]) : Infinity,
    }));
    list.forEach(each => {
      each.go = () => move.toX(chart.line, inside(each.from, each.to, line));
    });
    return {view: line.view, name: line.name, list};
  }

  function inside(from, to, line) {
    const room = 0.02 * (line.view[1] - line.view[0]);
    if (!Number.isFinite(from)) return Number.isFinite(to) ? to - room : line.now;
    return Number.isFinite(to) ? from + (to - from) / 2 : from + room;
  }

  function strip(pick) {
    const {view, name, list} = stretches(),
      width = view[1] - view[0];
    const share = x => Math.min(Math.max((x - view[0]) / width, 0), 1);
    const at =
      position.kind === "plane"
        ? page.planes[position.plane].middles[position.column]
        : position.kind === "line"
          ? position.x
          : page.lines[chart.line].now;
    const key = position.kind === "plane" ? `plane ${position.plane} ${position.row}` : `line ${chart.line}`;
    unlessShown("strip", key, () => bars(view, name, list, share));
    parts.mark.style.left = `${100 * share(at)}%`;
    unlessShown("candidates", `${key} ${pick}`, () => candidates(pick, list));
  }

  function bars(view, name, list, share) {
    parts.stripTitle.replaceChildren("Winners along ", make("bdi", {textContent: name}));
    const drawn = list
      .filter(each => share(each.to) > share(each.from))
      .map(each => {
        const bar = make("button", {
          type: "button",
          className: `k${each.pick % 6}`,
          tabIndex: -1,
          title: textOf(sentence, each.pick),
          onclick: each.go,
          "aria-label": `output ${each.pick + 1} from ${short(each.from)} to ${short(each.to)}`,
        });
        bar.style.left = `${100 * share(each.from)}%`;
        bar.style.width = `${100 * (share(each.to) - share(each.from))}%`;
        if (share(each.to) - share(each.from) > 0.04) bar.textContent = each.pick + 1;
        return bar;
      });
    parts.strip.replaceChildren(...drawn, parts.mark);
    parts.ends.replaceChildren(make("span", {textContent: short(view[0], 4)}), make("span", {textContent: short(view[1], 4)}));
  }

  /** The outputs around the winner, with what each does and where it wins. */
  function candidates(pick, list) {
    const seen = [...new Set([pick, ...list.map(each => each.pick)])].sort(
      (a, b) => list.findIndex(each => each.pick === a) - list.findIndex(each => each.pick === b),
    );
    const middle = seen.indexOf(pick),
      first = Math.max(0, Math.min(middle - NEIGHBOURS, seen.length - 2 * NEIGHBOURS - 1)),
      last = first + 2 * NEIGHBOURS + 1;
    const others = count =>
      count > 0 ? [make("li", {className: "others", textContent: `… ${whole(count)} more along this weight`})] : [];
    parts.candidates.replaceChildren(
      ...others(first),
      ...seen.slice(first, last).map(candidate => {
        const where = list.filter(each => each.pick === candidate),
          effect = effectOf(sentence, candidate),
          errors = errorsOf(sentence, candidate);
        const ends = where.map(each => `${short(each.from)} … ${short(each.to)}`).join(", ");
        const counts = errors === undefined ? "" : ` · ${errors} ${errors === 1 ? "error" : "errors"}`;
        const item = make(
          "li",
          {tabIndex: 0, "aria-current": String(candidate === pick), onclick: () => where.length && where[0].go()},
          make("span", {className: `badge k${candidate % 6}`, textContent: candidate + 1}),
          make("span", {className: "text", dir: "auto", textContent: textOf(sentence, candidate) || "(empty)"}),
          make(
            "span",
            {className: "effect"},
            make("span", {className: judged(effect), textContent: effectText(effect)}),
            `${counts}`,
            make("br"),
            make("span", {className: "ends", textContent: ends}),
          ),
        );
        item.addEventListener("keydown", event => {
          if (event.key === "Enter" && where.length) where[0].go();
        });
        return item;
      }),
      ...others(seen.length - last),
    );
  }

  /** Features times weights of winner and runner-up, and their differences as bars. */
  function why(pick, weights) {
    const rival = runnerUp(page, sentence, pick, weights);
    if (rival === null) {
      parts.why.replaceChildren(
        make("p", {className: "note", textContent: "No other output of this sentence wins anywhere on this page."}),
      );
      return;
    }
    const winner = partsOf(page, sentence, pick, weights),
      other = partsOf(page, sentence, rival, weights);
    const names = [...page.shown.map(k => page.features[k]), "all other features"];
    const entries = names
      .map((name, k) => ({name, own: winner[k], other: other[k], gap: winner[k] - other[k]}))
      .filter((entry, k) => k < names.length - 1 || entry.own || entry.other)
      .sort((a, b) => Math.abs(b.gap) - Math.abs(a.gap))
      .slice(0, 12);
    const largest = Math.max(...entries.map(entry => Math.abs(entry.gap)), 1e-300);
    const badge = candidate => make("span", {className: `badge k${candidate % 6}`, textContent: candidate + 1});
    const rows = entries.map(entry => {
      const length = (48 * Math.abs(entry.gap)) / largest,
        speaksFor = entry.gap >= 0;
      const svg = make(
        "svg",
        {viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true"},
        make("rect", {
          class: speaksFor ? "for" : "against",
          x: speaksFor ? 50 : 50 - length,
          y: 2,
          width: length,
          height: 8,
          "vector-effect": "non-scaling-stroke",
        }),
        make("line", {class: "zero", x1: 50, x2: 50, y1: 0, y2: 12, "vector-effect": "non-scaling-stroke"}),
      );
      return make(
        "tr",
        {},
        make("th", {scope: "row", title: entry.name}, make("bdi", {textContent: entry.name})),
        make("td", {className: "number", textContent: short(entry.own, 4)}),
        make("td", {className: "number", textContent: short(entry.other, 4)}),
        make("td", {}, svg),
        make("td", {className: "number", textContent: short(entry.gap, 3)}),
      );
    });
    const sums = [total(winner), total(other)];
    parts.why.replaceChildren(
      make(
        "div",
        {className: "scroll"},
        make(
          "table",
          {className: "bars"},
          make(
            "thead",
            {},
            make(
              "tr",
              {},
              make("th", {textContent: "feature × weight"}),
              make("th", {className: "number"}, "winner ", badge(pick)),
              make("th", {className: "number"}, "runner-up ", badge(rival)),
              make("th"),
              make("th", {className: "number", textContent: "difference"}),
            ),
          ),
          make("tbody", {}, ...rows),
          make(
            "tfoot",
            {},
            make(
              "tr",
              {},
              make("th", {textContent: "model score"}),
              make("td", {className: "number", textContent: short(sums[0], 5)}),
              make("td", {className: "number", textContent: short(sums[1], 5)}),
              make("td"),
              make("td", {className: "number", textContent: short(sums[0] - sums[1], 3)}),
            ),
          ),
        ),
      ),
      make(
        "p",
        {className: "note"},
        "Filled bars speak for the winner, hollow ones for the runner-up: of the outputs that win somewhere on this page, the nearest. Runner-up: ",
        make("bdi", {textContent: textOf(sentence, rival) || "(empty)"}),
      ),
    );
  }

  /** The features that move, and the line of each candidate: slope and intercept. */
  function linesOf(weights) {
    const moving = position.kind === "plane" ? [page.planes[position.plane].pair[0]] : page.lines[chart.line].group;
    const at = moving.map(k => page.shown.indexOf(k)),
      x = weights[moving[0]],
      width = page.shown.length + 1;
    return {
      x,
      lines: Array.from({length: sentence.count}, (_, candidate) => {
        const start = (sentence.first + candidate) * width;
        const slope = at.reduce((sum, k) => sum + sentence.arrays.features[start + k], 0);
        return {candidate, slope, intercept: total(partsOf(page, sentence, candidate, weights)) - slope * x};
      }),
    };
  }

  function pictures(pick, weights) {
    const {x, lines} = linesOf(weights),
      {view, list} = stretches();
    const winning = new Set(list.map(each => each.pick));
    const W = 340,
      H = 240,
      pad = 28;
    // A line taken from all of them changes nothing about who wins, and shows the differences.
    const mean = key => lines.reduce((sum, line) => sum + line[key], 0) / lines.length,
      level = {slope: mean("slope"), intercept: mean("intercept")};
    const finite = list
      .flatMap(each => [each.from, each.to])
      .filter(end => Number.isFinite(end) && end >= view[0] && end <= view[1]);
    let [low, high] = finite.length ? [Math.min(...finite), Math.max(...finite)] : view;
    const room = 0.35 * (high - low) || 0.2 * (view[1] - view[0]);
    [low, high] = [low - room, high + room];
    [low, high] = [Math.min(low, x - 0.08 * (high - x)), Math.max(high, x + 0.08 * (x - low))];
    const height = (line, at) => (line.slope - level.slope) * at + line.intercept - level.intercept;
    // The envelope is convex, so its lowest place is at a breakpoint, or at an end.
    const tops = [low, x, high, ...finite].map(at => Math.max(...lines.map(line => height(line, at))));
    const floor = Math.min(...tops) - 0.25 * (Math.max(...tops) - Math.min(...tops));
    const spread = Math.max(...tops) - floor || 1,
      px = at => pad + ((W - pad - 8) * (at - low)) / (high - low),
      py = value => H - pad - ((H - pad - 12) * (value - floor + 0.05 * spread)) / (1.15 * spread);
    const primal = make("svg", {
      viewBox: `0 0 ${W} ${H}`,
      role: "img",
      "aria-label": "the model scores of outputs as lines; the highest wins",
    });
    const clip = line => {
      // the part of a line above the floor of the picture
      let a = low,
        b = high;
      const bottom = floor - 0.05 * spread,
        fa = height(line, a) - bottom,
        fb = height(line, b) - bottom;
      if (fa < 0 && fb < 0) return null;
      if (fa < 0) a += ((b - a) * fa) / (fa - fb);
      if (fb < 0) b -= ((b - a) * fb) / (fb - fa);
      return {x1: px(a), y1: py(height(line, a)), x2: px(b), y2: py(height(line, b))};
    };
    for (const line of lines) {
      const ends = clip(line);
      if (!ends) continue;
      const wins = winning.has(line.candidate),
        now = line.candidate === pick;
      primal.append(
        make("line", {
          ...ends,
          stroke: wins ? `var(--c${line.candidate % 6})` : "var(--faint)",
          "stroke-width": now ? 3 : wins ? 1.6 : 0.8,
          "stroke-dasharray": wins ? "none" : "3 3",
        }),
      );
    }
    const best = lines.find(line => line.candidate === pick);
    primal.append(
      make("line", {
        x1: px(x),
        x2: px(x),
        y1: 8,
        y2: H - pad,
        stroke: "var(--c1)",
        "stroke-width": 1.2,
        "stroke-dasharray": "5 3",
      }),
      make("circle", {cx: px(x), cy: py(height(best, x)), r: 4.5, fill: "var(--ink)"}),
      make("line", {x1: pad, x2: W - 8, y1: H - pad, y2: H - pad, stroke: "var(--faint)"}),
      make("text", {x: W - 8, y: H - 10, "text-anchor": "end"}, "η, the weight →"),
      make("text", {x: pad, y: H - 10}, short(low, 3)),
    );
    const xs = lines.map(line => line.slope),
      ys = lines.map(line => -(line.intercept - level.intercept));
    const [minX, maxX, minY, maxY] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)],
      wide = maxX - minX || 1,
      tall = maxY - minY || 1;
    const qx = value => pad + 8 + ((W - pad - 24) * (value - minX)) / wide,
      qy = value => H - pad - 12 - ((H - pad - 36) * (value - minY)) / tall;
    const dual = make("svg", {
      viewBox: `0 0 ${W} ${H}`,
      role: "img",
      "aria-label": "the outputs as points; the winners are the corners of their lower hull",
    });
    const corners = [...new Set(list.map(each => each.pick))].map(candidate => lines[candidate]);
    dual.append(
      make("polyline", {
        points: corners.map(line => `${qx(line.slope)},${qy(-(line.intercept - level.intercept))}`).join(" "),
        fill: "none",
        stroke: "var(--soft)",
        "stroke-width": 1.4,
      }),
    );
    const touch = at => x * (at - best.slope) - (best.intercept - level.intercept);
    const from = minX - 0.1 * wide,
      to = maxX + 0.1 * wide;
    dual.append(
      make("line", {
        x1: qx(from),
        y1: qy(touch(from)),
        x2: qx(to),
        y2: qy(touch(to)),
        stroke: "var(--c1)",
        "stroke-width": 1.2,
        "stroke-dasharray": "5 3",
      }),
    );
    for (const line of lines) {
      const wins = winning.has(line.candidate),
        now = line.candidate === pick;
      dual.append(
        make("circle", {
          cx: qx(line.slope),
          cy: qy(-(line.intercept - level.intercept)),
          r: now ? 6 : wins ? 4.5 : 2.5,
          fill: wins ? `var(--c${line.candidate % 6})` : "var(--faint)",
          stroke: now ? "var(--ink)" : "none",
          "stroke-width": 2,
        }),
      );
      if (wins)
        dual.append(
          make("text", {x: qx(line.slope) + 7, y: qy(-(line.intercept - level.intercept)) + 12}, String(line.candidate + 1)),
        );
    }
    dual.append(
      make("line", {x1: pad, x2: W - 8, y1: H - pad, y2: H - pad, stroke: "var(--faint)"}),
      make("text", {x: W - 8, y: H - 10, "text-anchor": "end"}, "slope →"),
      make("text", {x: pad, y: 10}, "↑ −intercept"),
    );
    parts.pictures.replaceChildren(
      make(
        "figure",
        {},
        primal,
        make("figcaption", {
          textContent:
            "Each output is a line in η: the highest wins. Dashed grey ones win elsewhere on this page. The mean line is taken from all.",
        }),
      ),
      make(
        "figure",
        {},
        dual,
        make("figcaption", {
          textContent:
            "The same lines as points. The winners are the corners of the lower hull; the dashed line of slope η touches it at the winner.",
        }),
      ),
    );
  }

  function graph(pick) {
    const {columns, rows, edges} = sentence.graph,
      path = new Set(sentence.paths[pick]);
    const last = Math.max(...columns),
      [lowest, highest] = [Math.min(...rows, 0), Math.max(...rows, 0)];
    const stepX = 120,
      stepY = 58,
      W = (last + 0.7) * stepX,
      H = (highest - lowest + 1.6) * stepY;
    const at = node =>
      node < 0 ? [22, (0.8 - lowest) * stepY] : [22 + columns[node] * stepX, (rows[node] - lowest + 0.8) * stepY];
    const svg = make("svg", {
      viewBox: `0 0 ${W} ${H}`,
      role: "img",
      "aria-label": `the ${sentence.graph.kind}; the winning derivation is bold: ${textOf(sentence, pick)}`,
    });
    svg.style.minWidth = `${0.62 * W}px`;
    const labels = [],
      between = new Map();
    edges.forEach(([head, tails, words], edge) => {
      const starts = tails.length ? tails : [-1],
        [hx, hy] = at(head),
        key = `${starts} ${head}`,
        turn = between.get(key) || 0;
      between.set(key, turn + 1);
      const bend = (turn % 2 ? -1 : 1) * Math.ceil(turn / 2) * 26,
        wins = path.has(edge);
      const long = Math.max(...starts.map(tail => columns[head] - (tail < 0 ? 0 : columns[tail]))) > 1 ? 22 : 0;
      for (const tail of starts) {
        const [tx, ty] = at(tail),
          mx = (tx + hx) / 2,
          my = (ty + hy) / 2 + bend - long;
        svg.append(
          make("path", {class: `edge${wins ? " winning" : ""}`, d: `M${tx},${ty} Q${mx},${2 * my - (ty + hy) / 2} ${hx},${hy}`}),
        );
      }
      const [tx, ty] = at(starts[0]);
      labels.push(
        make(
          "text",
          {x: (tx + hx) / 2, y: (ty + hy) / 2 + bend - long - 4, "text-anchor": "middle", class: wins ? "winning" : ""},
          words.length > 22 ? `${words.slice(0, 21)}…` : words,
        ),
      );
    });
    svg.append(
      ...[...columns.keys(), ...(edges.some(edge => !edge[1].length) ? [-1] : [])].map(node =>
        make("circle", {class: "node", cx: at(node)[0], cy: at(node)[1], r: node < 0 ? 3 : 5}),
      ),
      ...labels,
    );
    parts.graph.replaceChildren(svg);
  }

  function update(next) {
    position = next;
    if (!sentence) return;
    const pick = pickAt(sentence, position),
      weights = weightsAt(page, position);
    setText(parts.title, `Sentence ${sentence.id}`);
    unlessShown("texts", pick, () => texts(pick));
    strip(pick);
    why(pick, weights);
    pictures(pick, weights);
    if (sentence.graph) unlessShown("graph", pick, () => graph(pick));
  }

  build();
  return {
    show(next) {
      if (next !== sentence) {
        sentence = next;
        build();
      }
      update(position);
    },
    update,
    get sentence() {
      return sentence;
    },
  };
}
