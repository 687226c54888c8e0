// The quick-start tour: highlights the real controls and advances when a step is done.
const MARGIN_PX = 6;
const CHECK_EVERY_MS = 300;

const isSeen = (element) => element?.checkVisibility?.() ?? !!element?.offsetParent;
const byText = (text) => [...document.querySelectorAll("main button")]
  .find((button) => button.textContent.trim().toLowerCase() === text);

export default {
  template: `
    <div>
      <div class="lab-tour-ring" v-if="box" :style="box" aria-hidden="true"></div>
      <section class="lab-tour" v-if="!left" aria-label="Tour" @keydown.esc="leave">
        <div class="lab-tour-head">
          <span class="lab-label">{{ isOver ? "Tour" : "Tour, step " + (step + 1) + " of " + steps.length }}</span>
          <button type="button" class="lab-icon-button lab-switch" @click="leave">{{ isOver ? "Close" : "Leave" }}</button>
        </div>
        <p role="status">{{ words }}</p>
        <button type="button" class="lab-button lab-compact lab-link lab-quiet" v-if="step === 0" @click="go(1)">Next</button>
      </section>
    </div>`,
  props: { env: String, picked: Boolean, status: String, steps: Array, ends: Object },
  data: () => ({ step: 0, left: false, box: null, end: null, isFolded: false }),
  computed: {
    isOver() { return this.end !== null; },
    words() {
      if (this.isOver) return this.ends[this.end];
      return (this.isFolded ? "Open Setup. " : "") + this.steps[this.step];
    },
  },
  watch: { picked() { this.advance(); }, status() { this.advance(); } },
  mounted() {
    // In the capture phase, before other handlers can stop the event.
    this.listener = (event) => this.onClick(event.target);
    document.addEventListener("click", this.listener, true);
    this.checking = setInterval(() => this.advance(), CHECK_EVERY_MS);
    this.scrolled = () => this.updateRing();
    addEventListener("scroll", this.scrolled, true);
    this.removeFromUrl();
    this.show();
  },
  beforeUnmount() { this.stop(); },
  methods: {
    control() {
      if (this.isOver) return null;
      if (this.step === 0) return [...document.querySelectorAll("[role=radio]")].find((card) => card.textContent.includes(this.env));
      if (this.step === 1) return byText("train");
      if (this.step === 2) return document.querySelector(".lab-stage");
      return byText("test");
    },
    // On phones the setup is folded and has to be opened first.
    target() {
      const control = this.control();
      const opener = document.querySelector(".lab-sheet-button");
      this.isFolded = !!control && !isSeen(control) && isSeen(opener);
      return this.isFolded ? opener : control;
    },
    onClick(clicked) {
      const control = this.control();
      if (!control?.contains(clicked)) return;
      if (this.step === 0) this.go(1);
      if (this.step === 3 && !control.disabled) this.finish("tested");
    },
    advance() {
      if (this.isOver || this.left) return;
      if (this.step < 2 && this.status) this.go(2);
      else if (this.step === 0 && this.picked) this.go(1);
      else if (this.step === 2 && this.status === "over") byText("test") ? this.go(3) : this.finish("trained");
      else if (this.status === "broken") this.finish("broken");
      this.updateRing();
    },
    go(step) {
      this.step = step;
      if (step === 1) this.$emit("picked");
      this.$nextTick(() => this.show());
    },
    show() {
      this.reveal(this.target());
      this.updateRing();
    },
    reveal(element) {
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      element?.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    },
    updateRing() {
      const target = this.target();
      const seen = isSeen(target) ? target.getBoundingClientRect() : null;
      this.box = seen && seen.width ? {
        left: `${seen.left - MARGIN_PX}px`, top: `${seen.top - MARGIN_PX}px`,
        width: `${seen.width + 2 * MARGIN_PX}px`, height: `${seen.height + 2 * MARGIN_PX}px`,
      } : null;
    },
    finish(end) {
      this.end = end;
      this.stop();
      if (end === "tested") this.reveal(document.querySelector(".lab-stage"));
    },
    leave() { this.left = true; this.stop(); },
    stop() {
      document.removeEventListener("click", this.listener, true);
      removeEventListener("scroll", this.scrolled, true);
      clearInterval(this.checking);
      this.box = null;
    },
    // A reload doesn't restart the tour; only its link does.
    removeFromUrl() {
      const address = new URL(location.href);
      address.searchParams.delete("tour");
      history.replaceState(history.state, "", address);
    },
  },
};
