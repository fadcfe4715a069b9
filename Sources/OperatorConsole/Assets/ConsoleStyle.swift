/// The style sheet of the console.
enum ConsoleStyle {
  static let text = """
    :root { color-scheme: light dark; --ground: #ffffff; --raised: #f4f6f8; --line: #c9d1d9; --edge: #6b7580; --text: #1b1f24;
      --muted: #505a64; --link: #0a58a8; --accent: #0a58a8; --on-accent: #ffffff; --danger: #a8201a; --good: #17653a;
      --waiting: #7a4b00; --notice: #e7f3ec; --problem: #fdecea; }
    @media screen and (prefers-color-scheme: dark) {
      :root { --ground: #12161b; --raised: #1b2128; --line: #3a434d; --edge: #8b96a2; --text: #e8ebee; --muted: #a9b3bd;
        --link: #86bcff; --accent: #86bcff; --on-accent: #0b1a2b; --danger: #ff9a92; --good: #7fd8a4; --waiting: #f0c273;
        --notice: #16301f; --problem: #3a1a18; } }
    *, ::before, ::after { box-sizing: border-box; }
    html { font: 100%/1.5 system-ui, sans-serif; background: var(--ground); color: var(--text); }
    body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; overflow-wrap: break-word; }
    code, bdi, dd, h1 { overflow-wrap: anywhere; }
    a { color: var(--link); text-underline-offset: .15em; }
    :focus-visible, input:focus-within { outline: 3px solid var(--accent); outline-offset: 2px; }
    main:focus { outline: none; }
    .skip { position: absolute; left: -100vw; padding: .75rem 1rem; background: var(--ground); z-index: 1; }
    .skip:focus { left: 0; }
    .banner { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; padding: .5rem 1.25rem;
      background: var(--raised); border-bottom: 1px solid var(--line); }
    .brand { margin: 0; font-weight: 700; letter-spacing: .01em; }
    .banner nav { flex: 1 1 auto; }
    .banner ul { list-style: none; display: flex; flex-wrap: wrap; gap: .125rem; margin: 0; padding: 0; }
    .banner li a { display: block; padding: .375rem .5rem; border-radius: .375rem; text-decoration: none; color: var(--text);
      min-height: 2rem; }
    .banner li a:hover { background: var(--line); }
    .banner li a[aria-current] { font-weight: 600; box-shadow: inset 0 -3px var(--accent); border-radius: .375rem .375rem 0 0; }
    .tools { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; color: var(--muted); }
    main { flex: 1; width: 100%; max-width: 78rem; margin: 0 auto; padding: 1.25rem; }
    h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
    h2 { font-size: 1.2rem; line-height: 1.3; margin: 2rem 0 .5rem; }
    h3 { font-size: 1rem; margin: 1.25rem 0 .375rem; }
    p { margin: .5rem 0; max-width: 70ch; }
    .hint { color: var(--muted); }
    .hint { font-size: .9375rem; }
    code { font: .9375em/1.4 ui-monospace, monospace; background: var(--raised); padding: .05em .3em; border-radius: .25rem; }
    .notice, .problem { border: 1px solid var(--line); border-left-width: .375rem; padding: .5rem .875rem; border-radius: .25rem;
      margin: 0 0 1rem; max-width: none; }
    .notice { background: var(--notice); border-left-color: var(--good); }
    .problem { background: var(--problem); border-left-color: var(--danger); }
    .problem p, .notice p { margin: .125rem 0; }
    table { border-collapse: collapse; width: 100%; margin: .25rem 0 1rem; }
    caption, .heard { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    th, td { text-align: left; vertical-align: top; padding: .4375rem .75rem .4375rem 0; border-bottom: 1px solid var(--line);
      min-width: 5rem; }
    thead th { color: var(--muted); font-weight: 600; font-size: .875rem; border-bottom: 2px solid var(--edge); }
    tbody th { font-weight: 500; }
    .numeric { text-align: right; font-variant-numeric: tabular-nums; }
    .state { display: inline-block; padding: 0 .5rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .875rem;
      line-height: 1.5rem; color: var(--muted); white-space: nowrap; }
    .state.good { color: var(--good); } .state.waiting { color: var(--waiting); } .state.bad { color: var(--danger); }
    .tasks { list-style: none; padding: 0; margin: 0 0 1rem; display: grid; gap: .5rem; }
    .task { border: 1px solid var(--line); border-left: .375rem solid var(--waiting); border-radius: .25rem; padding: .5rem .875rem;
      display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: center; justify-content: space-between; }
    .task.bad { border-left-color: var(--danger); }
    .task p { margin: 0; flex: 1 1 22rem; }
    .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin: .5rem 0 1rem; }
    .figure { border: 1px solid var(--line); border-radius: .375rem; padding: .625rem .875rem; }
    .figure dt { color: var(--muted); font-size: .875rem; }
    .figure dd { margin: 0; font-size: 1.375rem; font-variant-numeric: tabular-nums; }
    dl.fields { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .25rem 1.25rem; margin: .5rem 0 1rem; }
    dl.fields dt { color: var(--muted); } dl.fields dd { margin: 0; }
    form.fields > p { flex: 1 1 100%; margin: 0; max-width: none; }
    form.fields { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: flex-end; margin: .5rem 0 1rem; }
    form.stacked { display: grid; grid-template-columns: minmax(0, 1fr); justify-items: start; gap: .75rem; max-width: 46rem; margin: .5rem 0 1rem; }
    form.stacked .field { width: 100%; }
    .field { display: flex; flex-direction: column; gap: .1875rem; max-width: 100%; }
    .field.wide { flex: 1 1 100%; max-width: 46rem; }
    .field .problem { margin: 0; padding: .125rem .5rem; }
    fieldset { border: 1px solid var(--line); border-radius: .375rem; margin: 0 0 1rem; padding: .5rem 1rem 1rem; }
    label, legend { font-weight: 500; }
    input, select, textarea { font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--edge);
      border-radius: .375rem; padding: .375rem .625rem; min-height: 2.375rem; max-width: 100%; }
    textarea { width: 100%; min-height: 5rem; }
    input[type=checkbox], input[type=radio] { min-height: 0; width: 1.5rem; height: 1.5rem; margin: 0; accent-color: var(--accent);
      vertical-align: middle; }
    progress { width: 100%; height: 1.5rem; accent-color: var(--accent); }
    [hidden] { display: none !important; }
    [aria-disabled] { opacity: .6; cursor: default; }
    [aria-invalid] { border: 2px solid var(--danger); }
    .button, button { font: inherit; font-weight: 500; display: inline-block; cursor: pointer; text-decoration: none;
      padding: .375rem .875rem; min-height: 2.375rem; border-radius: .375rem; border: 1px solid var(--accent);
      background: var(--accent); color: var(--on-accent); }
    .button.danger, button.danger { background: transparent; border-color: var(--danger); color: var(--danger); }
    .button.quiet, button.quiet { background: transparent; border-color: var(--edge); color: var(--text); }
    .button:hover, button:hover { filter: brightness(1.08); text-decoration: underline; }
    .inline { display: inline-flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0; }
    .paging { display: flex; gap: 1rem; margin: 1rem 0; }
    .bare { list-style: none; padding: 0; margin: .5rem 0; }
    .covers { list-style: none; display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; }
    .cover { display: block; border: 1px solid var(--line); background: var(--raised); height: auto; max-width: 100%; }
    .tree, .tree ul { list-style: none; margin: 0; padding-left: 1.25rem; border-left: 2px solid var(--line); }
    .tree li { padding: .25rem 0; }
    .chart { margin: .5rem 0 1rem; } .chart svg { width: 100%; height: auto; max-width: 48rem; display: block; }
    .curve { fill: none; stroke: var(--accent); stroke-width: 2.5; } .axis { stroke: var(--edge); stroke-width: 1; }
    .grid { stroke: var(--line); stroke-width: 1; } .chart text { fill: var(--muted); font: 13px system-ui, sans-serif; }
    .chart rect { fill: var(--accent); }
    summary { cursor: pointer; min-height: 1.75rem; color: var(--link); }
    .page { border-top: 1px solid var(--line); color: var(--muted); padding: .75rem 1.25rem; display: flex; flex-wrap: wrap;
      gap: .5rem 1.5rem; align-items: center; font-size: .9375rem; }
    .page p { margin: 0; }
    @media (max-width: 44rem) {
      table, thead, tbody, tr, th, td { display: block; overflow-wrap: anywhere; }
      thead { position: absolute; left: -100vw; }
      tr { border-bottom: 2px solid var(--line); padding: .375rem 0; }
      td, tbody th, .numeric { border: 0; padding: .125rem 0; text-align: left; }
      td[data-heading]::before, th[data-heading]::before { content: attr(data-heading) ": "; color: var(--muted); font-weight: 400; }
      dl.fields { grid-template-columns: 1fr; } dl.fields dd { margin-bottom: .375rem; }
    }
    @media (prefers-reduced-motion: no-preference) { a, button, .button { transition: background-color .12s, filter .12s; } }
    @media (forced-colors: active) { .state, .task, .notice, .problem, .button, button { border-color: CanvasText; }
      .curve { stroke: CanvasText; } .chart rect { fill: CanvasText; } .banner li a[aria-current] { outline: 2px solid Highlight; } }
    @media print { :root { color-scheme: light; }
      .banner, .page, .skip, .paging, .button, button, form[method=get] { display: none !important; }
      main { max-width: none; padding: 0; } html { font-size: 11pt; } table { break-inside: auto; } tr { break-inside: avoid; }
      details::details-content { content-visibility: visible; height: auto; } summary { list-style: none; } }

    """

  /// A comic's page, in the colors of the browser.
  static let icon = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="#0a58a8" d="M5 3h22v26H5z"/><path fill="#fff" \
    d="M8 6h7v9H8zm9 0h7v5h-7zm0 7h7v13h-7zm-9 4h7v9H8z"/></svg>
    """

  /// An empty page.
  static let noCover = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 48"><path fill="#e4e7eb" d="M0 0h32v48H0z"/><path fill="#9aa2ad" \
    d="M8 14h16v2H8zm0 6h16v2H8zm0 6h10v2H8z"/></svg>
    """
}
