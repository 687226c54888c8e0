// Uploads a bundle directly to the API: the browser streams it, without blocking the page's WebSocket.
export default {
  template: `
    <div class="lab-import">
      <input ref="file" type="file" accept=".zip,application/zip" class="lab-unseen" tabindex="-1" aria-hidden="true" @change="send">
      <button type="button" class="lab-button lab-compact lab-link lab-quiet" :disabled="busy" @click="$refs.file.click()">{{ busy ? progress : "Import" }}</button>
      <span class="lab-error" role="alert">{{ problem }}</span>
    </div>`,
  data: () => ({ busy: false, done: 0, problem: "" }),
  computed: {
    progress() { return this.done < 1 ? `Sending ${Math.floor(100 * this.done)} %` : "Checking"; },
  },
  methods: {
    send() {
      const file = this.$refs.file.files[0];
      if (!file) return;
      this.busy = true;
      this.done = 0;
      this.problem = "";
      const request = new XMLHttpRequest();
      request.upload.onprogress = (event) => { this.done = event.total ? event.loaded / event.total : 0; };
      request.onload = () => this.onAnswer(request);
      request.onerror = () => this.end("The upload failed. The bundle may be larger than 512 MiB, or the server unreachable.");
      request.open("POST", "/api/runs/import");
      request.setRequestHeader("Content-Type", "application/zip");
      request.send(file);
    },
    onAnswer(request) {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* not JSON: the status is reported instead */ }
      if (request.status === 201) location.assign(`/runs/${answer.id}`);
      else this.end(answer.error?.message ?? `The server answered ${request.status}.`);
    },
    end(problem) {
      this.busy = false;
      this.problem = problem;
      this.$refs.file.value = "";
    },
  },
};
