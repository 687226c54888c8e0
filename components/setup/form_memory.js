// What was chosen and typed into a form, kept in this tab until the page is left: a reload brings it back.
const STORE = "lab-form";
const BACK = ["reload", "back_forward"];

export default {
  template: `<span hidden></span>`,
  props: { draft: Object },
  watch: {
    draft(draft) { sessionStorage.setItem(STORE, JSON.stringify({ address: this.address, draft })); },
  },
  mounted() {
    // As it was opened: pages change their address while they are looked at.
    this.address = location.pathname + location.search;
    const kept = this.read();
    const isBack = BACK.includes(performance.getEntriesByType("navigation")[0]?.type);
    if (isBack && kept?.address === this.address) this.$emit("recall", kept.draft);
    else sessionStorage.removeItem(STORE);
  },
  methods: {
    read() { try { return JSON.parse(sessionStorage.getItem(STORE)); } catch { return null; } },
  },
};
