// Functions that wait.

/** Resolves after some milliseconds. */
export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)));

/** Checks a condition repeatedly until it holds, at most for `patience` milliseconds. Returns whether it holds. */
export async function until(holds, patience) {
  const deadline = Date.now() + patience;
  while (!(await holds())) {
    if (Date.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

/** A random number between two others: cuts must not keep step with the notifications. */
export const between = (least, most) => least + Math.random() * (most - least);
