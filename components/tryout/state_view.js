// The state of an environment: observation with bounds, reward, return, and whether the episode is over.
export default {
  template: `
    <div class="lab-state-view">
      <p class="lab-unseen" role="status">{{ spoken }}</p>
      <div class="lab-cells is-narrow">
        <div class="lab-cell"><div class="lab-label">Step</div><div class="lab-number">{{ now ? now.step : "-" }}</div></div>
        <div class="lab-cell"><div class="lab-label">Reward</div><div class="lab-number">{{ now && now.step ? signed(now.reward) : "-" }}</div></div>
        <div class="lab-cell"><div class="lab-label">Return</div><div class="lab-number">{{ now ? signed(now.total) : "-" }}</div></div>
        <div class="lab-cell"><div class="lab-label">Last action</div><div class="lab-value">{{ now?.action ?? "-" }}</div></div>
      </div>
      <div class="lab-facts-row" v-if="now">
        <span class="lab-badge" :class="{ 'is-on': now.terminated }">{{ now.terminated ? "terminated" : "not terminated" }}</span>
        <span class="lab-badge" :class="{ 'is-on': now.truncated }">{{ now.truncated ? "truncated" : "not truncated" }}</span>
        <span class="lab-mono">seed {{ now.seed }}</span>
      </div>
      <p class="lab-small lab-state-note" v-if="!components.length">{{ unseen }}</p>
      <table class="lab-observed" v-else tabindex="0" aria-label="Observation">
        <thead class="lab-unseen"><tr><th>Component</th><th>Value</th></tr></thead>
        <tbody>
          <tr v-for="(component, i) in components">
            <th scope="row">{{ component.name }}</th>
            <td class="lab-mono">{{ number(now?.values?.[i]) }}</td>
            <td class="lab-range-cell" aria-hidden="true">
              <div class="lab-range" :class="{ 'is-seen': !bounded(component) }" :title="range(component, i)">
                <div class="lab-range-zero" v-if="zero(component, i) !== null" :style="{ left: zero(component, i) + '%' }"></div>
                <div class="lab-range-mark" v-if="place(component, i) !== null" :style="{ left: place(component, i) + '%' }"></div>
              </div>
              <div class="lab-range-ends"><span>{{ end(component, i, 0) }}</span><span>{{ end(component, i, 1) }}</span></div>
            </td>
          </tr>
        </tbody>
      </table>
      <dl class="lab-info" v-if="now && Object.keys(now.info).length" aria-label="Info">
        <template v-for="(value, name) in now.info"><dt>{{ name }}</dt><dd>{{ typeof value === "number" ? number(value) : value }}</dd></template>
      </dl>
      <p class="lab-small lab-state-note" v-else-if="now">The environment's <code>info</code> is empty.</p>
    </div>`,
  props: { components: Array, unseen: String },
  data: () => ({ now: null, spoken: "", seen: [] }),
  methods: {
    show(now) {
      this.now = now;
      (now.values ?? []).forEach((value, i) => {
        if (value === null) return;
        const [low, high] = this.seen[i] ?? [value, value];
        this.seen[i] = [Math.min(low, value), Math.max(high, value)];
      });
      if (now.spoken) this.spoken = now.spoken;
    },
    bounded(component) { return component.low !== null && component.high !== null; },
    // Without bounds, the range of values seen so far is used.
    bounds(component, i) {
      if (this.bounded(component)) return [component.low, component.high];
      const seen = this.seen[i];
      return seen && seen[0] < seen[1] ? seen : null;
    },
    place(component, i) {
      const value = this.now?.values?.[i];
      const bounds = this.bounds(component, i);
      if (value === null || value === undefined || !bounds) return null;
      return 100 * Math.min(1, Math.max(0, (value - bounds[0]) / (bounds[1] - bounds[0])));
    },
    zero(component, i) {
      const bounds = this.bounds(component, i);
      return bounds && bounds[0] < 0 && bounds[1] > 0 ? (100 * -bounds[0]) / (bounds[1] - bounds[0]) : null;
    },
    end(component, i, which) {
      const bounds = this.bounds(component, i);
      return bounds ? this.number(bounds[which]) : "";
    },
    range(component, i) {
      return this.bounded(component) ? "from its lower to its upper bound" : "unbounded: from the lowest to the highest value so far";
    },
    number(value) {
      if (value === null || value === undefined) return "-";
      const text = Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : Math.abs(value) >= 1e4 ? value.toExponential(1) : value.toFixed(3);
      return text.replace("-", "\u2212");
    },
    signed(value) { return (value >= 0 ? "+" : "\u2212") + Math.abs(value).toFixed(Math.abs(value) >= 1000 ? 0 : 2); },
  },
};
