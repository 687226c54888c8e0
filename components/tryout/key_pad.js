// Keys, the same keys as touch buttons, and sliders; emits the held state whenever it changes.
const CAPTIONS = { ArrowLeft: "\u2190", ArrowRight: "\u2192", ArrowUp: "\u2191", ArrowDown: "\u2193", " ": "space" };
const REPEAT_MS = 150;
const TAKES_TYPING = "input, textarea, select, [contenteditable], [role=slider], [role=listbox], [role=combobox], [role=menu]";

export default {
  template: `
    <div class="lab-pad" role="group" aria-label="Controls" tabindex="-1">
      <div v-for="group in groups" class="lab-pad-keys" :class="{ 'is-cross': group.cross }">
        <button v-for="key in group.keys" :key="key.key" type="button" class="lab-key"
            :class="[place(key.key), { 'is-held': pressed.includes(key.key) }]" :disabled="off" :aria-label="key.label"
            :aria-keyshortcuts="key.key === ' ' ? 'Space' : key.key"
            @pointerdown.prevent="pointed(key.key, $event)" @pointerup="release(key.key)" @pointercancel="release(key.key)"
            @lostpointercapture="release(key.key)" @contextmenu.prevent
            @keydown.enter.prevent.stop="$event.repeat || press(key.key)" @keyup.enter.prevent="release(key.key)">
          <kbd>{{ caption(key.key) }}</kbd><span>{{ key.label }}</span>
        </button>
      </div>
      <div class="lab-axes" v-if="axes.length">
        <label v-for="(axis, i) in axes" class="lab-axis">
          <span>{{ axis.label }}</span><span class="lab-mono" aria-hidden="true">{{ value(i).toFixed(2) }}</span>
          <input type="range" :min="axis.low" :max="axis.high" :step="axis.step" :value="value(i)" :disabled="off"
              :aria-label="axis.label" @input="move(i, $event)" @change="releaseSlider(i)">
        </label>
      </div>
    </div>`,
  props: { keys: Array, axes: Array, off: Boolean, listens: Boolean, repeats: Boolean, springs: Boolean },
  emits: ["held", "again"],
  data: () => ({ pressed: [], moved: {} }),
  computed: {
    groups() {
      const cross = this.keys.filter((key) => key.key.startsWith("Arrow"));
      const rest = this.keys.filter((key) => !key.key.startsWith("Arrow"));
      return [{ cross: true, keys: cross }, { cross: false, keys: rest }].filter((group) => group.keys.length);
    },
  },
  watch: {
    listens() { this.release_all(); },
    off() { this.release_all(); },
  },
  mounted() {
    this.onDown = (event) => this.down(event);
    this.onUp = (event) => this.release(this.name(event));
    this.onBlur = () => this.release_all();
    // In the capture phase, so that these keys do nothing else while the user plays.
    window.addEventListener("keydown", this.onDown, true);
    window.addEventListener("keyup", this.onUp);
    window.addEventListener("blur", this.onBlur);
  },
  beforeUnmount() {
    window.removeEventListener("keydown", this.onDown, true);
    window.removeEventListener("keyup", this.onUp);
    window.removeEventListener("blur", this.onBlur);
  },
  methods: {
    // Otherwise the button that started the game would receive Space and Enter.
    take_focus() { this.$el.focus({ preventScroll: true }); },
    caption(key) { return CAPTIONS[key] ?? key; },
    place(key) { return key.startsWith("Arrow") ? "is-" + key.slice(5).toLowerCase() : ""; },
    name(event) { return event.key.length === 1 ? event.key.toLowerCase() : event.key; },
    value(i) { return this.moved[i] ?? this.axes[i].rest; },
    down(event) {
      if (!this.listens || event.ctrlKey || event.metaKey || event.altKey) return;
      const name = this.name(event);
      const control = event.target.closest?.("button, a, summary");
      if (event.target.closest?.(TAKES_TYPING)) return;
      // Space and Enter press the focused button, unless it is one of these keys.
      if ((name === " " || name === "Enter") && control && !this.$el.contains(control)) return;
      if (name === "Enter" && !event.repeat) this.$emit("again");
      if (!this.keys.some((key) => key.key === name)) return;
      // Neither scroll the page nor trigger browser shortcuts during play.
      event.preventDefault();
      if (this.off) return;
      if (!event.repeat) this.press(name);
      else if (this.repeats) this.repeat(name);
    },
    repeat(name) {
      if (performance.now() - (this.reportedAt ?? 0) >= REPEAT_MS) this.report(true);
    },
    pointed(name, event) {
      if (this.off) return;
      event.target.setPointerCapture?.(event.pointerId);
      this.press(name);
    },
    press(name) {
      if (this.pressed.includes(name)) return;
      this.pressed.push(name);
      this.report(true);
    },
    release(name) {
      if (!this.pressed.includes(name)) return;
      this.pressed = this.pressed.filter((held) => held !== name);
      this.report(false);
    },
    release_all() {
      if (!this.pressed.length) return;
      this.pressed = [];
      this.report(false);
    },
    move(i, event) {
      this.moved = { ...this.moved, [i]: Number(event.target.value) };
      this.report(true);
    },
    // Released sliders return to rest in play mode; in step mode they stay.
    releaseSlider(i) {
      if (!this.springs) return;
      const { [i]: _, ...rest } = this.moved;
      this.moved = rest;
      this.report(false);
    },
    report(isPress) {
      this.reportedAt = performance.now();
      this.$emit("held", { pressed: [...this.pressed], moved: { ...this.moved }, isPress });
    },
  },
};
