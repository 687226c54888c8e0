// A bar from 0 to 100 % that changes often: as in live_text.js, only its value is sent.
export default {
  template: `
    <div role="progressbar" aria-valuemin="0" aria-valuemax="100" :aria-valuenow="Math.round(shown)">
      <div :style="{ width: shown + '%' }"></div>
    </div>`,
  props: { percent: Number },
  data() { return { shown: this.percent }; },
  methods: { show(percent) { this.shown = percent; } },
};
