// Clips of a run at moments of its training: beside the pointer while it is over the reward curve,
// below the slider for keys and fingers.
const GAP_PX = 8;

export default {
  template: `
    <div class="lab-machine" v-if="moments.length" role="group" aria-label="Time machine">
      <div class="lab-machine-bar">
        <label class="lab-control"><span>Time machine</span>
          <input type="range" min="0" :max="moments.length - 1" :value="at ?? moments.length - 1" aria-label="Moment of the training"
                 :aria-valuetext="words(at ?? moments.length - 1)" @input="slide(+$event.target.value)" @focus="slide(at ?? moments.length - 1)"></label>
        <span class="lab-mono lab-small">{{ line }}</span>
        <button v-if="at !== null && !place" type="button" class="lab-tool" @click="at = null">Hide</button>
        <button v-if="mayEvolve" type="button" class="lab-tool lab-machine-evolve" :disabled="isEvolving || moments.length < 2"
                title="All clips as one video, with step and score" @click="$emit('evolve')">{{ isEvolving ? "Evolution is being made" : "Evolution" }}</button>
      </div>
      <figure v-if="at !== null" class="lab-machine-clip" :class="{ 'is-floating': place }" :style="place" ref="box">
        <video :key="moments[at].url" :src="moments[at].url" muted loop playsinline :autoplay="!isCalm" :controls="isCalm && !place"
               :aria-label="'Clip of the policy at ' + words(at)"></video>
        <figcaption class="lab-mono">{{ words(at) }}</figcaption>
      </figure>
    </div>`,
  props: { moments: { type: Array, default: () => [] }, mayEvolve: Boolean, isEvolving: Boolean },
  data: () => ({ at: null, place: null, isCalm: matchMedia("(prefers-reduced-motion: reduce)").matches }),
  computed: {
    line() {
      if (this.at !== null) return this.place ? "" : this.words(this.at);
      return this.moments.length === 1 ? "1 moment" : `${this.moments.length} moments: point at the reward curve, or move the slider`;
    },
  },
  watch: { moments(now, before) { if (this.at !== null && now[this.at]?.url !== before[this.at]?.url) this.at = this.place = null; } },
  mounted() { window.addEventListener("curve_pointed", this.point); },
  beforeUnmount() { window.removeEventListener("curve_pointed", this.point); },
  methods: {
    words(index) {
      const { step, score } = this.moments[index];
      const told = score === null ? "-" : score.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
      return `step ${step.toLocaleString("en")}, score ${told}`;
    },
    slide(index) {
      this.place = null;
      this.at = index;
    },
    async point({ detail }) {
      if (!detail || !this.moments.length) {
        if (this.place) this.at = this.place = null;
        return;
      }
      const off = (moment) => Math.abs(moment.x[detail.axis] - detail.x);
      this.at = this.moments.reduce((best, moment, i) => (off(moment) < off(this.moments[best]) ? i : best), 0);
      this.place ??= { left: "0px", top: "0px" };
      await this.$nextTick();
      if (!this.place || !this.$refs.box) return;
      const { width, height } = this.$refs.box.getBoundingClientRect(), { left, top, bottom } = detail;
      const room = document.documentElement.clientWidth - width - GAP_PX;
      const above = top - height - GAP_PX;
      this.place = {
        left: `${Math.max(GAP_PX, Math.min(left - width / 2, room))}px`,
        top: `${above > GAP_PX ? above : bottom + GAP_PX}px`,
      };
    },
  },
};
