// Performance profiles: for each method the share of runs whose normalized score is above a threshold.
import { COLOURS, token } from "curves";

let echarts; // loaded with the first chart

export default {
  template: `<div role="img" :aria-label="label"></div>`,
  props: { label: String, profiles: Array, taus: Array },
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
  watch: { profiles() { this.draw(); } },
  methods: {
    // A hidden chart has no size, and ECharts warns about it.
    async resize() {
      if (!this.$el.clientWidth) return;
      if (this.chart) return this.chart.resize();
      echarts ??= (await import("nicegui-echart")).echarts;
      if (this.chart || !this.$el.clientWidth) return;
      this.chart = echarts.init(this.$el, null, { renderer: "canvas" });
      this.draw();
    },
    draw() {
      if (!this.chart || !this.profiles?.length) return;
      const text = { color: token("--ink-3"), fontFamily: token("--font-mono"), fontSize: 11 };
      const axis = (more) => ({ type: "value", axisLine: { lineStyle: { color: token("--line") } }, axisTick: { show: false }, axisLabel: text,
                                nameTextStyle: text, splitLine: { lineStyle: { color: token("--line") } }, ...more });
      const percent = (share) => `${Math.round(100 * share)} %`;
      this.chart.setOption({
        animation: false,
        grid: { left: 52, right: 16, top: 28, bottom: 44 },
        tooltip: { trigger: "axis", confine: true, backgroundColor: token("--surface"), borderColor: token("--line"),
                   valueFormatter: percent, textStyle: { color: token("--ink"), fontFamily: token("--font-mono"), fontSize: 12 } },
        xAxis: axis({ name: "normalized score", nameLocation: "middle", nameGap: 28, max: this.taus.at(-1) }),
        yAxis: axis({ name: "runs above it", nameTextStyle: { ...text, align: "left" }, min: 0, max: 1, axisLabel: { ...text, formatter: percent } }),
        series: this.profiles.map(({ name, shares, colour }) => ({
          type: "line", name, step: "end", showSymbol: false, color: token(COLOURS[colour % COLOURS.length]),
          lineStyle: { width: 2, type: colour >= COLOURS.length ? "dashed" : "solid" }, data: shares.map((share, k) => [this.taus[k], share]),
        })),
      }, true);
    },
  },
};
