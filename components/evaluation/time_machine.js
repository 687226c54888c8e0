// Clips of a run at steps of its training: next to the pointer over the reward curve, or below the
// slider for keyboard and touch.
const GAP_PX = 8;

export default {
  template: `
    <div class="lab-machine" v-if="clips.length" role="group" aria-label="Time machine">
      <div class="lab-machine-bar">
        <label class="lab-control"><span>Time machine</span>
          <input type="range" min="0" :max="clips.length - 1" :value="at ?? clips.length - 1" aria-label="Training step of the clip"
                 :aria-valuetext="clipText(at ?? clips.length - 1)" @input="slide(+$event.target.value)" @focus="slide(at ?? clips.length - 1)"></label>
        <span class="lab-mono lab-small">{{ line }}</span>
        <button v-if="at !== null && !place" type="button" class="lab-tool" @click="at = null">Hide</button>
        <button v-if="mayEvolve" type="button" class="lab-tool lab-machine-evolve" :disabled="isEvolving || clips.length < 2"
                title="All clips as one video, with step and score" @click="$emit('evolve')">{{ isEvolving ? "Creating the video" : "Evolution" }}</button>
      </div>
      <figure v-if="at !== null" class="lab-machine-clip" :class="{ 'is-floating': place }" :style="place" ref="box">
        <video :key="clips[at].url" :src="clips[at].url" muted loop playsinline :autoplay="!prefersReducedMotion" :controls="prefersReducedMotion && !place"
               :aria-label="'Clip of the policy at ' + clipText(at)"></video>
        <figcaption class="lab-mono">{{ clipText(at) }}</figcaption>
      </figure>
    </div>`,
  props: { clips: { type: Array, default: () => [] }, mayEvolve: Boolean, isEvolving: Boolean },
  data: () => ({ at: null, place: null, prefersReducedMotion: matchMedia("(prefers-reduced-motion: reduce)").matches }),
  computed: {
    line() {
      if (this.at !== null) return this.place ? "" : this.clipText(this.at);
      return this.clips.length === 1 ? "1 clip" : `${this.clips.length} clips: point at the reward curve, or move the slider`;
    },
  },
  watch: { clips(now, before) { if (this.at !== null && now[this.at]?.url !== before[this.at]?.url) this.at = this.place = null; } },
  mounted() { window.addEventListener("curve_pointed", this.point); },
  beforeUnmount() { window.removeEventListener("curve_pointed", this.point); },
  methods: {
    clipText(index) {
      const { step, score } = this.clips[index];
      const text = score === null ? "-" : score.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
      return `step ${step.toLocaleString("en")}, score ${text}`;
    },
    slide(index) {
      this.place = null;
      this.at = index;
    },
    async point({ detail }) {
      if (!detail || !this.clips.length) {
        if (this.place) this.at = this.place = null;
        return;
      }
      const distance = (clip) => Math.abs(clip.x[detail.axis] - detail.x);
      this.at = this.clips.reduce((best, clip, i) => (distance(clip) < distance(this.clips[best]) ? i : best), 0);
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
