// On a phone the setup is a sheet: a fixed button opens it; Escape, back or a click outside close it.
const OPEN = "is-setting-up";

export default {
  template: `
    <div class="lab-sheet">
      <div class="lab-sheet-shade" @click="close"></div>
      <button type="button" ref="opener" class="lab-sheet-button" :aria-expanded="isOpen" @click="toggle">
        {{ isOpen ? "Close setup" : "Setup" }}</button>
    </div>`,
  data: () => ({ isOpen: false }),
  mounted() {
    this.escape = (event) => { if (event.key === "Escape" && this.isOpen) this.close(); };
    this.back = () => { if (this.isOpen) this.hide(); };
    addEventListener("keydown", this.escape);
    addEventListener("popstate", this.back);
  },
  beforeUnmount() {
    removeEventListener("keydown", this.escape);
    removeEventListener("popstate", this.back);
    document.documentElement.classList.remove(OPEN);
  },
  methods: {
    toggle() { if (this.isOpen) this.close(); else this.open(); },
    open() {
      this.isOpen = true;
      document.documentElement.classList.add(OPEN);
      // So that "back" closes the sheet and doesn't leave the page.
      history.pushState({ ...history.state, sheet: true }, "");
      document.querySelector(".is-setup input")?.focus({ preventScroll: true });
    },
    close() {
      if (!this.isOpen) return;
      this.hide();
      if (history.state?.sheet) history.back();
    },
    hide() {
      this.isOpen = false;
      document.documentElement.classList.remove(OPEN);
      this.$refs.opener.focus({ preventScroll: true });
    },
  },
};
