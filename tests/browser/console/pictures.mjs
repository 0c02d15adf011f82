// The pictures of README.md, taken from the simulated fleet: WebP, as Chromium packs it.

import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

const WINDOW = { width: 1280, height: 832, scale: 1.5 };
const QUALITY = 78;
/** The live chart of the overview shows two minutes; pictures to keep wait until it is full. */
const FILLED = 125_000;
/** All pictures together, in bytes. */
export const MOST = 300_000;

async function take(visitor, file) {
  // Waits for the end of all animations, except the pulse of the connection, which never ends.
  await visitor.page.evaluate(() => Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity).map((one) => one.finished.catch(() => {}))));
  const session = await visitor.context.newCDPSession(visitor.page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  await writeFile(file, Buffer.from(data, "base64"));
  return (await stat(file)).size;
}

/** Takes all pictures; into `directory`, or one that is removed. Gives their sizes by name. */
export async function takePictures(stage, open, directory) {
  const out = directory ?? (await mkdtemp(path.join(os.tmpdir(), "platform-pictures-")));
  await mkdir(out, { recursive: true });
  const sizes = {};
  try {
    const demo = await stage.demo();
    const [pump] = await demo.devices("demo_Pump");
    const visitors = await Promise.all(["light", "dark"].map((scheme) => open("overview", { ...WINDOW, scheme })));
    if (directory) await new Promise((resolve) => setTimeout(resolve, FILLED));
    const [light, dark] = visitors.map(({ visitor }) => visitor);
    sizes.overview = await take(light, path.join(out, "console-overview.webp"));
    sizes["overview, dark"] = await take(dark, path.join(out, "console-overview-dark.webp"));
    await light.go(`devices/${pump.id}`, pump.name);
    await light.page.locator(".panel canvas").first().waitFor();
    await light.page.mouse.move(0, 0);
    if (directory) await new Promise((resolve) => setTimeout(resolve, 5000));
    sizes.device = await take(light, path.join(out, "console-device.webp"));
    for (const visitor of [light, dark]) await visitor.leave();
  } finally {
    if (!directory) await rm(out, { recursive: true, force: true });
  }
  return sizes;
}
