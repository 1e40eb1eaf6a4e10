// The page: one position (home, on a line, or on a plane), and every part of the page shows what holds there.

async function start() {
  const blocks = [...document.querySelectorAll("#data .block")].map(readBlock);
  const page = readBase(await readBlock(document.querySelector("#data .base")));
  const sentences = [];
  for (const block of blocks) readSentences(await block, page, sentences);
  for (const id of ["here", "copying", "along", "sentences"]) byId(id).hidden = false;
  byId("plane").hidden = !page.planes.length && !page.planeReason;
  byId("sentences").hidden = !sentences.length;

  const metric = page.metrics[0];
  let position = {kind: "home"};
  const chart = makeChart(page, byId("chart"), (line, x) => moveTo(positionOnLine(page, line, x)));
  const pictures = page.planes.map(() => make("div"));
  const planes = page.planes.map((plane, number) =>
    makePlane(page, number, pictures[number], (row, column) =>
      moveTo({kind: "plane", plane: number, row, column, columns: plane.columns}),
    ),
  );
  const axes = make(
    "select",
    {onchange: () => showPlane()},
    ...page.planes.map((plane, number) => make("option", {value: String(number), textContent: plane.names.join(" and ")})),
  );

  /** Show the plane whose two weights are chosen. A handle on another one goes back home. */
  function showPlane() {
    const number = Number(axes.value);
    byId("plane-body").replaceChildren(
      ...(page.planes.length > 1 ? [make("label", {}, "weights ", axes)] : []),
      ...pictures.slice(number, number + 1),
    );
    if (position.kind === "plane" && position.plane !== number) moveTo({kind: "home"});
  }
  showPlane();
  if (page.planeReason) byId("plane-note").textContent = `No plane: ${page.planeReason}.`;
  const detail = makeDetail(page, chart, {
    toX: (line, x) => moveTo(positionOnLine(page, line, x)),
    toCell: (row, column) => moveTo({...position, row, column}),
  });
  const table = makeTable(page, sentences, sentence => detail.show(sentence));

  const chips = page.lines.map((line, number) =>
    make(
      "button",
      {
        type: "button",
        role: "radio",
        "aria-checked": "false",
        title: line.name,
        onclick: () => choose(number),
      },
      make("bdi", {textContent: line.name}),
    ),
  );
  byId("line-chips").append(...chips);
  byId("line-chips").addEventListener("keydown", event => {
    const side = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
    if (!side) return;
    event.preventDefault();
    choose((chart.line + side + page.lines.length) % page.lines.length);
    chips[chart.line].focus();
  });

  /** Show the line of another weight. A handle on the line before goes back home: its weight is not moved any more. */
  function choose(number) {
    chart.choose(number);
    chips.forEach((chip, k) => {
      chip.setAttribute("aria-checked", String(k === number));
      chip.tabIndex = k === number ? 0 : -1;
    });
    legend();
    moveTo({kind: "home"});
  }

  function legend() {
    const line = page.lines[chart.line],
      {best} = line,
      end = value => (value === null ? "∞" : short(value));
    const entries = [
      ["is-line", `${metric.label}, exact`],
      [
        "is-best",
        `best ${scoreText(best.score, metric.digits)}, from ${best.from === null ? "−∞" : end(best.from)} to ${end(best.to)}`,
      ],
      ["is-now", `${page.isTuned ? "tuned" : "these weights"} ${short(line.now)}`],
      ...line.marks.map(mark => ["is-start", `${mark.name} ${short(mark.at)}`]),
    ];
    if (line.range[0] !== null || line.range[1] !== null)
      entries.splice(2, 0, [
        "is-range",
        `worse ${page.allowed} than ${page.isTuned ? "the tuned score" : "the score"}`,
      ]);
    byId("along-legend").replaceChildren(
      ...entries.map(([className, text]) => make("li", {className, textContent: text})),
      ...page.metrics.slice(1).map((other, k) => {
        const box = make("input", {type: "checkbox", checked: chart.shows(k + 1), onchange: () => chart.toggle(k + 1)});
        const text = make("span");
        text.dataset.metric = k + 1;
        return make("li", {className: `is-other${k % 3}`}, make("label", {}, box, " ", text));
      }),
    );
    const shown = line.thinned
      ? `${whole(line.intervals - line.leftOut)} of ${whole(line.intervals)} intervals are on this page: the best and the worst of each stretch.`
      : `${whole(line.intervals)} intervals${line.leftOut ? `; the handle passes over ${whole(line.leftOut)}, narrower than rounding` : ""}.`;
    byId("along-note").textContent =
      `${shown} Drag the handle, click, or use the arrow keys; drag the picture to pan; Ctrl and the wheel zoom.`;
  }

  function moveTo(next) {
    position = next;
    const score = scoreAt(page, position),
      weights = weightsAt(page, position),
      line = page.lines[chart.line];
    chart.update(position);
    planes.forEach(plane => plane.update(position));
    const changed = sentences.length ? table.update(position) : 0;
    detail.update(position);
    setText(byId("here-score"), `${metric.label} ${scoreText(score, metric.digits)}`);
    const gain = metric.higher ? score - page.score : page.score - score;
    const back = position.kind === "home";
    setText(
      byId("here-gain"),
      back
        ? page.isTuned
          ? "at the tuned weights"
          : "at these weights"
        : gain
          ? `${gainText(score - page.score, metric)} (${gain > 0 ? "better" : "worse"})`
          : "no gain",
    );
    byId("here-gain").className = back ? "" : judged(gain);
    const moved = page.features.map((name, k) => [name, k]).filter(([, k]) => weights[k] !== page.weights[k]);
    setText(byId("here-where"), moved.map(([name, k]) => `${name} ${short(page.weights[k])} → ${short(weights[k])}`).join(", "));
    setText(
      byId("here-changed"),
      sentences.length ? `${whole(changed)} of ${whole(sentences.length)} sentences on this page change` : "",
    );
    byId("home").disabled = back;
    const own = position.kind === "line";
    setText(
      byId("along-readout"),
      own
        ? `${line.name} ${short(position.x, 6)}: ${metric.label} ${scoreText(score, metric.digits)} from ${short(position.from, 6)} to ${short(position.to, 6)}`
        : `${line.name} ${short(line.now, 6)}: ${metric.label} ${scoreText(page.score, metric.digits)}`,
    );
    for (const item of byId("along-legend").querySelectorAll("[data-metric]")) {
      const k = Number(item.dataset.metric),
        other = page.metrics[k];
      const at = own ? position.interval : countUpTo(line.edges, line.now);
      setText(item, `${other.label} ${scoreText(line.scores[k][at], other.digits)} (own scale)`);
    }
  }

  byId("home").addEventListener("click", () => moveTo({kind: "home"}));
  document.addEventListener("keydown", event => {
    if (
      event.key === "h" &&
      !event.ctrlKey &&
      !event.metaKey &&
      !event.altKey &&
      !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)
    )
      moveTo({kind: "home"});
  });

  const written = title =>
    page.copies[title].map(piece => (typeof piece === "number" ? String(weightsAt(page, position)[piece]) : piece)).join("");
  async function copy(text, button) {
    const area = byId("copy-text"),
      label = button.textContent;
    area.value = text;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      area.select();
      document.execCommand("copy");
    }
    button.textContent = "copied";
    setTimeout(() => {
      button.textContent = label;
    }, 1200);
  }
  const copies = Object.keys(page.copies).map(title => [title, () => written(title)]);
  if (byId("command")) copies.push(["command", () => byId("command").textContent]);
  if (!Object.keys(page.copies).length)
    byId("copying").querySelector(".note").textContent = "There are too many weights to have them all here; the result has them.";
  byId("copy-buttons").append(
    ...copies.map(([title, text]) =>
      make("button", {type: "button", onclick: event => copy(text(), event.currentTarget), textContent: title}),
    ),
  );

  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", () => chart.rebuild());
  for (const name of ["beforeprint", "afterprint"])
    addEventListener(name, () => {
      document.documentElement.classList.toggle("printing", name === "beforeprint");
      chart.rebuild();
    });

  const best = page.lines.findIndex(line => line.leftOut < line.intervals);
  choose(Math.max(best, 0));
  if (sentences.length) table.select(sentences[0], false);
  // What holds at the handle, for scripts: it can be read and moved, and nothing of it can be changed.
  window.hulltune = Object.freeze({
    position: () => ({...position}),
    weights: () => Array.from(weightsAt(page, position)),
    score: () => scoreAt(page, position),
    picks: () => sentences.map(sentence => [sentence.id, textOf(sentence, pickAt(sentence, position))]),
    moveTo: (line, x) => {
      if (line !== chart.line) choose(line);
      moveTo(positionOnLine(page, line, x));
    },
    moveToCell: (row, column) => {
      const plane = Number(axes.value);
      moveTo({kind: "plane", plane, row, column, columns: page.planes[plane].columns});
    },
    choose,
    home: () => moveTo({kind: "home"}),
    edges: line => Array.from(page.lines[line].edges),
    ready: true,
  });
}

start().catch(error => {
  console.error(error);
  document
    .querySelector("main")
    .prepend(
      make("p", {
        className: "verdict",
        textContent: `This page could not be read: ${error.message}. A browser of 2023 or later is needed.`,
      }),
    );
});
