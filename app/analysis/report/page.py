"""The page of a report; what is filled in is escaped by who fills it in."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --canvas: #fafafa; --surface: #fff; --line: #e5e5e5;
  --ink: #111; --ink-2: #525252; --danger: #d11a2a; --soft: #fdecee; }}
@media (prefers-color-scheme: dark) {{ :root {{ --canvas: #0b0b0c; --surface: #141416;
  --line: #2a2a2e; --ink: #ededef; --ink-2: #ababb2; --danger: #ff6b74; --soft: #33141a; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; padding: 24px 16px; background: var(--canvas); color: var(--ink);
  font: 14px/1.5 system-ui, sans-serif; }}
main {{ max-width: 760px; margin: auto; }}
h1, h2, code, pre, td, figcaption, .small {{ font-family: ui-monospace, monospace; }}
h1 {{ font-size: 20px; margin: 0; overflow-wrap: anywhere; }}
h2 {{ font-size: 12px; text-transform: uppercase; letter-spacing: .08em; margin: 32px 0 8px; }}
h3 {{ font-size: 14px; margin: 0; }}
p {{ margin: 4px 0; }}
.small, figcaption, .subtitle {{ font-size: 12px; color: var(--ink-2); }}
.notes {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
.loud, .insight.loud h3 {{ color: var(--danger); }}
.insight {{ background: var(--surface); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 16px; margin-bottom: 8px; color: var(--ink); }}
table {{ border-collapse: collapse; width: 100%; font-size: 12px; }}
th {{ text-align: left; font-weight: 400; color: var(--ink-2); padding: 4px 12px 4px 0; }}
td {{ padding: 4px 8px 4px 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }}
tr {{ border-bottom: 1px solid var(--line); }}
.wide {{ overflow-x: auto; }}
pre {{ background: var(--surface); border: 1px solid var(--line); border-radius: 8px; padding: 12px;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12px; }}
figure {{ margin: 0 0 16px; }}
svg, video {{ width: 100%; background: var(--surface); border: 1px solid var(--line);
  border-radius: 8px; }}
polyline {{ fill: none; stroke: var(--ink); stroke-width: 1.5; }}
.axis {{ stroke: var(--line); }}
.window {{ fill: var(--soft); }}
svg text {{ font: 11px ui-monospace, monospace; fill: var(--ink-2); }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="subtitle">{subtitle}</p>
<p class="subtitle">{made}</p>
{error}
<h2>Numbers</h2>
<table>{facts}</table>
<h2>Insights</h2>
{insights}
<h2>Curves</h2>
{curves}
<h2>Evaluations</h2>
{evaluations}
{clip}
<h2>Repeat it</h2>
<pre>{command}</pre>
<pre>{call}</pre>
{notes}
{reward}
<h2>Configuration</h2>
<table>{config}</table>
</main>
</body>
</html>
"""
