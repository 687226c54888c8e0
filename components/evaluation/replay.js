// A recorded evaluation, step by step: frames of the video and the step log of the policy.
const FRAME_OFFSET = 0.5; // seek to the middle of a frame, so that rounding never shows its neighbour

export default {
  template: `
    <div><div class="lab-replay" v-if="steps.length" tabindex="0" role="group" aria-label="Replay" @keydown="onKey">
      <div class="lab-replay-bar">
        <button type="button" class="lab-replay-button" aria-label="One step back" :disabled="at === 0" @click="go(at - 1)">&#9664;</button>
        <button type="button" class="lab-replay-button is-wide" @click="toggle">{{ playing ? "Pause" : "Play" }}</button>
        <button type="button" class="lab-replay-button" aria-label="One step forward" :disabled="at === steps.length - 1" @click="go(at + 1)">&#9654;</button>
        <input type="range" min="0" :max="steps.length - 1" :value="at" aria-label="Step" @input="go(+$event.target.value)">
      </div>
      <div class="lab-mono lab-replay-facts">Episode {{ now.episode }} &middot; step {{ inEpisode + 1 }} &middot; reward {{ signed(now.reward) }} &middot; so far {{ signed(total) }}<template v-if="now.value !== null"> &middot; value {{ now.value.toFixed(2) }}</template></div>
      <div class="lab-replay-columns">
        <table v-if="now.seen.length" class="lab-replay-table"><caption class="lab-label">Observation</caption>
          <tr v-for="(x, i) in now.seen" :key="i"><th scope="row">{{ observed[i] ?? i + 1 }}</th><td>{{ x.toFixed(3) }}</td></tr>
        </table>
        <table class="lab-replay-table"><caption class="lab-label">{{ weighs ? (weighs === "probability" ? "Action, probability" : "Action, Q-value") : "Action" }}</caption>
          <template v-if="now.weighed.length">
            <tr v-for="(w, i) in now.weighed" :key="i" :class="{ 'is-taken': i === now.action[0] }">
              <th scope="row">{{ actions[i] ?? i }}</th>
              <td><span class="lab-replay-weight" :style="{ width: share(w) + '%' }"></span></td>
              <td>{{ weighs === "probability" ? (100 * w).toFixed(1) + " %" : w.toFixed(2) }}</td>
            </tr>
          </template>
          <tr v-else v-for="(x, i) in now.action" :key="i"><th scope="row">{{ discrete ? "taken" : actions[i] ?? i + 1 }}</th><td>{{ discrete ? actions[x] ?? x : x.toFixed(3) }}</td></tr>
        </table>
        <table v-if="Object.keys(now.terms ?? {}).length" class="lab-replay-table"><caption class="lab-label">Reward terms</caption>
          <tr v-for="(x, name) in now.terms" :key="name"><th scope="row">{{ name }}</th><td>{{ x.toFixed(3) }}</td></tr>
        </table>
      </div>
    </div></div>`,
  props: { url: String, fps: Number, observed: Array, actions: Array, discrete: Boolean },
  data: () => ({ steps: [], weighs: null, at: 0, playing: false }),
  computed: {
    now() { return this.steps[this.at]; },
    begin() { let i = this.at; while (i > 0 && this.steps[i - 1].episode === this.now.episode) i -= 1; return i; },
    inEpisode() { return this.at - this.begin; },
    total() { return this.steps.slice(this.begin, this.at + 1).reduce((sum, one) => sum + one.reward, 0); },
    spread() { const all = this.now.weighed; return [Math.min(...all), Math.max(...all)]; },
  },
  watch: { url() { this.load(); } },
  mounted() { this.load(); },
  beforeUnmount() { this.stopFollowing?.(); },
  methods: {
    signed(x) { return (x >= 0 ? "+" : "\u2212") + Math.abs(x).toFixed(1); },
    share(w) {
      if (this.weighs === "probability") return 100 * w;
      const [low, high] = this.spread;
      return high > low ? 10 + (90 * (w - low)) / (high - low) : 100;
    },
    video() { return this.$el.closest?.(".lab-video")?.querySelector("video"); },
    async load() {
      const url = this.url;
      this.steps = [];
      this.at = 0;
      if (!url) return;
      const answer = await fetch(url);
      if (!answer.ok || url !== this.url) return;
      const found = await answer.json();
      this.weighs = found.weighs;
      this.steps = found.moments;
      await this.$nextTick();
      this.follow();
    },
    follow() {
      this.stopFollowing?.();
      const video = this.video();
      if (!video) return;
      const seen = () => this.find(video.currentTime);
      const state = () => { this.playing = !video.paused; };
      video.addEventListener("timeupdate", seen);
      video.addEventListener("play", state);
      video.addEventListener("pause", state);
      this.stopFollowing = () => {
        video.removeEventListener("timeupdate", seen);
        video.removeEventListener("play", state);
        video.removeEventListener("pause", state);
      };
    },
    // While the video plays, the step follows it; several steps may share a frame.
    find(seconds) {
      const frame = Math.floor(seconds * this.fps);
      if (this.now?.picture === frame) return;
      let found = this.steps.findIndex((one) => one.picture >= frame);
      if (found < 0) found = this.steps.length - 1;
      this.at = found;
    },
    go(index) {
      this.at = Math.max(0, Math.min(this.steps.length - 1, index));
      const video = this.video();
      if (!video) return;
      video.pause();
      video.currentTime = (this.now.picture + FRAME_OFFSET) / this.fps;
    },
    toggle() {
      const video = this.video();
      if (video) video.paused ? video.play() : video.pause();
    },
    onKey(event) {
      const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
      if (event.key === " " && event.target.tagName !== "BUTTON") this.toggle();
      else if (event.key in moves) this.go(this.at + moves[event.key]);
      else return;
      event.preventDefault();
    },
  },
};
