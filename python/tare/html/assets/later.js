// Work that a frame doesn't wait for: it runs after the frame is drawn.

function afterFrame(act) {
  if (document.hidden) setTimeout(act); // a hidden page draws no frames
  else requestAnimationFrame(() => setTimeout(act));
}

class Later {
  constructor() {
    this.jobs = new Map();
  }

  // A later job with the same name replaces an earlier one.
  put(name, job) {
    if (!this.jobs.size) afterFrame(() => this.settle());
    this.jobs.set(name, job);
  }

  settle() {
    const jobs = [...this.jobs.values()];
    this.jobs.clear();
    jobs.forEach((job) => job());
  }
}
