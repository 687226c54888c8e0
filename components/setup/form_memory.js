// Keeps the choices and inputs of a form in this tab until the page is left; a reload restores them.
const STORE = "lab-form";
const BACK = ["reload", "back_forward"];

export default {
  template: `<span hidden></span>`,
  props: { draft: Object },
  watch: {
    draft(draft) { sessionStorage.setItem(STORE, JSON.stringify({ address: this.address, draft })); },
  },
  mounted() {
    // The address at load time: pages change theirs while they are open.
    this.address = location.pathname + location.search;
    const stored = this.read();
    const isBack = BACK.includes(performance.getEntriesByType("navigation")[0]?.type);
    if (isBack && stored?.address === this.address) this.$emit("recall", stored.draft);
    else sessionStorage.removeItem(STORE);
  },
  methods: {
    read() { try { return JSON.parse(sessionStorage.getItem(STORE)); } catch { return null; } },
  },
};
