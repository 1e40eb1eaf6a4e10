// The data of the page: blocks of a JSON header and typed arrays, deflated, in base64 (encoding.py writes them).

const TYPES = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};
const GAP = -2147483648;

/** The header of a block, with its arrays by name. */
async function readBlock(element) {
  const text = atob(element.textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  element.textContent = "";
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const arrays = {};
  let place = 4 + length;
  for (const {name, type, count, delta} of header.arrays) {
    const array = new TYPES[type](count),
      size = array.BYTES_PER_ELEMENT,
      own = new Uint8Array(array.buffer);
    for (let plane = 0; plane < size; plane++)
      for (let i = 0; i < count; i++) own[i * size + plane] = bytes[place + plane * count + i];
    if (delta) for (let i = 1; i < count; i++) array[i] += array[i - 1];
    arrays[name] = array;
    place += count * size;
  }
  header.arrays = arrays;
  return header;
}

/** Everything but the sentences: lines and planes with their arrays. */
function readBase(header) {
  const {arrays} = header;
  header.lines.forEach((line, k) => {
    line.edges = arrays[`line${k}.edges`];
    line.scores = header.metrics.map((_, number) => arrays[`line${k}.scores${number}`]);
  });
  header.planes.forEach((plane, k) => {
    plane.scores = arrays[`plane${k}.scores`];
    plane.chance = arrays[`plane${k}.chance`];
    plane.heights = arrays[`plane${k}.heights`];
    plane.middles = arrays[`plane${k}.middles`];
  });
  return header;
}

/** The sentences of a block, appended to a list. Each knows where its own part of the arrays begins. */
function readSentences(block, page, sentences) {
  const {arrays} = block;
  const along = page.lines.map(() => 0);
  const planes = page.planes.map((plane, k) => undone(arrays[`plane${k}.cells`], plane));
  let first = 0;
  block.sentences.forEach((header, number) => {
    const sentence = {
      ...header,
      order: sentences.length,
      arrays,
      first,
      count: arrays.counts[number],
      baseline: arrays.baselines[number],
      along: page.lines.map((_, k) => {
        const from = along[k];
        along[k] += arrays[`line${k}.counts`][number];
        return {
          starts: arrays[`line${k}.starts`].subarray(from, along[k]),
          picks: arrays[`line${k}.picks`].subarray(from, along[k]),
        };
      }),
      cells: page.planes.map((plane, k) =>
        planes[k].subarray(number * plane.rows * plane.columns, (number + 1) * plane.rows * plane.columns),
      ),
    };
    first += sentence.count;
    sentences.push(sentence);
  });
}

/** The cells of a plane: each row is written as its difference (exclusive or) from the row before. */
function undone(cells, plane) {
  const size = plane.rows * plane.columns;
  for (let start = 0; start < cells.length; start += size)
    for (let i = start + plane.columns; i < start + size; i++) cells[i] ^= cells[i - plane.columns];
  return cells;
}

const textOf = (sentence, candidate) => sentence.texts[sentence.arrays.texts[sentence.first + candidate]];
const effectOf = (sentence, candidate) => sentence.arrays.effects[sentence.first + candidate];
const errorsOf = (sentence, candidate) => sentence.arrays.errors && sentence.arrays.errors[sentence.first + candidate];

/** The candidate of a sentence that wins at a position. The first is the pick at the weights themselves. */
function pickAt(sentence, position) {
  if (position.kind === "line") {
    const {starts, picks} = sentence.along[position.line];
    return picks[countUpTo(starts, position.interval) - 1];
  }
  return position.kind === "plane" ? sentence.cells[position.plane][position.row * position.columns + position.column] : 0;
}

/** How many of the increasing numbers are at most a value. */
function countUpTo(numbers, value) {
  let low = 0,
    high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The weights at a position. */
function weightsAt(page, position) {
  const weights = Float64Array.from(page.weights);
  if (position.kind === "line") for (const k of page.lines[position.line].group) weights[k] = position.x;
  if (position.kind === "plane") {
    const plane = page.planes[position.plane];
    weights[plane.pair[0]] = plane.middles[position.column];
    weights[plane.pair[1]] = plane.heights[position.row];
  }
  return weights;
}

/** The score at a position, in units; of another metric by its number, which only lines have. */
function scoreAt(page, position, metric = 0) {
  if (position.kind === "line") return page.lines[position.line].scores[metric][position.interval];
  if (position.kind === "plane") return page.planes[position.plane].scores[position.row * position.columns + position.column];
  return page.score;
}

const isGap = score => score === GAP || Number.isNaN(score);

/** The position on a line that is nearest to x: in an interval with room, and not too near to its ends, where rounding decides. */
function positionOnLine(page, number, x) {
  const line = page.lines[number],
    scores = line.scores[0],
    {edges} = line;
  let interval = countUpTo(edges, x);
  if (isGap(scores[interval])) {
    let left = interval,
      right = interval;
    while (left >= 0 && isGap(scores[left])) left--;
    while (right < scores.length && isGap(scores[right])) right++;
    if (left < 0 && right >= scores.length) return {kind: "home"};
    const toLeft = left < 0 ? Infinity : x - edges[left],
      toRight = right >= scores.length ? Infinity : edges[right - 1] - x;
    interval = toLeft < toRight ? left : right;
  }
  const from = interval ? edges[interval - 1] : -Infinity,
    to = interval < edges.length ? edges[interval] : Infinity;
  const size = Math.max(Number.isFinite(from) ? Math.abs(from) : 0, Number.isFinite(to) ? Math.abs(to) : 0);
  const margin = page.margin * size + line.margin;
  return {kind: "line", line: number, interval, x: Math.min(Math.max(x, from + margin), to - margin), from, to};
}
