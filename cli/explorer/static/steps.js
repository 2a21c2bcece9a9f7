"use strict";
// The slider goes to the step that it is moved to. Without this script, the steps are links.
(() => {
  const start = () => {
    const slider = document.querySelector("input.step");
    const label = document.querySelector("output.step");
    if (!slider || !label) return;
    const links = [...document.querySelectorAll(".steps a")];
    slider.hidden = false;
    slider.addEventListener("input", () => {
      label.textContent = links[Number(slider.value)].textContent;
    });
    slider.addEventListener("change", () => {
      window.location.assign(links[Number(slider.value)].href);
    });
  };
  start();
  document.addEventListener("attnbank:filled", start);
})();
