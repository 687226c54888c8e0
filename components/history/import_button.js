// Sends a bundle as it is to the API: the browser streams it, and the page's socket stays free.
export default {
  template: `
    <div class="lab-import">
      <input ref="file" type="file" accept=".zip,application/zip" class="lab-unseen" tabindex="-1" aria-hidden="true" @change="send">
      <button type="button" class="lab-button lab-compact lab-link lab-quiet" :disabled="busy" @click="$refs.file.click()">{{ busy ? share : "Import" }}</button>
      <span class="lab-error" role="alert">{{ problem }}</span>
    </div>`,
  data: () => ({ busy: false, done: 0, problem: "" }),
  computed: {
    share() { return this.done < 1 ? `Sending ${Math.floor(100 * this.done)} %` : "Checking"; },
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
      request.onload = () => this.hear(request);
      request.onerror = () => this.end("The bundle did not arrive. Is it larger than 512 MiB, or the server away?");
      request.open("POST", "/api/runs/import");
      request.setRequestHeader("Content-Type", "application/zip");
      request.send(file);
    },
    hear(request) {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* the status says enough */ }
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
