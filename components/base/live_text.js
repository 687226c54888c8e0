// A text that changes often. The server sends it to `show` alone: an update would draw the whole page anew.
export default {
  template: `<div>{{ shown }}</div>`,
  props: { text: String },
  data() { return { shown: this.text }; },
  methods: { show(text) { this.shown = text; } },
};
