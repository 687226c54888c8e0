// One bar per episode; a click or the arrow keys show its numbers.
// Creating a formatter takes far longer than using it, and every bar has a label.
const NUMBERS = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const TIMES = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const MAX_BAR_PX = 24;

const write = (value) => NUMBERS.format(value);

export default {
  template: `
    <div class="lab-bars-box">
      <div class="lab-bars-frame">
        <span class="lab-bars-scale lab-mono" aria-hidden="true"><i>{{ write(high) }}</i><i>{{ write(low) }}</i></span>
        <div class="lab-bars" role="listbox" tabindex="0" :aria-label="label" :aria-activedescendant="chosen ? id(chosen) : null"
             @pointerdown="pick" @pointermove="point" @pointerleave="pointed = null" @keydown="key">
          <div v-for="one in episodes" :key="one[0]" :id="id(one)" role="option" class="lab-bar"
               :aria-selected="one === chosen" :aria-label="words(one)" :class="{ 'is-pointed': one[0] === pointed }">
            <i :style="bar(one)"></i>
          </div>
        </div>
      </div>
      <p class="lab-bars-words lab-mono" :class="{ 'has-terms': hasTerms }" aria-live="polite">{{ shown ? words(shown) : hint }}</p>
    </div>`,
  props: { label: String },
  data: () => ({ episodes: [], number: null, pointed: null, hint: "Click a bar, or use the arrow keys, to see its numbers." }),
  computed: {
    high() { return Math.max(0, ...this.episodes.map(([, reward]) => reward)); },
    low() { return Math.min(0, ...this.episodes.map(([, reward]) => reward)); },
    hasTerms() { return this.episodes.some(([, , , , , more]) => Object.keys(more ?? {}).length > 0); },
    chosen() { return this.episodes.find(([number]) => number === this.number) ?? null; },
    shown() { return this.episodes.find(([number]) => number === this.pointed) ?? this.chosen; },
  },
  mounted() { this.$emit("ready"); },
  methods: {
    write,
    replace(episodes) { this.episodes = episodes; },
    append(episodes, most) { this.episodes = [...this.episodes, ...episodes].slice(-most); },
    counts() { return [this.episodes.length]; },
    id([number]) { return `${this.$el?.id ?? "bars"}-${number}`; },
    bar([, reward]) {
      const span = this.high - this.low || 1, end = Math.max(reward, 0), begin = Math.min(reward, 0);
      return { top: `${(100 * (this.high - end)) / span}%`, height: `${(100 * (end - begin)) / span}%` };
    },
    words([number, reward, length, step, at, more]) {
      const time = at ? TIMES.format(new Date(at)) : "-";
      const rest = Object.entries(more ?? {}).map(([name, value]) => ` · ${name} ${write(value)}`).join("");
      return `Episode ${write(number)} · reward ${write(reward)} · ${write(length)} steps long · ended at step ${write(step)}, ${time}${rest}`;
    },
    at(event) {
      const box = event.currentTarget.getBoundingClientRect();
      const index = Math.floor((event.clientX - box.left) / Math.min(MAX_BAR_PX, box.width / (this.episodes.length || 1)));
      return this.episodes[Math.min(this.episodes.length - 1, Math.max(0, index))];
    },
    point(event) { this.pointed = this.at(event)?.[0] ?? null; },
    pick(event) { this.number = this.at(event)?.[0] ?? null; },
    key(event) {
      const last = this.episodes.length - 1, here = this.episodes.indexOf(this.chosen);
      const moves = { ArrowLeft: here < 0 ? last : here - 1, ArrowRight: here < 0 ? last : here + 1, Home: 0, End: last };
      if (event.key === "Escape") this.number = null;
      if (!(event.key in moves) || last < 0) return;
      event.preventDefault();
      this.number = this.episodes[Math.min(last, Math.max(0, moves[event.key]))][0];
    },
  },
};
