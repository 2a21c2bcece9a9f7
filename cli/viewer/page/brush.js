// Marking heads by dragging a rectangle over them.

// Follow a drag from its first event: `marked` is called with the names of the heads whose marks the rectangle
// touches, and `done` with the last ones.
export function brush(start, marks, marked, done = () => {}) {
  const boxes = Array.from(marks, (mark) => [mark.closest("[data-head]").dataset.head, mark.getBoundingClientRect()]);
  const rectangle = document.body.appendChild(document.createElement("div"));
  rectangle.className = "brush";
  const drag = new AbortController();
  let names;
  const move = ({ clientX, clientY }) => {
    const [left, right] = [Math.min(start.clientX, clientX), Math.max(start.clientX, clientX)];
    const [top, bottom] = [Math.min(start.clientY, clientY), Math.max(start.clientY, clientY)];
    const place = { left, top, width: right - left, height: bottom - top };
    for (const [name, value] of Object.entries(place)) rectangle.style[name] = `${value}px`;
    const isTouched = (box) => box.left <= right && box.right >= left && box.top <= bottom && box.bottom >= top;
    names = new Set(boxes.filter(([, box]) => isTouched(box)).map(([name]) => name));
    marked(names);
  };
  const end = () => {
    drag.abort();
    rectangle.remove();
    done(names);
  };
  start.preventDefault(); // or the browser drags a link
  move(start);
  addEventListener("pointermove", move, { signal: drag.signal });
  for (const type of ["pointerup", "pointercancel"]) addEventListener(type, end, { signal: drag.signal });
}
