// Prometheus' text format, and rates of its counters.

import type { Data } from "./series";

export interface Sample {
  at: number;
  /** The sum over all labels. */
  sums: Map<string, number>;
}

/** Parses Prometheus' text format; buckets of histograms are left out. */
export function parseMetrics(text: string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = line.match(/^([a-zA-Z_:]+)(?:\{.*\})? (\S+)$/) ?? [];
    if (name && !name.endsWith("_bucket")) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

/** Returns the increase of counters a second from sample to sample, after the times of the samples. */
export function ratesOf(samples: Sample[], names: string[]): Data {
  const later = samples.slice(1);
  const rate = (name: string) =>
    later.map((sample, index) => {
      const before = samples[index];
      const difference = (sample.sums.get(name) ?? 0) - (before.sums.get(name) ?? 0);
      // A counter that decreased was reset by a restart.
      return difference < 0 ? null : difference / Math.max(0.001, sample.at - before.at);
    });
  return [later.map((sample) => sample.at), ...names.map(rate)];
}

/** Returns the mean of a histogram over the kept samples. */
export function meanBetween(samples: Sample[], name: string): number | null {
  const [first, newest] = [samples[0]?.sums, samples.at(-1)?.sums];
  const difference = (end: string) => (newest?.get(name + end) ?? 0) - (first?.get(name + end) ?? 0);
  const number = difference("_count");
  return number > 0 ? difference("_sum") / number : null;
}
