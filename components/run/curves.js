// All curves of a run over one axis. The server downsamples them for the visible window and then sends
// only new points; zoom, smoothing, scales and the shared hover are handled here.
let echarts; // loaded with the first chart: a page without charts saves its 390 kB

const REDRAW_MS = 250;
const REQUEST_AFTER_MS = 150;
const LOADING_AFTER_MS = 300;
const MIN_DRAG_PX = 8;
const RELATIVE_TOLERANCE = 1e-6;
const PADDING = 0.1;
const SMOOTHED_POINTS = 300;
const EXACT = ["learning_rate", "clip_range", "exploration_rate"]; // set, not measured: nothing to smooth
export const GRID = { left: 58, right: 12, top: 10, bottom: 24 };
const STORE = "lab-curves";
export const COLOURS = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5"];

export const token = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
const read = (store, key) => { try { return JSON.parse(store.getItem(key)) ?? {}; } catch { return {}; } };

export function short(x) {
  const size = Math.abs(x);
  if (size >= 1e6) return `${+(x / 1e6).toFixed(2)}M`;
  if (size >= 1e4) return `${+(x / 1e3).toFixed(1)}k`;
  return `${+x.toPrecision(4)}`;
}

function duration(seconds) {
  if (seconds < 120) return `${+seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${+(seconds / 60).toFixed(1)} min`;
  return `${+(seconds / 3600).toFixed(2)} h`;
}

// The weight is meant for a few hundred points: with fewer, the same weight would lag far behind.
export function smoothed(points, given) {
  const weight = given ** Math.max(1, SMOOTHED_POINTS / points.length);
  let last = 0, share = 1;
  return points.map(([x, y]) => {
    last = last * weight + (1 - weight) * y;
    share *= weight;
    return [x, last / (1 - share)];
  });
}

export function nearest(points, x) {
  let low = 0, high = points.length - 1;
  if (high < 0) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle + 1; else high = middle;
  }
  return low > 0 && x - points[low - 1][0] < points[low][0] - x ? points[low - 1] : points[low];
}

// Values that differ only by rounding get a padded axis: on a fitted one the rounding errors would
// look like jumps.
export function paddedRange(values) {
  const low = values.reduce((least, y) => Math.min(least, y), Infinity);
  const high = values.reduce((most, y) => Math.max(most, y), -Infinity);
  const size = Math.max(Math.abs(low), Math.abs(high));
  const isConstant = values.length > 0 && high - low < RELATIVE_TOLERANCE * size;
  return isConstant ? { min: low - PADDING * size, max: high + PADDING * size } : {};
}

export const pairs = ([xs, ys]) => xs.map((x, i) => [x, ys[i]]);

// Template parts shared with compare_curves.js: display options, legend and plot.
export const CONTROLS = `
        <label class="lab-control"><span>Over</span>
          <select v-model="axis" aria-label="x-axis">
            <option v-for="[key, label] in axes" :key="key" :value="key">{{ label }}</option>
          </select></label>
        <label class="lab-control"><span>Smoothing</span>
          <input type="range" min="0" max="0.98" step="0.02" v-model.number="smoothing" aria-label="Smoothing">
          <output>{{ smoothing.toFixed(2) }}</output></label>
        <label class="lab-control"><input type="checkbox" v-model="log"><span>Log y</span></label>`;
export const PLACE = `
        <span class="lab-curves-at lab-mono">{{ place }}</span>
        <button v-if="isZoomed" type="button" class="lab-tool" @click="reset">Reset zoom</button>`;
export const NAMES = `
          <ul class="lab-curve-names">
            <li v-for="line in legend(chart)" :key="line.name">
              <i :style="{ background: line.colour }" :class="{ 'is-dashed': line.dashed }"></i>{{ line.label }}
              <b :class="{ 'is-long': line.long }">{{ line.value }}</b></li>
            <li v-if="notes[chart.title]" class="is-note">{{ notes[chart.title] }}</li>
          </ul>`;
export const PLOT = `
          <div class="lab-curve-plot" tabindex="0" role="img" :aria-label="chart.title + ' over ' + axisLabel"
               aria-description="Plus, minus and arrow keys zoom and move, 0 shows all" :data-chart="chart.title"
               @pointerdown="grab" @pointermove="point" @pointerup="release" @pointercancel="drag = null"
               @pointerleave="leave" @dblclick="reset" @wheel="wheel" @keydown="key">
            <div class="lab-curve-canvas" :ref="(element) => mountChart(chart, element)"></div>
            <div v-if="hover !== null" class="lab-curve-cross" :style="{ left: pixel(chart, hover) + 'px' }"></div>
            <div v-if="drag?.moved" class="lab-curve-drag" :style="dragBox(chart)"></div>
          </div>`;

export default {
  template: `
    <div class="lab-curves-box">
      <div class="lab-curves-bar" role="group" aria-label="How curves are drawn">
        ${CONTROLS}
        ${PLACE}
      </div>
      <div v-if="isLate" class="lab-curves-late" role="status">Loading the metrics of this run.</div>
      <div class="lab-curves">
        <section v-for="chart in shown" :key="chart.title" class="lab-curve" :class="{ 'is-wide': chart.wide }"
                 role="group" :aria-label="'Curve of ' + chart.title.toLowerCase()">
          <header>
            <h3 class="lab-label">{{ chart.title }}</h3>
            <button v-if="chart.scalable" type="button" class="lab-tool" :aria-pressed="scaled"
                    title="Each line divided by its largest value" @click="scaled = !scaled">Scaled</button>
            <a class="lab-tool" :href="table(chart)" :download="file(chart, 'csv')" :aria-label="chart.title + ' as CSV'">CSV</a>
            <button type="button" class="lab-tool" :aria-label="chart.title + ' as PNG'" @click="picture(chart)">PNG</button>
          </header>
          <p class="lab-explained" v-if="chart.about">{{ chart.about }}</p>
          ${NAMES}
          ${PLOT}
        </section>
      </div>
    </div>`,
  props: { charts: Array, axes: Array, run: String, runName: String, turn: Number, maxPoints: Number },
  data() {
    const stored = read(localStorage, STORE);
    const known = this.axes.some(([key]) => key === stored.axis);
    return {
      axis: known ? stored.axis : this.axes[0][0],
      smoothing: typeof stored.smoothing === "number" ? Math.min(0.98, Math.max(0, stored.smoothing)) : 0.9,
      log: stored.log === true, scaled: stored.scaled === true,
      from: null, to: null, hover: null, drag: null, shown: [], notes: {}, isLate: false, version: 0,
    };
  },
  computed: {
    isZoomed() { return this.from !== null || this.to !== null; },
    axisLabel() { return this.axes.find(([key]) => key === this.axis)[1].toLowerCase(); },
    place() {
      if (this.hover !== null) return `${this.axisLabel} ${this.write(this.hover)}`;
      return this.isZoomed ? "" : "Drag across a chart to zoom";
    },
  },
  watch: {
    turn() { this.begin(); },
    axis() { this.keep(); this.from = this.to = this.hover = null; this.keepWindow(); this.ask(0); },
    smoothing() { this.keep(); this.drawAll(); },
    log() { this.keep(); this.drawAll(); },
    scaled() { this.keep(); this.drawAll(); },
  },
  created() {
    // Not reactive: thousands of points that the template doesn't access one by one.
    this.series = {};
    this.plots = new Map();
    this.dirty = new Set();
    this.visible = new Set();
    this.extent = [0, 0];
    this.extras = { marks: [] };
    // The number of a request is never reused, not even after the element is rendered again.
    this.question = Date.now();
  },
  mounted() {
    this.sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => this.plotOf(target)?.resize()));
    this.sights = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
      const title = target.parentElement?.dataset.chart;
      if (isIntersecting) this.visible.add(title); else this.visible.delete(title);
      if (isIntersecting) this.schedule();
    }));
    this.themes = new MutationObserver(() => { this.version += 1; this.drawAll(); });
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    window.addEventListener("show_window", this.showWindow);
    this.begin();
  },
  beforeUnmount() {
    window.removeEventListener("show_window", this.showWindow);
    clearTimeout(this.timer); clearTimeout(this.asking); clearTimeout(this.late);
    this.sizes.disconnect(); this.sights.disconnect(); this.themes.disconnect();
    this.plots.forEach((plot) => plot.dispose());
  },
  methods: {
    // Called by the server.
    show(answer) {
      if (answer.question !== this.question) return;
      clearTimeout(this.late);
      this.isLate = false;
      this.series = Object.fromEntries(Object.entries(answer.series).map(([name, [points, means]]) =>
        [name, { points: pairs(points), means: means && pairs(means), tail: null }]));
      this.extent = answer.extent;
      this.extras = answer;
      this.offer();
      this.drawAll();
      if (this.wanted) this.showWanted();
    },
    append(news, end) {
      this.extent = [this.extent[0], Math.max(this.extent[1], end)];
      for (const [name, columns] of Object.entries(news)) {
        const series = (this.series[name] ??= { points: [], means: null, tail: null });
        pairs(columns).forEach((point) => this.add(series, point));
        // Request a downsampled version, unless a request is pending.
        if (series.points.length > 2 * this.maxPoints && this.extras.question === this.question) this.ask(0);
      }
      this.offer();
      this.drawAll();
    },
    clear() {
      this.series = {};
      this.extent = [0, 0];
      this.extras = { marks: [] };
      this.offer();
    },
    counts() {
      return Object.fromEntries(Object.entries(this.series).map(([name, { points }]) => [name, points.length]));
    },

    // Data.
    begin() {
      this.clear();
      this.wanted = null;
      const stored = read(sessionStorage, STORE);
      const isSame = stored.run === this.run && stored.axis === this.axis;
      this.from = isSame ? stored.from : null;
      this.to = isSame ? stored.to : null;
      if (this.run) this.ask(0);
    },
    ask(after) {
      clearTimeout(this.asking);
      this.asking = setTimeout(() => {
        this.question += 1;
        clearTimeout(this.late);
        this.late = setTimeout(() => { this.isLate = true; }, LOADING_AFTER_MS);
        this.$emit("look", { run: this.run, axis: this.axis, from: this.from, to: this.to, question: this.question });
      }, after);
    },
    add(series, [x, y]) {
      series.points.push([x, y]);
      if (!series.means) return;
      // New values are averaged over the same width as the old ones, or the end would look rougher.
      const width = series.means.length > 1 ? (series.means.at(-1)[0] - series.means[0][0]) / series.means.length : 0;
      if (series.tail && x - series.tail.x < width) {
        series.tail.sum += y;
        series.tail.count += 1;
        series.means[series.means.length - 1] = [(series.tail.x + x) / 2, series.tail.sum / series.tail.count];
      } else {
        series.tail = { x, sum: y, count: 1 };
        series.means.push([x, y]);
      }
    },
    lines(chart) {
      const known = Object.keys(this.series);
      const names = chart.names.flatMap((metric) => metric.endsWith("/") ? known.filter((name) => name.startsWith(metric)) : [metric]);
      return names.filter((name) => this.series[name]?.points.length);
    },
    offer() {
      const shown = this.charts.filter((chart) => this.lines(chart).length);
      const signature = (charts) => charts.map((chart) => chart.title + this.lines(chart)).join();
      if (signature(shown) === this.signature) return;
      this.signature = signature(shown);
      this.shown = shown;
      this.version += 1;
    },
    keep() {
      const { axis, smoothing, log, scaled } = this;
      localStorage.setItem(STORE, JSON.stringify({ axis, smoothing, log, scaled }));
    },
    keepWindow() {
      const { run, axis, from, to } = this;
      sessionStorage.setItem(STORE, JSON.stringify({ run, axis, from, to }));
    },

    // Zoom.
    look(from, to) {
      const [first, last] = [0, this.extent[1]];
      const wide = Math.max(to - from, (last - first) * 1e-6);
      const start = Math.max(first, Math.min(from, last - wide));
      const end = start + wide;
      this.from = start <= first ? null : start;
      this.to = end >= last ? null : end;
      this.hover = null;
      this.keepWindow();
      this.drawAll();
      this.ask(REQUEST_AFTER_MS);
    },
    reset() {
      if (!this.isZoomed) return;
      this.from = this.to = null;
      this.keepWindow();
      this.drawAll();
      this.ask(0);
    },
    showWindow({ detail }) {
      // An insight names its metric and its window of timesteps. The extent of the axis and the
      // available charts are known only with the server's answer.
      this.wanted = detail;
      const isAnswered = this.extras.question === this.question;
      if (this.axis !== "timesteps") this.axis = "timesteps";
      else if (isAnswered) this.showWanted();
    },
    async showWanted() {
      const { metric, first, last } = this.wanted;
      this.wanted = null;
      this.look(first, last);
      await this.$nextTick();
      const chart = this.shown.find((one) => this.lines(one).includes(metric)) ?? this.shown[0];
      const plots = [...this.$el.querySelectorAll(".lab-curve-plot")];
      const plot = plots.find((one) => one.dataset.chart === chart?.title);
      plot?.scrollIntoView({ block: "center" });
      plot?.focus({ preventScroll: true });
    },
    range() { return [this.from ?? 0, this.to ?? this.extent[1]]; },
    zoom(middle, by) {
      const [from, to] = this.range();
      this.look(middle - (middle - from) * by, middle + (to - middle) * by);
    },
    wheel(event) {
      // The wheel alone scrolls the page; a pinch on a touchpad arrives as a wheel event with Ctrl.
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      this.zoom(this.valueAt(event), (event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8);
    },
    key(event) {
      const [from, to] = this.range(), step = (to - from) / 4, middle = this.hover ?? (from + to) / 2;
      const moves = {
        "+": () => this.zoom(middle, 0.5), "=": () => this.zoom(middle, 0.5), "-": () => this.zoom(middle, 2),
        0: () => this.reset(), ArrowLeft: () => this.look(from - step, to - step), ArrowRight: () => this.look(from + step, to + step),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    },
    grab(event) {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      const x = this.valueAt(event);
      this.drag = { start: x, end: x, pixel: event.clientX, moved: false };
    },
    announcePointer(event) {
      // The time machine listens to this event and shows the clip at this point of the reward curve.
      const { clientX, currentTarget } = event, { top, bottom } = currentTarget.getBoundingClientRect();
      const isReward = this.charts.find((chart) => chart.title === currentTarget.dataset.chart)?.goals;
      const detail = isReward && !this.drag ? { axis: this.axis, x: this.hover, left: clientX, top, bottom } : null;
      window.dispatchEvent(new CustomEvent("curve_pointed", { detail }));
    },
    point(event) {
      this.hover = this.valueAt(event);
      this.announcePointer(event);
      if (!this.drag) return;
      this.drag.end = this.hover;
      this.drag.moved ||= Math.abs(event.clientX - this.drag.pixel) >= MIN_DRAG_PX;
    },
    release() {
      const { drag } = this;
      this.drag = null;
      if (drag?.moved) this.look(Math.min(drag.start, drag.end), Math.max(drag.start, drag.end));
    },
    leave() {
      if (this.drag) return;
      this.hover = null;
      window.dispatchEvent(new CustomEvent("curve_pointed", { detail: null }));
    },
    dragBox(chart) {
      const edges = [this.pixel(chart, this.drag.start), this.pixel(chart, this.drag.end)];
      return { left: `${Math.min(...edges)}px`, width: `${Math.abs(edges[1] - edges[0])}px` };
    },
    valueAt(event) {
      const box = event.currentTarget.getBoundingClientRect(), [from, to] = this.range();
      const share = (event.clientX - box.left - GRID.left) / (box.width - GRID.left - GRID.right);
      return from + Math.min(1, Math.max(0, share)) * (to - from);
    },
    pixel(chart, x) {
      const width = this.plots.get(chart.title)?.getWidth() ?? 0, [from, to] = this.range();
      return GRID.left + ((x - from) / (to - from || 1)) * (width - GRID.left - GRID.right);
    },

    // Texts.
    write(x) { return this.axis === "elapsed_s" ? duration(x) : Math.round(x).toLocaleString("en"); },
    label(chart, name) {
      const prefix = chart.names.find((metric) => metric.endsWith("/") && name.startsWith(metric)) ?? "";
      if (!prefix) return name.replaceAll("_", " ");
      const part = name.slice(prefix.length);
      return (prefix.startsWith("action_") && this.extras.actions?.[part]) || part;
    },
    legend(chart) {
      void this.version;
      const names = this.lines(chart);
      return names.map((name, i) => {
        const at = this.hover === null ? null : nearest(this.series[name].means ?? this.series[name].points, this.hover);
        return { name, label: this.label(chart, name), colour: token(COLOURS[i % COLOURS.length]),
                 dashed: i >= COLOURS.length, value: at ? short(at[1]) : "" };
      });
    },
    file(chart, ending) {
      return `${this.runName} ${chart.title}.${ending}`.toLowerCase().replace(/[^a-z0-9.]+/g, "-");
    },
    table(chart) {
      void this.version;
      const names = encodeURIComponent(this.lines(chart).join(","));
      return `/api/runs/${this.run}/export?format=csv&names=${names}`;
    },
    picture(chart) {
      const plot = this.plots.get(chart.title).renderToCanvas({ pixelRatio: 2, backgroundColor: token("--surface") });
      const canvas = document.createElement("canvas"), head = 64, pen = canvas.getContext("2d");
      canvas.width = plot.width;
      canvas.height = plot.height + head;
      pen.fillStyle = token("--surface");
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.font = `600 24px ${token("--font-mono")}`;
      pen.fillStyle = token("--ink");
      pen.fillText(`${chart.title} · ${this.runName}`, 24, 42);
      pen.drawImage(plot, 0, head);
      const link = document.createElement("a");
      link.href = canvas.toDataURL("image/png");
      link.download = this.file(chart, "png");
      link.click();
    },

    // Drawing.
    async mountChart(chart, element) {
      const old = this.plots.get(chart.title);
      if (!element) {
        // The element was removed.
        if (old && !old.getDom().isConnected) { old.dispose(); this.plots.delete(chart.title); }
        return;
      }
      if (old?.getDom() === element) return;
      echarts ??= (await import("nicegui-echart")).echarts;
      // Meanwhile the element may have been removed, or another render may have created the chart.
      if (!element.isConnected || this.plots.get(chart.title)?.getDom() === element) return;
      this.plots.get(chart.title)?.dispose();
      this.plots.set(chart.title, echarts.init(element, null, { renderer: "canvas" }));
      this.sizes.observe(element);
      this.sights.observe(element);
      this.dirty.add(chart.title);
      this.schedule();
    },
    plotOf(element) { return [...this.plots.values()].find((plot) => plot.getDom() === element); },
    drawAll() {
      this.shown.forEach((chart) => this.dirty.add(chart.title));
      this.schedule();
    },
    schedule() {
      this.timer ??= setTimeout(() => { this.timer = undefined; this.draw(); }, REDRAW_MS);
    },
    draw() {
      for (const chart of this.shown) {
        const plot = this.plots.get(chart.title);
        // Invisible charts aren't drawn until they are scrolled into view.
        if (!plot || !this.dirty.has(chart.title) || !this.visible.has(chart.title)) continue;
        this.dirty.delete(chart.title);
        plot.setOption(this.option(chart), true);
      }
    },
    option(chart) {
      const drawn = this.lines(chart).map((name, i) => this.drawn(chart, name, i));
      const isLog = this.log && drawn.every(({ raw }) => raw.every(([, y]) => y > 0));
      this.notes[chart.title] = this.log && !isLog ? "Not on a log scale: it has values of 0 or less." : "";
      const [from, to] = this.range();
      const text = { color: token("--ink-3"), fontFamily: token("--font-mono"), fontSize: 11 };
      const none = { axisLine: { show: false }, axisTick: { show: false } };
      const axisText = this.axis === "elapsed_s" ? duration : short;
      const series = [...drawn.flatMap((one) => one.series).map((one, i) => (i ? one : { ...one, ...this.goals(chart, text) })),
                      ...(chart.goals ? [this.goalLine()] : [])];
      const heights = series.flatMap(({ data }) => data.flatMap(([, ...ys]) => ys)).filter(Number.isFinite);
      return {
        animation: false,
        grid: GRID,
        xAxis: { type: "value", min: from, max: to || 1, ...none, splitLine: { show: false },
                 axisLine: { show: true, onZero: false, lineStyle: { color: token("--line") } },
                 axisLabel: { ...text, formatter: axisText, showMinLabel: false, showMaxLabel: false, hideOverlap: true } },
        yAxis: { type: isLog ? "log" : "value", scale: true, ...paddedRange(heights), ...none, splitNumber: 4,
                 axisLabel: { ...text, formatter: short }, splitLine: { lineStyle: { color: token("--line") } } },
        series,
      };
    },
    drawn(chart, name, i) {
      const { points, means } = this.series[name];
      const scale = chart.scalable && this.scaled ? points.reduce((most, [, y]) => Math.max(most, Math.abs(y)), 0) || 1 : 1;
      const fit = (all) => (scale === 1 ? all : all.map(([x, y]) => [x, y / scale]));
      const base = { type: "line", showSymbol: points.length === 1, symbolSize: 5, color: token(COLOURS[i % COLOURS.length]), silent: true };
      const type = i >= COLOURS.length ? "dashed" : "solid";
      const raw = fit(points);
      if (name.startsWith("eval_")) return { raw, series: [{ ...base, name, data: raw, showSymbol: true, lineStyle: { width: 1, type } }] };
      if (!this.smoothing || EXACT.includes(name)) return { raw, series: [{ ...base, name, data: raw, lineStyle: { width: 1, type } }] };
      return { raw, series: [
        { ...base, name: `${name} raw`, data: raw, lineStyle: { width: 1, opacity: 0.25, type } },
        { ...base, name, data: smoothed(fit(means ?? points), this.smoothing), lineStyle: { width: 1.5, type } },
      ] };
    },
    goalLine() {
      // An invisible line keeps the threshold and the expected band within the y-axis range.
      const { threshold, band } = this.extras;
      const goals = [threshold, ...(band ?? [])].filter((y) => typeof y === "number");
      return { type: "line", data: goals.map((y) => [this.range()[0], y]), showSymbol: false, silent: true, lineStyle: { opacity: 0 } };
    },
    goals(chart, text) {
      const { threshold, band, marks } = this.extras;
      const lines = marks.map(([x, words]) => ({
        xAxis: x, lineStyle: { color: token("--line-strong"), type: "solid", width: 1 },
        label: { ...text, show: !!chart.goals, formatter: words, position: "insideEndTop", color: token("--ink-2") },
      }));
      const goal = (y, formatter, colour, position) => ({ yAxis: y, lineStyle: { color: colour, type: "dashed", width: 1 },
                                                label: { ...text, formatter, position, color: colour } });
      if (chart.goals && typeof threshold === "number") lines.push(goal(threshold, "solved", token("--success"), "insideStartBottom"));
      // If all seeds reached the same score, the band is a line.
      const [low, high] = (chart.goals && band) || [];
      if (low !== undefined && low === high) {
        const line = goal(low, "expected", token("--ink-3"), "insideEndBottom");
        // The solved line is often just below: it must not cross the label.
        lines.push({ ...line, label: { ...line.label, backgroundColor: token("--surface"), padding: [2, 4] } });
      }
      const area = low < high ? [[
        { yAxis: low, itemStyle: { color: token("--ink-3"), opacity: 0.14 },
          label: { ...text, show: true, formatter: "expected", position: "insideRight", color: token("--ink-2") } },
        { yAxis: high }]] : [];
      return { markLine: { symbol: "none", silent: true, animation: false, data: lines }, markArea: { silent: true, data: area } };
    },
  },
};
