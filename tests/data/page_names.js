// Every name in the plot with the corners of its letters in pixels, aslant where it is.
() => [...document.querySelectorAll(".plot .name")].map((name) => {
  const text = name.matches("text") ? name : name.querySelector("text");
  const { x, y, width, height } = text.getBBox();
  const { a, b, c, d, e, f } = name.getCTM();
  const low = 0.2 * height;  // a line of text is taller than its letters
  const corners = [[0, low], [width, low], [width, height - low], [0, height - low]].map(([dx, dy]) => {
    const [px, py] = [x + dx, y + dy];
    return [a * px + c * py + e, b * px + d * py + f];
  });
  return { text: text.textContent, corners };
})
