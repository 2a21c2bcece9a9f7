"use strict";
// Says on the page that a browser is too old for it: there the modules would not start, and
// "Loading" would stay for ever. So this is written for browsers that are older still.
(function () {
  if (Object.hasOwn && Array.prototype.findLastIndex) return;
  var main = document.getElementById("content");
  main.removeAttribute("aria-busy");
  main.insertAdjacentHTML("beforebegin", '<p role="alert">This browser is too old for these pages. They work in'
    + " Firefox 104, Chrome 97 and Safari 15.4 and in all later versions.</p>");
})();
