// SPDX-License-Identifier: MIT
// A page that is served asks for new data every two seconds; one that was written to a file does
// not.

const POLL_MS = 2000;

async function poll() {
  const status = document.getElementById("live");
  try {
    const answer = await fetch("data", {cache: "no-store"});
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const next = await answer.json();
    // Pictures come once, with the page.
    for (const run of next.runs) {
      const before = state.document.runs.find((one) => one.path === run.path);
      if (before && before.pictures) run.pictures = before.pictures;
      if (before && before.picture_problem) run.picture_problem = before.picture_problem;
    }
    state.document = next;
    updatePage();
    status.textContent = `Live: ${stepsText(next.runs)}`;
    status.className = "live";
  } catch (error) {
    status.textContent = `No longer live (${error.message}): the run has ended, or its server has.`;
    status.className = "live ended";
  }
  setTimeout(poll, POLL_MS);
}

function stepsText(runs) {
  const going = runs.filter((run) => run.state === "running" && run.curves.loss);
  if (going.length === 0) return "no run is at work";
  return going
      .map((run) => {
        const steps = run.curves.loss.steps;
        return `${run.name} at step ${formatNumber(steps[steps.length - 1])} of ` +
            `${run.config["trainer.steps"]}`;
      })
      .join(", ");
}
