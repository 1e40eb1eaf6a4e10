// The metric along a weight: uPlot draws the steps, the handle is an element over it, so that moving it draws nothing anew.

/** The chart in an element. `move` is called with an x to move to. */
function makeChart(page, root, move) {
  let number = 0,
    plot = null,
    position = {kind: "home"},
    view = null;
  const shown = new Set(); // of the other metrics, by their numbers: at first the tuned one stands alone
  const handle = make("div", {
    className: "handle",
    tabIndex: 0,
    role: "slider",
    "aria-orientation": "horizontal",
    "aria-label": "the weight",
  });
  const stretch = make("div", {className: "stretch"});
  const line = () => page.lines[number];

  /** The arrays that uPlot draws: a step begins at each edge. Gaps are drawn like what is left of them. */
  function steps() {
    const {edges, scores} = line(),
      count = edges.length;
    const from = count ? edges[0] : line().now,
      to = count ? edges[count - 1] : line().now;
    const far = 50 * (line().view[1] - line().view[0]) + (to - from);
    const xs = new Float64Array(count + 2);
    xs[0] = Math.min(from, line().view[0]) - far;
    xs.set(edges, 1);
    xs[count + 1] = Math.max(to, line().view[1]) + far;
    return [
      xs,
      ...scores.map((values, metric) => {
        const scale = 10 ** page.metrics[metric].digits,
          ys = new Float64Array(count + 2);
        let last = values.find(value => !isGap(value)) ?? 0;
        for (let i = 0; i <= count; i++) {
          if (!isGap(values[i])) last = values[i];
          ys[i] = last / scale;
        }
        ys[count + 1] = last / scale;
        return ys;
      }),
    ];
  }

  function band(context, from, to, fill, least) {
    const {left, top, width, height} = plot.bbox;
    let a = from === null ? left : plot.valToPos(from, "x", true),
      b = to === null ? left + width : plot.valToPos(to, "x", true);
    if (b - a < least) {
      const middle = (a + b) / 2;
      a = middle - least / 2;
      b = middle + least / 2;
    }
    a = Math.max(a, left);
    b = Math.min(b, left + width);
    if (b > a) {
      context.fillStyle = fill;
      context.fillRect(a, top, b - a, height);
    }
  }

  function rule(context, at, stroke, dash) {
    const {left, top, width, height} = plot.bbox,
      x = plot.valToPos(at, "x", true);
    if (x < left || x > left + width) return;
    context.save();
    context.strokeStyle = stroke;
    context.lineWidth = 1.5 * devicePixelRatio;
    context.setLineDash(dash.map(part => part * devicePixelRatio));
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, top + height);
    context.stroke();
    context.restore();
  }

  function drawBelow(context) {
    const {range, best} = line();
    if (range[0] !== null || range[1] !== null) band(context, range[0], range[1], colour("--range"), 0);
    band(context, best.from, best.to, colour("--band"), 6 * devicePixelRatio);
  }

  function drawAbove(context) {
    for (const mark of line().marks) rule(context, mark.at, colour("--faint"), [1, 4]);
    rule(context, line().now, colour("--c0"), [6, 4]);
  }

  function build() {
    if (plot) plot.destroy();
    const soft = colour("--soft"),
      grid = {stroke: colour("--rule"), width: 1};
    const font = "12px system-ui, sans-serif",
      metric = page.metrics[0];
    const others = page.metrics.slice(1).map((_, k) => ({
      scale: `other${k}`,
      stroke: colour(`--c${3 + (k % 3)}`),
      width: 1,
      alpha: 0.55,
      show: shown.has(k + 1),
      paths: uPlot.paths.stepped({align: 1}),
      points: {show: false},
    }));
    const scales = {x: {time: false, min: view[0], max: view[1]}, y: {range: padded}};
    others.forEach(other => {
      scales[other.scale] = {range: padded};
    });
    plot = new uPlot(
      {
        width: root.clientWidth,
        height: root.clientHeight,
        legend: {show: false},
        cursor: {show: false},
        select: {show: false},
        scales,
        axes: [
          {stroke: soft, grid, ticks: grid, font, size: 34, values: (_, ticks) => ticks.map(tick => short(tick, 6))},
          {
            stroke: soft,
            grid,
            ticks: grid,
            font,
            size: 66,
            label: metric.label.slice(0, 14),
            labelSize: 20,
            labelFont: font,
            values: (_, ticks) => ticks.map(tick => short(tick, 6)),
          },
        ],
        series: [
          {},
          {stroke: colour("--ink"), width: 1.4, paths: uPlot.paths.stepped({align: 1}), points: {show: false}},
          ...others,
        ],
        hooks: {
          drawAxes: [
            u => {
              plot = u;
              drawBelow(u.ctx);
            },
          ],
          draw: [
            u => {
              plot = u;
              drawAbove(u.ctx);
              place();
            },
          ],
          setScale: [
            u => {
              plot = u;
              place();
            },
          ],
        },
      },
      steps(),
      root,
    );
    plot.over.append(stretch, handle);
    listen(plot.over);
    place();
  }

  const padded = (_, low, high) => {
    const room = 0.08 * (high - low) || Math.abs(high) * 0.01 || 1;
    return [low - room, high + room];
  };

  /** Put the handle, and the stretch of the interval under it, at their places. */
  function place() {
    if (!plot || !plot.over) return;
    const own = position.kind === "line" && position.line === number,
      x = own ? position.x : line().now;
    const at = plot.valToPos(x, "x"),
      width = plot.over.clientWidth || plot.width;
    handle.style.left = `${Math.min(Math.max(at, -20), width + 20)}px`;
    handle.style.opacity = own || position.kind === "home" ? 1 : 0.35;
    stretch.hidden = !own;
    if (own) {
      const from = Math.max(plot.valToPos(Number.isFinite(position.from) ? position.from : view[0] - 1, "x"), 0);
      const to = Math.min(plot.valToPos(Number.isFinite(position.to) ? position.to : view[1] + 1, "x"), width);
      stretch.style.left = `${from}px`;
      stretch.style.width = `${Math.max(to - from, 0)}px`;
      stretch.style.top = `${plot.valToPos(scoreAt(page, position) / 10 ** page.metrics[0].digits, "y")}px`;
      stretch.hidden = to < 0 || from > width;
    }
    handle.setAttribute("aria-valuemin", view[0]);
    handle.setAttribute("aria-valuemax", view[1]);
    handle.setAttribute("aria-valuenow", x);
    handle.setAttribute(
      "aria-valuetext",
      `${line().name} ${short(x, 6)}, ${page.metrics[0].label} ${scoreText(scoreAt(page, own ? position : {kind: "home"}), page.metrics[0].digits)}`,
    );
  }

  function show(low, high) {
    const width = Math.max(high - low, 1e-12 * Math.max(Math.abs(low), Math.abs(high), 1e-300));
    view = [low, low + width];
    plot.setScale("x", {min: view[0], max: view[1]});
  }

  function zoom(factor, around) {
    const middle = around ?? (position.kind === "line" && position.line === number ? position.x : line().now);
    const centre = middle >= view[0] && middle <= view[1] ? middle : (view[0] + view[1]) / 2;
    show(centre - (centre - view[0]) * factor, centre + (view[1] - centre) * factor);
  }

  const valueAt = event => plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x");

  function listen(over) {
    let pan = null;
    over.addEventListener("pointerdown", event => {
      if (event.target === handle || event.button) return;
      pan = {x: event.clientX, view: [...view], moved: false};
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", event => {
      if (!pan) return;
      const shift = event.clientX - pan.x;
      if (!pan.moved && Math.abs(shift) < 4) return;
      pan.moved = true;
      over.classList.add("panning");
      const step = (-shift * (pan.view[1] - pan.view[0])) / over.clientWidth;
      show(pan.view[0] + step, pan.view[1] + step);
    });
    over.addEventListener("pointerup", event => {
      over.classList.remove("panning");
      if (pan && !pan.moved) {
        move(number, valueAt(event));
        handle.focus({preventScroll: true});
      }
      pan = null;
    });
    over.addEventListener("pointercancel", () => {
      pan = null;
    });
    over.addEventListener(
      "wheel",
      event => {
        // a wheel scrolls the page, until the chart is in use
        if (!(event.ctrlKey || event.metaKey || root.contains(document.activeElement))) return;
        event.preventDefault();
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), valueAt(event));
      },
      {passive: false},
    );
  }

  handle.addEventListener("pointerdown", event => {
    event.preventDefault();
    handle.focus({preventScroll: true});
    handle.setPointerCapture(event.pointerId);
    handle.dataset.dragging = "yes";
  });
  handle.addEventListener("pointermove", event => {
    if (handle.dataset.dragging) move(number, Math.min(Math.max(valueAt(event), view[0]), view[1]));
  });
  for (const name of ["pointerup", "pointercancel"])
    handle.addEventListener(name, () => {
      delete handle.dataset.dragging;
    });

  /** Keys move from interval to interval; with shift ten at a time. */
  handle.addEventListener("keydown", event => {
    const side = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1}[event.key];
    if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 0.5 : 2);
    else if (event.key === "Home") move(number, view[0]);
    else if (event.key === "End") move(number, view[1]);
    else if (side) {
      const {edges} = line(),
        scores = line().scores[0];
      let interval = position.kind === "line" && position.line === number ? position.interval : countUpTo(edges, line().now);
      for (let steps = event.shiftKey ? 10 : 1; steps > 0; steps--) {
        let next = interval + side;
        while (next >= 0 && next < scores.length && isGap(scores[next])) next += side;
        if (next < 0 || next >= scores.length) break;
        interval = next;
      }
      move(number, middleOf(edges, interval));
    } else return;
    event.preventDefault();
  });

  function middleOf(edges, interval) {
    const from = interval ? edges[interval - 1] : null,
      to = interval < edges.length ? edges[interval] : null;
    if (from === null && to === null) return line().now;
    if (from === null) return to - Math.max(0.02 * (view[1] - view[0]), 1e-6 * Math.abs(to));
    return to === null ? from + Math.max(0.02 * (view[1] - view[0]), 1e-6 * Math.abs(from)) : from + (to - from) / 2;
  }

  byId("zoom-in").onclick = () => zoom(0.5);
  byId("zoom-out").onclick = () => zoom(2);
  byId("zoom-all").onclick = () => show(...line().view);
  byId("zoom-best").onclick = () => {
    const {from, to} = line().best;
    if (from === null || to === null) return show(...line().view);
    const room = Math.max(to - from, 1e-9 * Math.abs(to)) * 1.5;
    show(from - room, to + room);
    move(number, (from + to) / 2);
  };
  new ResizeObserver(() => {
    if (plot && root.clientWidth) plot.setSize({width: root.clientWidth, height: root.clientHeight});
  }).observe(root);

  return {
    choose(next) {
      number = next;
      view = [...line().view];
      build();
    },
    update(next) {
      position = next;
      place();
    },
    rebuild: build,
    shows: metric => shown.has(metric),
    toggle(metric) {
      if (!shown.delete(metric)) shown.add(metric);
      build();
    },
    get line() {
      return number;
    },
    get view() {
      return view;
    },
    middleOf: (which, interval) => {
      const before = number;
      number = which;
      const x = middleOf(page.lines[which].edges, interval);
      number = before;
      return x;
    },
  };
}
