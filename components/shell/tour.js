// The quick-start tour: a small guide that points at the real controls and goes on when something was done.
const NEAR_PX = 6;
const LOOK_EVERY_MS = 300;

const isSeen = (element) => element?.checkVisibility?.() ?? !!element?.offsetParent;
const byText = (wanted) => [...document.querySelectorAll("main button")]
  .find((button) => button.textContent.trim().toLowerCase() === wanted);

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
  watch: { picked() { this.look(); }, status() { this.look(); } },
  mounted() {
    // Seen before anybody stops the click on its way.
    this.heard = (event) => this.onClick(event.target);
    document.addEventListener("click", this.heard, true);
    this.looking = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.scrolled = () => this.point();
    addEventListener("scroll", this.scrolled, true);
    this.forget();
    this.show();
  },
  beforeUnmount() { this.stop(); },
  methods: {
    wanted() {
      if (this.isOver) return null;
      if (this.step === 0) return [...document.querySelectorAll("[role=radio]")].find((card) => card.textContent.includes(this.env));
      if (this.step === 1) return byText("train");
      if (this.step === 2) return document.querySelector(".lab-stage");
      return byText("test");
    },
    // On a phone the setup is folded away: first it has to be opened.
    target() {
      const wanted = this.wanted();
      const opener = document.querySelector(".lab-sheet-button");
      this.isFolded = !!wanted && !isSeen(wanted) && isSeen(opener);
      return this.isFolded ? opener : wanted;
    },
    onClick(clicked) {
      const wanted = this.wanted();
      if (!wanted?.contains(clicked)) return;
      if (this.step === 0) this.go(1);
      if (this.step === 3 && !wanted.disabled) this.finish("tested");
    },
    look() {
      if (this.isOver || this.left) return;
      if (this.step < 2 && this.status) this.go(2);
      else if (this.step === 0 && this.picked) this.go(1);
      else if (this.step === 2 && this.status === "over") byText("test") ? this.go(3) : this.finish("trained");
      else if (this.status === "broken") this.finish("broken");
      this.point();
    },
    go(step) {
      this.step = step;
      if (step === 1) this.$emit("picked");
      this.$nextTick(() => this.show());
    },
    show() {
      this.reveal(this.target());
      this.point();
    },
    reveal(element) {
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      element?.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    },
    point() {
      const target = this.target();
      const seen = isSeen(target) ? target.getBoundingClientRect() : null;
      this.box = seen && seen.width ? {
        left: `${seen.left - NEAR_PX}px`, top: `${seen.top - NEAR_PX}px`,
        width: `${seen.width + 2 * NEAR_PX}px`, height: `${seen.height + 2 * NEAR_PX}px`,
      } : null;
    },
    finish(end) {
      this.end = end;
      this.stop();
      if (end === "tested") this.reveal(document.querySelector(".lab-stage"));
    },
    leave() { this.left = true; this.stop(); },
    stop() {
      document.removeEventListener("click", this.heard, true);
      removeEventListener("scroll", this.scrolled, true);
      clearInterval(this.looking);
      this.box = null;
    },
    // A reload doesn't bring it back; only its link does.
    forget() {
      const address = new URL(location.href);
      address.searchParams.delete("tour");
      history.replaceState(history.state, "", address);
    },
  },
};
