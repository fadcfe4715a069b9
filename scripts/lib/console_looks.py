"""How the console's pages look and sound: zoomed, printed, in forced colors, with less motion, by keyboard, and while they change."""

OVERFLOWING = """() => [...document.querySelectorAll("body *")].filter(e => {
  const style = getComputedStyle(e);
  return /auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1 && e.tagName !== "TEXTAREA";
}).map(e => e.outerHTML.slice(0, 100))"""
MOVING = """() => [...document.querySelectorAll("*")].filter(e => {
  const style = getComputedStyle(e);
  return /[1-9]/.test(style.transitionDuration) || style.animationName !== "none";
}).map(e => e.outerHTML.slice(0, 100))"""
PRINTED = """() => {
  const shown = selector => [...document.querySelectorAll(selector)].filter(e => e.getClientRects().length);
  const found = shown(".banner, .skip, .page, main button, main .button, form[method=get]").map(e => `is printed: ${e.outerHTML.slice(0, 100)}`);
  if (!shown("h1").length) found.push("the heading is not printed");
  for (const table of document.querySelectorAll("table")) if (!table.getClientRects().length) found.push(`is not printed: ${table.caption?.textContent}`);
  const text = getComputedStyle(document.documentElement).color, ground = getComputedStyle(document.documentElement).backgroundColor;
  const light = color => color.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
  if (light(text) > 200 || light(ground) < 700) found.push(`is printed ${text} on ${ground}`);
  return found;
}"""
# What is focused has an outline of at least two pixels, inside of the window, and nothing over it.
FOCUS = """() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  const style = getComputedStyle(e), box = e.getBoundingClientRect(), problems = [];
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) problems.push("no outline");
  if (box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth) problems.push("out of sight");
  else {
    const over = document.elementFromPoint(Math.min(innerWidth - 1, Math.max(0, box.left + Math.min(8, box.width / 2))),
      Math.min(innerHeight - 1, Math.max(0, box.top + box.height / 2)));
    if (over && !e.contains(over) && !over.contains(e)) problems.push(`below ${over.outerHTML.slice(0, 60)}`);
  }
  return [e.outerHTML.slice(0, 100), problems];
}"""
# In forced colors shapes have the colors of the system, and what is current is more than a color.
FORCED = """() => {
  const probe = document.createElement("i");
  probe.id = "probe";
  document.body.append(probe);
  const text = getComputedStyle(probe).color, found = [];
  probe.remove();
  for (const curve of document.querySelectorAll(".curve")) if (getComputedStyle(curve).stroke !== text) found.push("a curve is not of the text's color");
  for (const bar of document.querySelectorAll(".chart rect")) if (getComputedStyle(bar).fill !== text) found.push("a bar is not of the text's color");
  for (const link of document.querySelectorAll("[aria-current]")) if (getComputedStyle(link).outlineStyle === "none") found.push("the current page is not marked");
  for (const frame of document.querySelectorAll(".button, button, .state, .task, .notice, .problem")) {
    if (frame.getClientRects().length && getComputedStyle(frame).borderTopStyle === "none") found.push(`has no frame: ${frame.outerHTML.slice(0, 80)}`);
  }
  return found;
}"""
LISTEN = """() => new MutationObserver(changes => { for (const change of changes) if (change.addedNodes.length) tell(change.target.textContent); })
  .observe(document.querySelector("main > .heard[role=status]"), { childList: true, characterData: true, subtree: true })"""
MAXIMUM_STOPS = 400


def zoomed(page):
    """At 400 % of a window of 1280 by 1024."""
    size = page.viewport_size
    page.set_viewport_size({"width": 320, "height": 256})
    width = page.evaluate("document.scrollingElement.scrollWidth")
    problems = [f"at 400 % it is {width} pixels wide"] if width > 320 else []
    problems += [f"scrolls by itself: {text}" for text in page.evaluate(OVERFLOWING)]
    page.set_viewport_size(size)
    return problems


def moving(page):
    return [f"moves: {text}" for text in page.evaluate(MOVING)]


def printed(page):
    page.emulate_media(media="print")
    problems = page.evaluate(PRINTED)
    page.emulate_media(media="screen")
    return problems


def forced(page):
    return page.evaluate(FORCED)


def focused(page):
    """From the first stop of the keyboard to the last."""
    problems, first = [], None
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
    for _ in range(MAXIMUM_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop is None or stop[0] == first:
            return problems
        first = first or stop[0]
        problems += [f"focused: {problem}: {stop[0]}" for problem in stop[1]]
    return problems + [f"has more than {MAXIMUM_STOPS} stops"]
