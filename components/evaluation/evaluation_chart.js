// Charts of one evaluation, drawn from the numbers of its episodes; the browser saves them as PNG or CSV.
let echarts; // loaded with the first chart

const MAX_BINS = 12;

function token(name) {
  return getComputedStyle(document.body).getPropertyValue(name).trim();
}

function save(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}

const CELLS = 20;

// Count the visits of each cell of a plane; `columns` is set if the cells are states of a grid.
export function visits(seen, columns) {
  const counts = new Map();
  const count = (x, y) => counts.set(`${x},${y}`, (counts.get(`${x},${y}`) ?? 0) + 1);
  if (columns) {
    for (const [state] of seen) count(state % columns, Math.floor(state / columns));
    return counts;
  }
  const range = (i) => { const all = seen.map((one) => one[i]); return [Math.min(...all), Math.max(...all)]; };
  const [x0, x1] = range(0), [y0, y1] = range(1);
  const cell = (value, low, high) => (high > low ? Math.min(CELLS - 1, Math.floor((CELLS * (value - low)) / (high - low))) : 0);
  for (const [x, y] of seen) count(cell(x, x0, x1), cell(y, y0, y1));
  return counts;
}

// Bins of equal width; if all values are equal, a single bin.
export function bins(values) {
  const low = Math.min(...values), high = Math.max(...values);
  if (low === high) return [{ from: low, to: high, count: values.length }];
  const count = Math.min(MAX_BINS, Math.max(3, Math.ceil(Math.sqrt(values.length))));
  const width = (high - low) / count;
  const found = Array.from({ length: count }, (_, i) => ({ from: low + i * width, to: low + (i + 1) * width, count: 0 }));
  for (const value of values) found[Math.min(count - 1, Math.floor((value - low) / width))].count += 1;
  return found;
}

export default {
  template: `<div role="img" :aria-label="label"></div>`,
  props: { kind: String, label: String, returns: Array, lengths: Array, seeds: Array, custom: Object, name: String,
           url: String, axes: Array, columns: Number, states: Number },
  async mounted() {
    await this.$nextTick();
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.$el);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
  },
  beforeUnmount() {
    this.sizes?.disconnect();
    this.themes?.disconnect();
    this.chart?.dispose();
  },
  watch: { name() { this.load(); } },
  methods: {
    // A hidden chart has no size, and ECharts warns about it.
    async resize() {
      if (!this.$el.clientWidth) return;
      if (this.chart) return this.chart.resize();
      echarts ??= (await import("nicegui-echart")).echarts;
      if (this.chart || !this.$el.clientWidth) return;
      this.chart = echarts.init(this.$el, null, { renderer: "canvas" });
      this.load();
    },
    async load() {
      this.seen = null;
      if (this.kind === "visits" && this.url) {
        const url = this.url, answer = await fetch(url);
        if (!answer.ok || url !== this.url) return;
        this.seen = (await answer.json()).moments.map((one) => one.seen);
      }
      this.draw();
    },
    draw() {
      if (!this.chart || !this.returns?.length) return;
      if (this.kind === "visits" && !this.seen?.length) return;
      const kinds = { distribution: this.distribution, traces: this.traces, visits: this.visits };
      this.chart.setOption(kinds[this.kind](), true);
    },
    visits() {
      const counts = visits(this.seen, this.columns);
      const cells = [...counts].map(([key, n]) => [...key.split(",").map(Number), n]);
      const width = this.columns || CELLS, height = this.columns ? Math.ceil(this.states / this.columns) : CELLS;
      const range = (i) => { const all = this.seen.map((one) => one[i]); return [Math.min(...all), Math.max(...all)]; };
      const names = (count, i) => Array.from({ length: count }, (_, k) => {
        if (this.columns) return `${k}`;
        const [low, high] = range(i);
        // Enough digits to distinguish neighboring values.
        const digits = high > low ? Math.min(8, Math.max(0, 1 - Math.floor(Math.log10((high - low) / count)))) : 2;
        return (low + ((k + 0.5) * (high - low)) / count).toFixed(digits);
      });
      const axis = (count, i) => this.axis({ type: "category", data: names(count, i), name: this.axes[i], nameGap: 8, splitLine: { show: false }, inverse: !!this.columns && i === 1 });
      return {
        ...this.frame(),
        tooltip: { ...this.frame().tooltip, trigger: "item", formatter: ({ value }) => `${value[2]} steps` },
        grid: { left: 56, right: 56, top: 26, bottom: 28 },
        xAxis: axis(width, 0), yAxis: axis(height, 1),
        visualMap: { min: 0, max: Math.max(...cells.map(([, , n]) => n)), show: false, inRange: { color: [token("--sunken"), token("--series-2")] } },
        series: [{ type: "heatmap", data: cells, itemStyle: { borderWidth: 1, borderColor: token("--surface") } }],
      };
    },
    png() {
      const url = this.chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: token("--surface") });
      save(url, `${this.name}_${this.kind}.png`);
    },
    csv() {
      if (this.kind === "visits") return this.saveCsv([this.axes.join(","), ...this.seen.map((one) => one.join(","))]);
      const own = Object.keys(this.custom ?? {});
      const rows = this.returns.map((score, i) => [i + 1, this.seeds[i] ?? "", score, this.lengths[i], ...own.map((name) => this.custom[name][i])].join(","));
      this.saveCsv([["episode,seed,return,length", ...own].join(","), ...rows]);
    },
    saveCsv(lines) {
      const text = lines.join("\n") + "\n";
      const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      save(url, `${this.name}.csv`);
      URL.revokeObjectURL(url);
    },
    text() { return { color: token("--ink-3"), fontFamily: token("--font-mono"), fontSize: 11 }; },
    frame() {
      return {
        animation: false,
        grid: { left: 44, right: 12, top: 26, bottom: 28 },
        tooltip: {
          trigger: "axis", confine: true, backgroundColor: token("--surface"), borderColor: token("--line"),
          textStyle: { color: token("--ink"), fontFamily: token("--font-mono"), fontSize: 12 },
        },
      };
    },
    axis(more) {
      return { axisLine: { lineStyle: { color: token("--line") } }, axisTick: { show: false }, axisLabel: this.text(),
               nameTextStyle: this.text(), splitLine: { lineStyle: { color: token("--line") } }, ...more };
    },
    distribution() {
      const found = bins(this.returns);
      const write = (x) => (Math.abs(x) >= 100 ? x.toFixed(0) : x.toFixed(1));
      const names = found.map(({ from, to }) => (from === to ? write(from) : `${write(from)} to ${write(to)}`));
      return {
        ...this.frame(),
        xAxis: this.axis({ type: "category", data: names, splitLine: { show: false } }),
        yAxis: this.axis({ type: "value", name: "episodes", nameLocation: "end", minInterval: 1, axisLine: { show: false } }),
        series: [{ type: "bar", name: "Episodes", data: found.map(({ count }) => count), barCategoryGap: "8%", barMaxWidth: 64, itemStyle: { color: token("--series-1") } }],
      };
    },
    traces() {
      const line = { type: "line", showSymbol: this.returns.length < 40, symbolSize: 5, lineStyle: { width: 1.5 } };
      return {
        ...this.frame(),
        grid: { left: 52, right: 48, top: 26, bottom: 28 },
        xAxis: this.axis({ type: "category", data: this.returns.map((_, i) => i + 1), splitLine: { show: false } }),
        yAxis: [
          this.axis({ type: "value", name: "reward", scale: true, axisLine: { show: false } }),
          this.axis({ type: "value", name: "length", scale: true, axisLine: { show: false }, splitLine: { show: false } }),
        ],
        series: [
          { ...line, name: "Reward", data: this.returns, color: token("--series-1") },
          { ...line, name: "Length", data: this.lengths, yAxisIndex: 1, color: token("--series-2"), lineStyle: { width: 1.5, type: "dashed" } },
        ],
      };
    },
  },
};
