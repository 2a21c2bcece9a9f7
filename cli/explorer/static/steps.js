"use strict";
// Moving the slider goes to the step that it stands at. Without this file the steps are links.
(() => {
  const start = () => {
    const slider = document.querySelector("input.step");
    const told = document.querySelector("output.step");
    if (!slider || !told) return;
    const links = [...document.querySelectorAll(".steps a")];
    slider.hidden = false;
    slider.addEventListener("input", () => {
      told.textContent = links[Number(slider.value)].textContent;
    });
    slider.addEventListener("change", () => {
      window.location.assign(links[Number(slider.value)].href);
    });
  };
  start();
  document.addEventListener("attnbank:filled", start);
})();
