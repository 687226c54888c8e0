// ECharts with the points kept in the browser: the server sends only what is new.
import { echarts } from "nicegui-echart";

const REDRAW_MS = 250;

function token(name) {
  return getComputedStyle(document.body).getPropertyValue(name).trim();
}

export default {
  template: `<div role="img" :aria-label="label"></div>`,
  props: { kind: String, label: String, maxPoints: Number },
  async mounted() {
    await this.$nextTick();
    this.series = [[], [], []];
    this.threshold = null;
    this.marks = [];
    this.chart = echarts.init(this.$el, null, { renderer: "canvas" });
    this.sizes = new ResizeObserver(() => this.chart.resize());
    this.sizes.observe(this.$el);
    // A change of theme changes the class of the body: read the colours again.
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.draw();
    this.$emit("ready");
  },
  beforeUnmount() {
    clearTimeout(this.timer);
    this.sizes?.disconnect();
    this.themes?.disconnect();
    this.chart?.dispose();
  },
  methods: {
    replace(series, threshold) {
      this.series = series.map(([xs, ys]) => xs.map((x, i) => [x, ys[i]]));
      this.threshold = threshold ?? null;
      this.marks = [];
      this.schedule();
    },
    mark(marks) {
      this.marks = marks;
      this.schedule();
    },
    append(series) {
      series.forEach(([xs, ys], k) => {
        const points = this.series[k];
        xs.forEach((x, i) => points.push([x, ys[i]]));
        if (points.length > this.maxPoints) this.series[k] = points.filter((_, i) => i % 2 === 0);
      });
      this.schedule();
    },
    schedule() {
      this.timer ??= setTimeout(() => { this.timer = undefined; this.draw(); }, REDRAW_MS);
    },
    draw() {
      if (this.chart) this.chart.setOption(this.kind === "bars" ? this.bars() : this.lines(), true);
    },
    counts() {
      return this.series.map((points) => points.length);
    },
    frame(xAxis) {
      const text = { color: token("--ink-3"), fontFamily: token("--font-mono"), fontSize: 11 };
      return {
        animation: false,
        grid: { left: 52, right: 12, top: 14, bottom: 28 },
        tooltip: {
          trigger: "axis", confine: true, backgroundColor: token("--surface"), borderColor: token("--line"),
          textStyle: { color: token("--ink"), fontFamily: token("--font-mono"), fontSize: 12 },
          axisPointer: { lineStyle: { color: token("--line-strong") } },
          valueFormatter: (value) => (typeof value === "number" ? value.toFixed(1) : "-"),
        },
        xAxis: { axisLine: { lineStyle: { color: token("--line") } }, axisTick: { show: false },
                 splitLine: { show: false }, axisLabel: text, ...xAxis },
        yAxis: { type: "value", axisLine: { show: false }, axisTick: { show: false }, axisLabel: text, splitLine: { lineStyle: { color: token("--line") } } },
      };
    },
    bars() {
      const points = this.series[0];
      return {
        ...this.frame({ type: "category", data: points.map(([x]) => x) }),
        series: [{ type: "bar", name: "Reward", data: points.map(([, y]) => y), barCategoryGap: "20%",
                   itemStyle: { color: token("--series-1") } }],
      };
    },
    lines() {
      const steps = (x) => (x >= 1e6 ? `${+(x / 1e6).toFixed(2)}M` : x >= 1e3 ? `${+(x / 1e3).toFixed(1)}k` : `${x}`);
      const label = { color: token("--ink-3"), fontFamily: token("--font-mono"), fontSize: 11, formatter: steps };
      const line = { type: "line", showSymbol: false, sampling: "lttb" };
      const small = { fontFamily: token("--font-mono"), fontSize: 11 };
      const goal = this.threshold === null ? [] : [{
        yAxis: this.threshold, lineStyle: { color: token("--success"), type: "dashed", width: 1 },
        label: { ...small, formatter: "solved", position: "insideStartTop", color: token("--success") },
      }];
      const changes = this.marks.map(([step, text]) => ({
        xAxis: step, lineStyle: { color: token("--line-strong"), type: "solid", width: 1 },
        label: { ...small, formatter: text, position: "insideEndTop", color: token("--ink-2") },
      }));
      const marks = { symbol: "none", silent: true, data: [...goal, ...changes] };
      const frame = this.frame({ type: "value", min: 0, max: "dataMax", axisLabel: { ...label, showMaxLabel: false } });
      // The goal stays in sight, however far the agent is from it.
      if (this.threshold !== null) frame.yAxis.max = ({ max }) => Math.max(max, this.threshold);
      return {
        ...frame,
        series: [
          { ...line, name: "Reward", data: this.series[0], lineStyle: { width: 1, opacity: 0.25 }, color: token("--series-1") },
          { ...line, name: "Mean of 100", data: this.series[1], lineStyle: { width: 1.5 }, color: token("--series-1"), markLine: marks },
          { ...line, name: "Evaluation", data: this.series[2] ?? [], showSymbol: true, symbolSize: 5, lineStyle: { width: 1 }, color: token("--series-2") },
        ],
      };
    },
  },
};
