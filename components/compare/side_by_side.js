// Videos of compared runs side by side, with one play button and one slider for all. In the time
// machine all follow one step, which follows the pointer on the curves.
const FAR_APART_S = 0.12;

export default {
  template: `
    <div class="lab-synced" v-if="lanes.length">
      <div class="lab-curves-bar" role="group" aria-label="How videos are played">
        <label v-if="hasClips && hasEvaluations" class="lab-control"><span>Show</span>
          <select v-model="mode" aria-label="Which videos">
            <option value="clips">Time machine</option><option value="evaluations">Latest evaluations</option>
          </select></label>
        <button type="button" class="lab-tool" :aria-pressed="isPlaying" @click="toggle">{{ isPlaying ? "Pause all" : "Play all" }}</button>
        <label class="lab-control"><span>Time</span>
          <input type="range" min="0" :max="longest" step="0.05" :value="time" aria-label="Playback position"
                 :aria-valuetext="time.toFixed(1) + ' seconds'" @input="seek(+$event.target.value)"></label>
        <label v-if="shown === 'clips' && steps.length > 1" class="lab-control"><span>Step</span>
          <input type="range" min="0" :max="steps.length - 1" :value="place" aria-label="Training step"
                 :aria-valuetext="'step ' + steps[place]" @input="go(+$event.target.value)">
          <output>{{ steps[place].toLocaleString("en") }}</output></label>
      </div>
      <div class="lab-synced-lanes">
        <figure v-for="lane in playing" :key="lane.key">
          <figcaption><i class="lab-swatch" :class="['is-series-' + (lane.colour % 5 + 1), { 'is-dashed': lane.colour >= 5 }]" aria-hidden="true"></i>
            <span class="lab-name">{{ lane.name }}</span></figcaption>
          <video v-if="lane.url" :src="lane.url" muted playsinline preload="auto" :aria-label="'Video of ' + lane.name"
                 :data-lane="lane.key" @loadeddata="loaded" @ended="ended"></video>
          <div v-else class="lab-synced-none">No video yet.</div>
          <span class="lab-mono lab-small">{{ lane.words }}</span>
        </figure>
      </div>
      <p v-if="shown === 'evaluations' && !sameSeed" class="lab-small">These were played on different seeds. Record all on one seed to compare them fairly.</p>
    </div>`,
  props: { lanes: { type: Array, default: () => [] }, sameSeed: Boolean },
  data: () => ({ mode: "clips", axis: "timesteps", x: Infinity, time: 0, longest: 1, isPlaying: false }),
  computed: {
    hasClips() { return this.lanes.some(({ clips }) => clips.length); },
    hasEvaluations() { return this.lanes.some(({ evaluation }) => evaluation); },
    shown() { return this.mode === "clips" && this.hasClips ? "clips" : "evaluations"; },
    steps() { return [...new Set(this.lanes.flatMap(({ clips }) => clips.map(({ step }) => step)))].sort((a, b) => a - b); },
    place() {
      const at = this.playing.map(({ step }) => step ?? 0);
      return Math.max(0, this.steps.indexOf(Math.max(...at)));
    },
    playing() { return this.lanes.map((lane) => ({ ...lane, ...(this.shown === "clips" ? this.clip(lane) : this.evaluation(lane)) })); },
  },
  mounted() { window.addEventListener("curve_at", this.follow); },
  beforeUnmount() { window.removeEventListener("curve_at", this.follow); cancelAnimationFrame(this.frame); },
  methods: {
    clip({ clips }) {
      // A run without a clip up to here shows its first clip.
      const before = clips.filter(({ x }) => x[this.axis] <= this.x);
      const found = before.at(-1) ?? clips[0];
      if (!found) return { url: null, words: "", step: null };
      const score = found.score === null ? "-" : found.score.toFixed(1);
      return { url: found.url, step: found.step, words: `step ${found.step.toLocaleString("en")}, this episode ${score}` };
    },
    evaluation({ evaluation }) { return evaluation ? { url: evaluation.url, words: evaluation.words, step: null } : { url: null, words: "", step: null }; },
    go(place) {
      this.axis = "timesteps";
      this.x = this.steps[place];
    },
    follow({ detail }) {
      if (detail.x === null || this.shown !== "clips") return;
      this.axis = detail.axis;
      this.x = detail.x;
    },
    videos() { return [...this.$el.querySelectorAll("video")]; },
    loaded({ target }) {
      this.longest = Math.max(...this.videos().map((video) => video.duration || 0), 0.1);
      target.currentTime = Math.min(this.time, target.duration);
      if (this.isPlaying) target.play();
    },
    toggle() {
      this.isPlaying = !this.isPlaying;
      if (!this.isPlaying) { this.videos().forEach((video) => video.pause()); return; }
      if (this.time >= this.longest - 0.1) this.seek(0);
      this.videos().forEach((video) => { if (this.time < video.duration) video.play(); });
      this.frame = requestAnimationFrame(this.keepTogether);
    },
    seek(time) {
      this.time = time;
      this.videos().forEach((video) => {
        video.currentTime = Math.min(time, video.duration || 0);
        if (this.isPlaying && time < video.duration) video.play();
      });
    },
    keepTogether() {
      if (!this.isPlaying) return;
      const videos = this.videos().filter((video) => !video.ended && !video.paused && video.readyState > 1);
      // The slowest video leads, so that none has to skip frames.
      const lead = Math.min(...videos.map((video) => video.currentTime));
      if (videos.length) this.time = lead;
      videos.forEach((video) => { if (video.currentTime - lead > FAR_APART_S) video.currentTime = lead; });
      this.frame = requestAnimationFrame(this.keepTogether);
    },
    ended() {
      if (!this.videos().every((video) => video.ended)) return;
      // Loop: restart all of them together.
      if (this.isPlaying) this.seek(0);
    },
  },
};
