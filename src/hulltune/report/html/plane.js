// The metric over two weights: a canvas with a pixel for each cell, marks over it, and a ring that follows the handle.

// Stops of the colour map cividis (Nuñez, Anderton & Renslow 2018), which looks alike to nearly all eyes.
const CIVIDIS = [
  [0, 34, 78],
  [31, 54, 109],
  [68, 78, 108],
  [102, 105, 112],
  [135, 134, 120],
  [172, 164, 115],
  [211, 196, 98],
  [254, 232, 56],
];

function cividis(share) {
  const place = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1),
    low = Math.min(Math.floor(place), CIVIDIS.length - 2);
  return CIVIDIS[low].map((value, k) => Math.round(value + (place - low) * (CIVIDIS[low + 1][k] - value)));
}

/** The sides between cells that are worse by less than chance and the others, as a path over 1000 by 1000. */
function outlineOf({chance, rows, columns}) {
  const width = 1000 / columns,
    height = 1000 / rows,
    path = [];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column,
        x = column * width,
        y = (rows - 1 - row) * height;
      if (column + 1 < columns && chance[at] !== chance[at + 1]) path.push(`M${(x + width).toFixed(1)} ${y.toFixed(1)}v${height.toFixed(1)}`);
      if (row + 1 < rows && chance[at] !== chance[at + columns]) path.push(`M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}`);
    }
  return path.join("");
}

/** The plane in an element. `move` is called with a row and a column. */
function makePlane(page, number, root, move) {
  const plane = page.planes[number],
    metric = page.metrics[0],
    [left, right, bottom, top] = plane.view;
  const {rows, columns} = plane,
    scale = 10 ** metric.digits,
    [low, high] = plane.colours;
  const shareOf = score => {
    const share = (score - low) / (high - low);
    return metric.higher ? share : 1 - share;
  };
  const canvas = make("canvas", {width: columns, height: rows});
  const picture = canvas.getContext("2d").createImageData(columns, rows);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const at = 4 * ((rows - 1 - row) * columns + column);
      picture.data.set([...cividis(shareOf(plane.scores[row * columns + column] / scale)), 255], at);
    }
  canvas.getContext("2d").putImageData(picture, 0, 0);

  const xOf = value => (1000 * (value - left)) / (right - left),
    yOf = value => (1000 * (top - value)) / (top - bottom);
  const inView = ([x, y]) => x >= left && x <= right && y >= bottom && y <= top;
  const marks = make("svg", {viewBox: "0 0 1000 1000", preserveAspectRatio: "none", "aria-hidden": "true"});
  // Each mark is a zero-length line with round ends, or a text: both keep their shape although the picture is stretched.
  const dot = ([x, y], width, stroke) =>
    make("line", {
      x1: xOf(x),
      y1: yOf(y),
      x2: xOf(x),
      y2: yOf(y),
      stroke,
      "stroke-width": width,
      "stroke-linecap": "round",
      "vector-effect": "non-scaling-stroke",
    });
  for (const point of plane.grid) marks.append(dot(point, 6, "#000"), dot(point, 4, "#fff"));
  const outline = outlineOf(plane);
  for (const [stroke, width] of [
    ["#fff", 3],
    ["#000", 1.2],
  ])
    marks.append(make("path", {d: outline, fill: "none", stroke, "stroke-width": width, "vector-effect": "non-scaling-stroke"}));
  const layer = make("div", {className: "plane-marks"});
  const place = (element, [x, y]) => {
    element.style.left = `${xOf(x) / 10}%`;
    element.style.top = `${yOf(y) / 10}%`;
    return element;
  };
  const sign = (text, point, name) =>
    inView(point) && layer.append(place(make("span", {className: `mark ${name}`, textContent: text}), point));
  if (plane.gridBest) sign("□", plane.gridBest.at, "grid-best");
  if (plane.start) sign("◇", plane.start, "start");
  sign("★", plane.best.at, "best");
  sign("●", plane.now, "now");
  const ring = make("span", {className: "mark ring"});
  layer.append(ring);

  const map = make(
    "div",
    {
      className: "plane-map",
      tabIndex: 0,
      role: "application",
      "aria-roledescription": "plane of two weights",
      "aria-label": `${metric.label} over the weights of ${plane.names[0]} and ${plane.names[1]}; arrow keys move by a cell`,
    },
    canvas,
    marks,
    layer,
  );
  const cellAt = event => {
    const box = map.getBoundingClientRect();
    const column = Math.floor((columns * (event.clientX - box.left)) / box.width),
      row = rows - 1 - Math.floor((rows * (event.clientY - box.top)) / box.height);
    return [Math.min(Math.max(row, 0), rows - 1), Math.min(Math.max(column, 0), columns - 1)];
  };
  let current = null;
  map.addEventListener("pointerdown", event => {
    map.setPointerCapture(event.pointerId);
    map.dataset.dragging = "yes";
    move(...cellAt(event));
  });
  map.addEventListener("pointermove", event => {
    if (map.dataset.dragging) move(...cellAt(event));
  });
  for (const name of ["pointerup", "pointercancel"])
    map.addEventListener(name, () => {
      delete map.dataset.dragging;
    });
  map.addEventListener("keydown", event => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0]}[event.key];
    if (!step) return;
    event.preventDefault();
    const size = event.shiftKey ? 8 : 1,
      [row, column] = current || nearest(plane.now);
    move(Math.min(Math.max(row + size * step[0], 0), rows - 1), Math.min(Math.max(column + size * step[1], 0), columns - 1));
  });
  const nearest = ([x, y]) => [
    Math.min(Math.max(Math.floor((rows * (y - bottom)) / (top - bottom)), 0), rows - 1),
    Math.min(Math.max(Math.floor((columns * (x - left)) / (right - left)), 0), columns - 1),
  ];

  const ticks = (from, to) => [0.08, 0.36, 0.64, 0.92].map(share => from + share * (to - from));
  const across = make(
    "div",
    {className: "plane-x"},
    ...ticks(left, right).map(value => {
      const span = make("span", {textContent: short(value, 3)});
      span.style.left = `${xOf(value) / 10}%`;
      return span;
    }),
  );
  const upwards = make(
    "div",
    {className: "plane-y"},
    ...ticks(bottom, top).map(value => {
      const span = make("span", {textContent: short(value, 3)});
      span.style.top = `${yOf(value) / 10}%`;
      return span;
    }),
  );
  const ramp = make("canvas", {width: 1, height: 64});
  for (let i = 0; i < 64; i++) {
    const context = ramp.getContext("2d");
    context.fillStyle = `rgb(${cividis(1 - i / 63)})`;
    context.fillRect(0, i, 1, 1);
  }
  const ends = metric.higher ? [high, low] : [low, high];
  const legend = make(
    "div",
    {className: "plane-scale", "aria-hidden": "true"},
    ramp,
    make("span", {textContent: short(ends[0], 4)}),
    make("span", {textContent: `${short(ends[1], 4)} or ${metric.higher ? "less" : "more"}`}),
  );
  const readout = make("div", {className: "readout"});
  const {best} = plane;
  const keys = [
    `★ optimum ${scoreText(best.score, metric.digits)} at ${short(best.at[0])}, ${short(best.at[1])}; ${best.proof}`,
    `● these weights ${scoreText(page.score, metric.digits)}`,
    plane.start &&
      (inView(plane.start) ? "◇ start" : `start at ${short(plane.start[0])}, ${short(plane.start[1])}, outside of the picture`),
    outline && `▭ outlined: worse by less than chance than these weights`,
    plane.gridBest && `□ best of ${plane.grid.length} grid points ${scoreText(plane.gridBest.score, metric.digits)}`,
  ];
  root.append(
    readout,
    make(
      "div",
      {className: "plane"},
      make("p", {className: "plane-up"}, "↑ weight of ", make("bdi", {textContent: plane.names[1]})),
      upwards,
      map,
      legend,
      across,
      make("p", {className: "plane-name"}, "weight of ", make("bdi", {textContent: plane.names[0]}), " →"),
    ),
    make("ul", {className: "plane-key"}, ...keys.filter(Boolean).map(text => make("li", {textContent: text}))),
  );
  return {
    update(position) {
      const own = position.kind === "plane" && position.plane === number;
      current = own ? [position.row, position.column] : null;
      const at = own ? [plane.middles[position.column], plane.heights[position.row]] : null;
      ring.hidden = !own;
      if (own) place(ring, at);
      setText(
        readout,
        own
          ? `${plane.names[0]} ${short(at[0], 6)}, ${plane.names[1]} ${short(at[1], 6)}: ${metric.label} ${scoreText(scoreAt(page, position), metric.digits)}`
          : "Click, drag, or use the arrow keys: both weights move.",
      );
    },
  };
}
