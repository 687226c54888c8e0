// Live frames over a WebSocket: each is acknowledged, so that a slow viewer gets fewer, not older ones.
const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 8000;
const UNKNOWN_RUN = 4404;
const SLOW_FPS = 6;

export default {
  template: `
    <div class="lab-stage">
      <canvas ref="canvas" v-show="header" role="img" :aria-label="ariaLabel"></canvas>
      <img v-show="!header && still" :src="still" alt="">
      <div class="lab-stage-badges" v-if="header">
        <span class="lab-stage-badge" :title="kindHint">{{ live ? header.kind : "last frame" }}</span>
        <span class="lab-stage-badge">Episode {{ header.episode }}{{ header.episodes ? "/" + header.episodes : "" }}</span>
        <span class="lab-stage-badge">Reward {{ signed(header.return) }}</span>
        <span class="lab-stage-badge" v-if="live && header.kind !== 'preview' && fps !== null && fps < ${SLOW_FPS}">{{ fps }} {{ fps === 1 ? "frame" : "frames" }}/s</span>
      </div>
      <div class="lab-stage-note" v-if="note"><span>{{ note }}</span></div>
    </div>`,
  props: { url: String, still: String, note: String, live: Boolean },
  data: () => ({ header: null, fps: null }),
  computed: {
    kindHint() {
      return this.header.kind === "training" ? "The newest policy plays its own episode, in parallel with training" : "";
    },
    ariaLabel() { return `Live frame of the agent, episode ${this.header?.episode ?? "-"}`; },
  },
  watch: {
    url() { this.clear(); this.reconnect(); },
  },
  mounted() {
    this.arrivals = [];
    this.onVisibility = () => this.reconnect();
    document.addEventListener("visibilitychange", this.onVisibility);
    this.rate = setInterval(() => this.measure(), 1000);
    this.reconnect();
  },
  beforeUnmount() {
    this.isUnmounted = true;
    document.removeEventListener("visibilitychange", this.onVisibility);
    clearInterval(this.rate);
    this.disconnect();
  },
  methods: {
    signed(value) { return (value >= 0 ? "+" : "\u2212") + Math.abs(value).toFixed(1); },
    clear() { this.header = null; this.fps = null; this.arrivals = []; },
    measure() {
      const now = performance.now();
      this.arrivals = this.arrivals.filter((at) => now - at < 3000);
      this.fps = this.arrivals.length ? Math.round(this.arrivals.length / 3) : null;
    },
    disconnect() {
      clearTimeout(this.retrying);
      const socket = this.socket;
      this.socket = null;
      // A connecting socket is closed once it is open: browsers log an error if it is aborted.
      if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
      else socket?.close();
    },
    // A hidden tab doesn't request frames.
    reconnect() {
      this.disconnect();
      this.retry = FIRST_RETRY_MS;
      if (!this.isUnmounted && this.url && !document.hidden) this.connect();
    },
    connect() {
      const scheme = location.protocol === "https:" ? "wss://" : "ws://";
      const socket = (this.socket = new WebSocket(scheme + location.host + this.url));
      socket.binaryType = "arraybuffer";
      let seen = 0;
      socket.onopen = () => { this.retry = FIRST_RETRY_MS; };
      socket.onmessage = (event) => {
        this.show(socket, event.data, ++seen).finally(() => {
          if (socket.readyState === WebSocket.OPEN) socket.send("ack");
        });
      };
      socket.onclose = (event) => {
        if (socket !== this.socket || this.isUnmounted || event.code === UNKNOWN_RUN) return;
        this.retrying = setTimeout(() => this.connect(), this.retry);
        this.retry = Math.min(this.retry * 2, MAX_RETRY_MS);
      };
    },
    async show(socket, data, order) {
      const length = new DataView(data).getUint32(0);
      const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
      const bitmap = await createImageBitmap(new Blob([new Uint8Array(data, 4 + length)], { type: "image/jpeg" }));
      // Frames can finish decoding out of order: never draw an older one over a newer one.
      if (socket === this.socket && order > (socket.drawn ?? 0)) {
        socket.drawn = order;
        const canvas = this.$refs.canvas;
        if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) {
          canvas.width = bitmap.width;
          canvas.height = bitmap.height;
        }
        canvas.getContext("2d", { alpha: false }).drawImage(bitmap, 0, 0);
        this.header = header;
        this.arrivals.push(performance.now());
      }
      bitmap.close();
    },
  },
};
