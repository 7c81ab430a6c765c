// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon::lab {

inline constexpr const char* kHtmlStyle = R"(:root {
  --paper: #ffffff; --ink: #1c1e21; --soft: #5f6672; --rule: #d5d9df; --faint: #f4f6f8; --link: #0b5cad;
  --good: #046a4b; --fair: #7a5200; --bad: #a3360a; --notice: #fff4e0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --ink: #e4e7eb; --soft: #a0a8b3; --rule: #343a42; --faint: #1d2126; --link: #7cb8f2;
    --good: #54c79b; --fair: #e3b04b; --bad: #f08a5d; --notice: #33290f;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.55 "Source Serif 4", "Source Serif Pro", Charter, "Bitstream Charter", Cambria, Georgia, serif; }
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; }
h1, h2, h3, nav, table, figcaption, .notice, pre {
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; letter-spacing: -0.01em; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 3rem 0 0.75rem; padding-top: 0.9rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1.03rem; margin: 2rem 0 0.5rem; }
p, li { max-width: 44rem; }
p { margin: 0 0 0.9rem; }
ul { margin: 0 0 1rem; padding-left: 1.25rem; }
li { margin-bottom: 0.5rem; }
nav { display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; font-size: 0.85rem; margin-bottom: 1.5rem; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
.notice { background: var(--notice); border-left: 4px solid var(--fair); padding: 0.7rem 1rem; font-size: 0.95rem;
  font-weight: 600; max-width: none; }
pre { background: var(--faint); padding: 0.7rem 1rem; overflow-x: auto; font-size: 0.82rem; border-radius: 4px; }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: 0.87rem; line-height: 1.35; margin: 0.6rem 0 1.4rem; min-width: 50%;
  border-top: 1.5px solid var(--ink); border-bottom: 1.5px solid var(--ink); font-variant-numeric: tabular-nums lining-nums; }
caption { text-align: left; padding-bottom: 0.45rem; font-weight: 600; }
th, td { padding: 0.32rem 0.9rem 0.32rem 0; text-align: left; vertical-align: baseline; }
td + td, th + td, th + th { padding-left: 0.3rem; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-weight: 600; border-bottom: 1px solid var(--ink); vertical-align: bottom; }
tbody th { font-weight: 500; }
td.number { white-space: nowrap; }
.prose tbody th { width: 24%; }
tbody tr + tr > * { border-top: 1px solid var(--rule); }
.number { text-align: right; }
small { font-size: 0.86em; color: var(--soft); }
.good { color: var(--good); font-weight: 600; }
.fair { color: var(--fair); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.muted { color: var(--soft); }
figure { margin: 1.4rem 0 2rem; }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; }
figure svg > g > rect:first-child { fill: none; }
figcaption { font-size: 0.87rem; line-height: 1.45; color: var(--soft); max-width: 50rem; margin-top: 0.5rem; }
@media screen and (prefers-color-scheme: dark) { figure svg { filter: invert(0.92) hue-rotate(180deg); } }
@media (max-width: 40rem) {
  body { font-size: 16px; }
  main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.5rem; }
  .prose, .prose tbody, .prose tr, .prose tbody th, .prose td { display: block; width: auto; padding: 0; border: 0; }
  .prose caption { display: block; }
  .prose thead { display: none; }
  .prose tr { padding: 0.5rem 0; border-top: 1px solid var(--rule) !important; }
  .prose tbody th { font-weight: 600; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --soft: #444; --rule: #ccc; --faint: #f4f4f4; --link: #000; --good: #046a4b;
    --fair: #7a5200; --bad: #a3360a; --notice: #fff; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  .scroll { overflow: visible; }
  table { font-size: 8pt; }
  figure svg { min-width: 0; }
  figure, table, pre { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
)";

}  // namespace trasmuon::lab
