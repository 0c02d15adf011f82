// The icons of the console.

/** The outlines of icons on a grid of 24, drawn in the colour of the text. */
const ICONS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  devices: "M5 4h14v11H5zM9 20h6M12 15v5",
  alarms: "M12 4 3 19h18zM12 10v4M12 16.5v.5",
  operations: "M5 12h9M10 7l5 5-5 5M19 5v14",
  registration: "M12 5v14M5 12h14",
  live: "M3 12h4l3-7 4 14 3-7h4",
  modules: "M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14",
  users:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.5 2.5-6 6-6s6 2.5 6 6" +
    "M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3 2.8 3 5.5",
  certificates: "M12 3l7 3v6c0 4-3 7-7 9-4-2-7-5-7-9V6zM9 12l2 2 4-4",
  applications: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  tenants: "M4 20V8l8-4 8 4v12M9 20v-6h6v6",
  audit: "M6 4h9l4 4v12H6zM9 12h7M9 16h5",
  consumers: "M6 4h12v16l-6-4-6 4zM9 9h6",
  why: "M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .5-1.5 1.2-1.5 2.3M12 18.5v.5",
  server: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  break: "M13 3 5 14h6l-1 7 8-11h-6z",
  menu: "M4 7h16M4 12h16M4 17h16",
  check: "M5 12l5 5 9-10",
  cross: "M6 6l12 12M18 6L6 18",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20 20",
  file: "M6 4h8l4 4v12H6zM14 4v4h4",
} as const;
export type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}
