// What is seen of the page only in part: text wider than the control, cell or box that holds it.
() => {
  const ARROW = 18;
  const pen = document.createElement("canvas").getContext("2d");
  const cut = [];
  const seen = (node) => node.checkVisibility() && node.getClientRects().length && !node.matches(".hidden, .hidden *");
  const chosen = (node) => {
    const look = getComputedStyle(node);
    pen.font = look.font;
    const text = node.selectedOptions[0]?.textContent ?? "";
    const room = node.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight) - ARROW;
    return pen.measureText(text).width > room ? `#${node.id} "${text}" in ${Math.round(room)} px` : null;
  };
  for (const node of document.querySelectorAll("body *")) {
    if (!(node instanceof HTMLElement) || !seen(node) || node.matches("[type=range], [type=checkbox], .bar, .plot")) continue;
    const { overflowX } = getComputedStyle(node);
    const over = node.clientWidth && node.scrollWidth > node.clientWidth + 1;
    if (node.matches("select")) cut.push(chosen(node));
    else if (over && !["auto", "scroll"].includes(overflowX)) cut.push(`${node.tagName} ${node.id} ${node.className}: ${node.textContent.slice(0, 60)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) cut.push(`the page: ${document.documentElement.scrollWidth} px`);
  return cut.filter((one) => one !== null);
}
