// Overlaid curves of several runs: one chart per metric, one line per run or group.
// Zoom, hover and drawing come from the curves of a single run; all settings are stored in the URL.
import curves, { COLOURS, CONTROLS, NAMES, PLACE, PLOT, nearest, pairs, short, smoothed, token } from "curves";

const PNG_HEAD = 64;
const PNG_LINE = 34;

export default {
  extends: curves,
  template: `
    <div class="lab-curves-box">
      <div class="lab-curves-bar" role="group" aria-label="How curves are drawn">
        ${CONTROLS}
        <label class="lab-control"><span>Add a chart</span>
          <select :value="''" aria-label="Add a chart" @change="addChart">
            <option value="" disabled>Metric</option>
            <option v-for="one in offered" :key="one.name" :value="one.name">{{ one.label }}</option>
          </select></label>
        ${PLACE}
      </div>
      <div v-if="isLate" class="lab-curves-late" role="status">Loading the metrics of these runs.</div>
      <div class="lab-curves">
        <section v-for="chart in shown" :key="chart.title" class="lab-curve is-wide is-tall"
                 role="group" :aria-label="'Curve of ' + chart.title">
          <header>
            <h3 class="lab-label">{{ chart.title }}</h3>
            <a class="lab-tool" :href="table(chart)" :download="file(chart, 'csv')" :aria-label="chart.title + ' as CSV'">CSV</a>
            <button type="button" class="lab-tool" :aria-label="chart.title + ' as PNG'" @click="picture(chart)">PNG</button>
            <button v-if="chosen.length > 1" type="button" class="lab-tool" :aria-label="'Remove the chart of ' + chart.title"
                    @click="removeChart(chart)">Remove</button>
          </header>
          <p class="lab-explained" v-if="chart.about">{{ chart.about }}</p>
          ${NAMES}
          <p v-if="!lines(chart).length" class="lab-small">No values of this metric yet.</p>
          ${PLOT}
        </section>
      </div>
    </div>`,
  props: { entries: Array, metrics: Array, view: Object, against: String },
  data() {
    const { axis, smoothing, log, from, to, metrics } = this.view;
    return { axis, smoothing, log, from, to, chosen: metrics };
  },
  computed: {
    offered() { return this.metrics.filter(({ name }) => !this.chosen.includes(name)); },
  },
  watch: {
    entries() { this.keep(); },
    against() { this.keep(); },
    metrics() { this.offer(); },
    hover(x) { window.dispatchEvent(new CustomEvent("curve_at", { detail: { x, axis: this.axis } })); },
  },
  methods: {
    // Called by the server with all lines, or with only the changed ones.
    show(answer) {
      if (answer.question !== this.question) return;
      clearTimeout(this.late);
      this.isLate = false;
      if (!answer.isPart) this.series = {};
      for (const line of answer.lines) {
        const { key, metric, points, means, low, high, seeds } = line;
        this.series[`${metric} ${key}`] = { points: pairs(points), means: means && pairs(means), low, high, seeds };
      }
      this.extent = answer.extent;
      this.extras = { question: answer.question, threshold: answer.threshold, marks: [] };
      this.offer();
      this.version += 1;
      this.drawAll();
    },
    begin() {
      this.offer();
      this.ask(0);
    },
    ask(after) {
      clearTimeout(this.asking);
      this.asking = setTimeout(() => {
        this.question += 1;
        clearTimeout(this.late);
        this.late = setTimeout(() => { this.isLate = true; }, 300);
        const { axis, from, to, question, chosen } = this;
        this.$emit("look", { axis, from, to, question, metrics: chosen });
      }, after);
    },

    // Stores the settings in the URL, so that a link opens the same view.
    keep() {
      const query = new URLSearchParams();
      const set = (name, value, initial) => { if (value !== initial && value !== null) query.set(name, value); };
      set("runs", this.entries.map(({ key }) => key).join(","), "");
      set("colours", this.entries.map(({ colour }) => colour).join(","), this.entries.map((_, i) => i).join(","));
      set("against", this.against || null, this.entries[0]?.key);
      set("metrics", this.chosen.join(","), "mean_reward");
      set("x", this.axis, "timesteps");
      set("smooth", String(this.smoothing), "0.6");
      set("log", this.log ? "1" : null, null);
      set("from", this.from, null);
      set("to", this.to, null);
      const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
      history.replaceState(history.state, "", text ? `/compare?${text}` : "/compare");
    },
    keepWindow() { this.keep(); },
    addChart(event) {
      this.chosen = [...this.chosen, event.target.value];
      event.target.value = "";
      this.changed();
    },
    removeChart(chart) {
      this.chosen = this.chosen.filter((name) => name !== chart.metric);
      this.changed();
    },
    changed() {
      this.keep();
      this.offer();
      this.ask(0);
    },

    // Charts, legends and exports.
    offer() {
      const shown = this.chosen.map((name) => {
        const known = this.metrics.find((one) => one.name === name);
        return { title: known?.label ?? name.replaceAll("_", " "), about: known?.about ?? "", metric: name, goals: name.endsWith("reward") };
      });
      if (JSON.stringify(shown) === this.signature) return;
      this.signature = JSON.stringify(shown);
      this.shown = shown;
      this.version += 1;
    },
    lines(chart) {
      void this.version;
      return this.entries.map(({ key }) => `${chart.metric} ${key}`).filter((name) => this.series[name]?.points.length);
    },
    entryOf(name) { return this.entries.find(({ key }) => name.endsWith(` ${key}`)); },
    colourOf(entry) { return token(COLOURS[entry.colour % COLOURS.length]); },
    legend(chart) {
      return this.lines(chart).map((name) => {
        const entry = this.entryOf(name), series = this.series[name];
        const at = this.hover === null ? null : nearest(series.means ?? series.points, this.hover);
        return { name, label: entry.name, colour: this.colourOf(entry), dashed: entry.colour >= COLOURS.length,
                 value: at ? this.valueText(series, at) : "", long: series.seeds?.length > 0 };
      });
    },
    valueText(series, at) {
      const i = series.points.indexOf(at);
      if (!series.seeds?.length || i < 0) return short(at[1]);
      const seeds = `${series.seeds[i]} ${series.seeds[i] === 1 ? "seed" : "seeds"}`;
      if (series.low[i] === null) return `${short(at[1])} (${seeds})`;
      return `${short(at[1])} (${short(series.low[i])} to ${short(series.high[i])}, ${seeds})`;
    },
    file(chart, ending) { return `compare ${chart.title}.${ending}`.toLowerCase().replace(/[^a-z0-9.]+/g, "-"); },
    table(chart) {
      const query = new URLSearchParams({ of: "curves", runs: this.entries.map(({ key }) => key).join(","),
                                          metric: chart.metric, x: this.axis, max_points: this.maxPoints });
      return `/api/compare/export?${query}`;
    },
    picture(chart) {
      const plot = this.plots.get(chart.title).renderToCanvas({ pixelRatio: 2, backgroundColor: token("--surface") });
      const lines = this.legend(chart), canvas = document.createElement("canvas"), context = canvas.getContext("2d");
      const head = PNG_HEAD + lines.length * PNG_LINE;
      canvas.width = plot.width;
      canvas.height = plot.height + head;
      context.fillStyle = token("--surface");
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.font = `600 24px ${token("--font-mono")}`;
      context.fillStyle = token("--ink");
      context.fillText(`${chart.title} over ${this.axisLabel}`, 24, 42);
      context.font = `400 22px ${token("--font-mono")}`;
      lines.forEach((line, i) => {
        const y = PNG_HEAD + i * PNG_LINE + 18;
        context.fillStyle = line.colour;
        context.fillRect(24, y - 8, 28, 4);
        context.fillStyle = token("--ink");
        context.fillText(line.label, 64, y);
      });
      context.drawImage(plot, 0, head);
      const link = document.createElement("a");
      link.href = canvas.toDataURL("image/png");
      link.download = this.file(chart, "png");
      link.click();
    },

    // Drawing.
    drawn(chart, name) {
      const { points, means, low, high, seeds } = this.series[name], entry = this.entryOf(name);
      const colour = this.colourOf(entry), type = entry.colour >= COLOURS.length ? "dashed" : "solid";
      const base = { type: "line", showSymbol: points.length === 1, symbolSize: 5, color: colour, silent: true };
      const smooth = (all) => (this.smoothing ? smoothed(all, this.smoothing) : all);
      if (seeds?.length) return { raw: points, series: this.drawnGroup(base, smooth, { points, low, high, seeds, colour, type }) };
      if (name.startsWith("eval_")) return { raw: points, series: [{ ...base, name, data: points, showSymbol: true, lineStyle: { width: 1, type } }] };
      const line = { ...base, name, data: smooth(means ?? points), lineStyle: { width: 1.5, type } };
      if (!this.smoothing) return { raw: points, series: [{ ...line, data: points }] };
      return { raw: points, series: [{ ...base, name: `${name} raw`, data: points, lineStyle: { width: 1, opacity: 0.2, type } }, line] };
    },
    // The threshold does not extend the axis, which would compress the compared curves.
    goalLine() { return { type: "line", data: [] }; },
    drawnGroup(base, smooth, { points, low, high, seeds, colour, type }) {
      const all = Math.max(...seeds), xs = points.map(([x]) => x);
      // Without an interval (below three seeds) the band has no width.
      const [bottom, top] = [low, high].map((ys) => smooth(ys.map((y, i) => [xs[i], y ?? points[i][1]])));
      const middle = smooth(points);
      // The line is dotted where not all seeds have values.
      const whole = middle.map(([x, y], i) => [x, seeds[i] === all ? y : null]);
      const rest = middle.map(([x, y], i) => [x, seeds[i] < all || seeds[i + 1] < all || seeds[i - 1] < all ? y : null]);
      const area = { type: "custom", silent: true, clip: true, data: bottom.map(([x, y], i) => [x, y, top[i][1]]), encode: { x: 0, y: [1, 2] },
                     renderItem: (params, api) => params.dataIndex !== 0 ? null : {
                       type: "polygon", style: { fill: colour, opacity: 0.16 },
                       shape: { points: [...bottom, ...top.toReversed()].map((point) => api.coord(point)) } } };
      return [area, { ...base, data: whole, lineStyle: { width: 2, type } }, { ...base, data: rest, lineStyle: { width: 1, type: "dotted" } }];
    },
  },
};
